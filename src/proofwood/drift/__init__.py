"""Compare new rows with the training rows of a model, by the counts that the model stores.

- ``result``: what is found; made from a model and rows
- ``show``: the same in words, and as HTML
- ``measure``: counts and tests
- ``errors``: wrong predictions beside what is expected of new rows
- ``numbers``: squared errors and rewards, as figures without a test
- ``parts``: what is found about leaves, columns and errors, as values
- ``rows``: the tested columns of new rows, and what in them cannot be read
- ``exact``: exact tests, and the correction for many of them
"""

from proofwood.drift.parts import ColumnDrift, ErrorDrift, Finding, LeafDrift, NumberDrift, Share
from proofwood.drift.result import Drift

__all__ = ["ColumnDrift", "Drift", "ErrorDrift", "Finding", "LeafDrift", "NumberDrift", "Share"]
