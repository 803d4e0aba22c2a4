"""Recordings of a graph: rosbag2 folders with MCAP, read and written without ROS."""
