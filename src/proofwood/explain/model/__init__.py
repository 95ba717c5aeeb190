"""A fitted model in integers over its threshold grid: adapters, forest, grid, space, scores, regions of cells."""
