"""Node ``view``: the graph in a browser."""
