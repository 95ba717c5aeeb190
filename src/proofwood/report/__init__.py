"""Reports about a fitted model, as one HTML file that works without a network."""

from proofwood.report.write import write_report

__all__ = ["write_report"]
