"""How certificates are made, and ``verify()`` of an answer; what checks them is :mod:`proofwood.certificates`."""
