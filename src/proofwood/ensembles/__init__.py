"""Models of all libraries, converted to integers over their threshold grid, so that they can be explained.

- ``readers`` convert a fitted model to a ``forest`` of floating-point trees, with one registered function per family
  of models (:func:`proofwood.register_reader` adds one)
- ``grid`` lays out the cells between thresholds; ``leaves`` and ``integers`` make the ``scores`` that searches use
- ``explained`` combines these parts and compares the result with the model; ``door`` does so for the user's rows
- ``knowledge``, ``linear``, ``space`` and ``plausible`` define the possible rows
- ``outcomes`` turns the numbers of regressors, or a least probability, into classes
"""
