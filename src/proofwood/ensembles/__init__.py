"""Models of every library in integers over their threshold grid: what explanations are about.

- ``readers``: a fitted model as a ``forest`` of trees of floats, by a function for each family, which a register finds
  (:func:`proofwood.register_reader` adds one)
- ``grid`` lays out the cells between thresholds; ``leaves`` and ``integers`` make the ``scores`` that searches see
- ``explained`` keeps it all together and checks it against the model; ``door`` compares every row that is asked about
- ``knowledge``, ``linear``, ``space``, ``plausible``: which rows are possible; ``outcomes``: numbers as classes
"""
