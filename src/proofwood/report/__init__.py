"""A fitted model and all that can be said of it, as one HTML file that needs no network."""

from proofwood.report.write import write_report

__all__ = ["write_report"]
