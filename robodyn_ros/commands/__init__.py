"""The programs behind the command line: simulate, swap, demo, compare, tune."""
