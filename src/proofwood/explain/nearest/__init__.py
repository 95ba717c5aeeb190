"""Prices of changes, and the nearest row of another class.

- ``measure``: prices of cells and of rows, for each metric; ``tariffs``: prices as users state them
- ``search``: the nearest row by the sum, or by the greatest, of the prices of its cells
- ``constrained``, ``values``, ``rational``: the nearest row that satisfies linear constraints
"""
