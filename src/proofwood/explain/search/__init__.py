"""Searches for explanations with questions to an oracle.

Every search uses one ``Questions`` object, which passes only questions with unknown answers to the oracle.

- ``questions``: these objects, and a first sufficient set, found greedily with a bound per tree (majoritary reasons)
- ``extract``: one minimal explanation of either kind, by deletion or in groups (dichotomic)
- ``smallest``: an explanation with the fewest features, by hitting sets (implicit hitting set dualization)
- ``enumerate``: all explanations of both kinds (MARCO: map, seed, grow, shrink, block up and down)
- ``relevance``, ``attribution``: whether a feature is in all explanations or in some, and in which share of them
- ``inflate``: values widened to ranges
- ``grow``, ``rules``, ``cover``: regions that grow over the rows of a table, and a choice of few that cover most rows
- ``restarts``: other orders of features, if questions about a small set are hard
- ``differing``, ``copies``: two rows that differ only in one feature
- ``born_again``: the smallest tree that predicts the same as a model
"""
