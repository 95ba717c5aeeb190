"""A fitted model in integers over its threshold grid.

An adapter reads the model of a library as a ``forest`` of float trees, ``grid`` lays out the cells, ``leaves`` and
``integers`` make the ``scores`` that oracles see, ``explained`` keeps it all together and checks it against the model.
"""
