"""Formal explanations of trees, diagrams and ensembles: why the model said so, with proof."""
