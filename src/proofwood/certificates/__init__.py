"""What a certificate says, and its check: NumPy, the standard library, and nothing of the code that makes certificates.

- ``check``: a whole file, against itself or a fitted model
- ``content``: the fields of a file, and their digest
- ``kinds``, ``distances``: what has to hold for a claim of each kind
- ``space``, ``nodes``: which rows a file is about, and the model as it stands there, in values
- ``stated``, ``trees``: the model over its axes, worked out from these
- ``facts``: what claims are made of; ``words``: claims as people read them
- ``boxes``: no row of a box has a class, or none below a price: trees of boxes, whose bounds are added up again
- ``measures``: what changes cost
- ``sets``, ``drup``: clauses about sets of features, and proofs by steps that are checked one by one
"""
