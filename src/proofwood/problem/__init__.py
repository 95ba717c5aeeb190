"""What is to be solved, apart from how: rows, integer weights, objective, limits on the model."""
