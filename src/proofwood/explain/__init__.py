"""Formal explanations of trees, diagrams and ensembles: why the model said so, with proof.

Each folder imports from those below it only:

- ``born_again.py``, ``proved_rules.py``: a tree that equals a model, and rules that it obeys
- ``explainer.py``: the public class, one method per question; ``table``: every row of a table
- ``answers``: what each method does; ``question``: what is asked about one row
- ``explanation.py``, ``rule.py``, ``show``: one answer as a value, in words, as a picture
- ``proofs``: certificates, their checker, and second looks
- ``nearest``: what a change costs, and the nearest row of another class
- ``search``: explanations found by asking an oracle
- ``oracles``: can the class change in a box? one protocol, several engines

What they are about is a model of :mod:`proofwood.ensembles`.
"""
