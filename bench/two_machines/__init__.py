"""Hardware and controller on two machines: network namespaces of this one, and a link between them that can fail."""
