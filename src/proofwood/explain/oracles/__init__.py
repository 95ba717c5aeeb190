"""Can the class change in a box? One protocol (``oracle``), several engines (``engines`` has them by name).

- ``cdcl``: the package's own clause-learning search, for all models; ``"auto"`` takes it
- ``sat``: the paper's encoding of majority votes in an incremental SAT solver
- ``regions``: the same question about a box with clauses, asked of any of them
"""
