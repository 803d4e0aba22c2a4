"""Programs that talk to a running graph: swap a controller, send a motion, record what happens."""
