"""Can the class change in a box? One question (``oracle``), several engines (``engines`` has them by name).

- ``searches``: the package's own for all models, by learned clauses and by messages; ``"auto"`` takes both
- ``paper``: the formula of :mod:`proofwood.papers.rfxpl`, for majority votes
"""
