"""Node ``recorder``: writes all topics of a graph to a recording."""
