"""Formulas in the form of the textbooks, with equation numbers, for reading, debugging and comparison."""
