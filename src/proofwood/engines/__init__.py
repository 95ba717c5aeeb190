"""Engines: pure functions ``solve(problem, *, options, limits, start, progress) -> Result``, each in its own folder.

A second engine for the same problem exists only if it is faster on some tables: decisions/0079-what-went-and-why.
"""
