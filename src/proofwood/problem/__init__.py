"""The problems that engines solve: rows, integer weights, the objective, and limits on the model."""
