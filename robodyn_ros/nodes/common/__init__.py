"""ROS 2 helpers that several nodes use."""
