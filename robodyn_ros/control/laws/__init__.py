"""The control laws, one class in each file, and the functions that several of them share."""
