"""The formulas as the textbooks have them, with their equation numbers, to read and to debug."""
