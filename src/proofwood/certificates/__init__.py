"""Read and check certificates, with NumPy and the standard library only, not with the code that makes certificates.

- ``check``: check a whole file, alone or against a fitted model
- ``content``: the fields of a file, and their digest
- ``kinds``, ``distances``: what a certificate of each kind has to prove
- ``space``, ``nodes``: the rows that a file is about, and its model, in values
- ``stated``, ``trees``: the model over the axes of the file, derived from space and nodes
- ``facts``: the simple facts that claims consist of; ``words``: claims as text
- ``boxes``: trees of boxes; each proves that no row of a box has a class, or that no such row costs less than a price
- ``measures``: the prices of changes
- ``sets``, ``drup``: clauses about sets of features, and proofs that are checked step by step
"""
