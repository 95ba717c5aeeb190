"""Engines: pure functions ``solve(problem, *, options, limits, start, progress) -> Result``; a folder each.

One way to the same answer, unless another wins somewhere: decisions/0079-what-went-and-why.
"""
