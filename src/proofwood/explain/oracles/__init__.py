"""Can the class change in a box? One protocol (``oracle``), several engines (``engines`` has them by name).

- ``searches``: the package's own for all models, by learned clauses and by messages; ``"auto"`` takes both
- ``sat``: the paper's encoding of majority votes in an incremental SAT solver
- ``regions``: the same question about a box with clauses, asked of any of them
"""
