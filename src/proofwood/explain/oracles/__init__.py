"""Can the class change in a box? Several engines answer this one question.

- ``oracle``: the question, and the protocol of the engines; ``engines``: the engines by name
- ``searches``: the package's own searches for all models, with learned clauses and with messages; ``"auto"`` uses both
- ``paper``: the formula of :mod:`proofwood.papers.rfxpl`, for majority votes
"""
