from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

def solve_tree(
    x: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int32],
    weights: npt.NDArray[np.int64],
    n_classes: int,
    settings: dict[str, Any],
    seconds: float | None,
    progress: Callable[[float, int, int], None] | None,
) -> dict[str, Any]:
    """Optimal tree for (n_rows, n_features) values."""

def instruction_sets() -> list[str]:
    """Instruction sets of the kernels that this machine can run."""

def solve_subset(
    ranks: npt.NDArray[np.int32],
    cuts: npt.NDArray[np.int32],
    weights: npt.NDArray[np.int64],
    settings: dict[str, Any],
    seconds: float | None,
    progress: Callable[[float, int, int], None] | None,
) -> dict[str, Any]:
    """Sets of tests of least error, for ranks and class weights of groups of rows."""
