"""Plots of motions, without ROS."""
