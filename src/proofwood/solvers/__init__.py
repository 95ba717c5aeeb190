"""The only doors to outside solvers: SAT sessions that obey the clock, and worker processes."""

from proofwood.solvers.cardinality import Totalizer, network_at_most, sequential_counter
from proofwood.solvers.session import SatSession
from proofwood.solvers.worker import WorkerError, WorkerOutcome, race, run

__all__ = [
    "SatSession",
    "Totalizer",
    "WorkerError",
    "WorkerOutcome",
    "network_at_most",
    "race",
    "run",
    "sequential_counter",
]
