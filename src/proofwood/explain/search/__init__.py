"""Explanations found by asking an oracle; every search takes one ``Questions`` object and never asks what is known.

- ``extract``: one minimal explanation of either kind, by deletion or in groups (dichotomic)
- ``seed``: the greedy bound tree by tree that it begins with (majoritary reasons)
- ``smallest``: of the fewest features, by hitting sets (implicit hitting set dualization)
- ``enumerate``: all of both kinds (MARCO: map, seed, grow, shrink, block up and down)
- ``relevance``, ``attribution``: which features are in all, in some, and in what share of them
- ``inflate``: values widened to ranges
- ``grow``, ``rules``, ``cover``: regions that take in rows of a table, made in turns, and the few that cover most
- ``restarts``: other orders of features, where questions about a small set are hard
- ``differing``, ``copies``: two rows that differ in one column alone
- ``born_again``: the smallest tree that predicts as a model does
"""
