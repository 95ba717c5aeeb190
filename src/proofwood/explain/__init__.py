"""Formal explanations of trees, diagrams and ensembles: why the model predicts a class, with proof.

Each part imports only from the parts below it:

- ``born_again.py``, ``proved_rules.py``: a tree that equals a model, and rules that a model obeys
- ``explainer.py``: the public class, one method per question; ``table``: explanations of every row of a table
- ``answers``: the code of each method; ``question``: a question about one row
- ``explanation.py``, ``rule.py``, ``show``: one explanation as an object, as text, as a picture
- ``proofs``: certificates, their checker, and the verification of answers
- ``nearest``: prices of changes, and the nearest row of another class
- ``search``: searches for explanations with questions to an oracle
- ``oracles``: "can the class change in a box?", one protocol with several engines

The explained models are those of :mod:`proofwood.ensembles`.
"""
