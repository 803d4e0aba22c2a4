"""The robot in a browser: a viser scene, live plots and a panel, without ROS."""
