"""What a change costs, and the nearest row of another class.

- ``measure``: prices of cells and of rows, for each metric; ``tariffs``: prices as users state them
- ``search``: the nearest row by a measure, a sum of prices or the dearest of them
- ``constrained``, ``values``, ``rational``: the nearest row that satisfies linear constraints
"""
