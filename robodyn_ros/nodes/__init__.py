"""The ROS 2 nodes: parameters, topics, services, timing; no formulas."""
