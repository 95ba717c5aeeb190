"""The only doors to outside solvers: SAT sessions that obey the clock, worker processes, checkable proofs."""

from proofwood.solvers.cardinality import Totalizer, network_at_most, sequential_counter
from proofwood.solvers.proof import Certificate, CertificateError
from proofwood.solvers.session import SatSession
from proofwood.solvers.worker import WorkerError, WorkerOutcome, race, run

__all__ = [
    "Certificate",
    "CertificateError",
    "SatSession",
    "Totalizer",
    "WorkerError",
    "WorkerOutcome",
    "network_at_most",
    "race",
    "run",
    "sequential_counter",
]
