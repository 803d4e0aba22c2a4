"""The control laws, one class in each file, and what several of them share."""
