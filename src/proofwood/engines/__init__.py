"""Engines: pure functions ``solve(problem, *, options, limits, start, progress) -> Result``; a folder each."""
