"""Figures in print: table 1 of Izza and Marques-Silva (2021), "On Explaining Random Forests with SAT"."""

from __future__ import annotations

from benchmarks.papers.measuring import read_published

TREES = 100
TABLE_1 = read_published("""
set            depth seconds
ann-thyroid    4     0.13
appendicitis   6     0.03
banknote       5     0.02
biodegradation 5     0.29
ecoli          5     0.10
glass2         6     0.03
heart-c        5     0.04
ionosphere     5     0.03
iris           6     0.03
karhunen       5     2.78
letter         8     1.61
magic          6     0.14
mofn-3-7-10    6     0.01
new-thyroid    5     0.05
pendigits      6     0.94
phoneme        6     0.09
ring           6     0.25
segmentation   4     0.31
shuttle        3     0.14
sonar          5     0.09
spambase       5     0.11
spectf         5     0.07
texture        5     0.93
threeOf9       3     0.01
twonorm        5     0.10
vowel          6     1.15
waveform-21    5     0.34
waveform-40    5     0.88
wdbc           4     0.05
wine-recog     3     0.07
wpbc           5     0.65
xd6            6     0.01
""")
"""Largest depth of the trees, and mean seconds of one abductive explanation on a dual core at 2.3 GHz."""


def share(n_rows: int) -> float:
    """Share of the rows that the paper explains, by the number of rows."""
    for limit, part in ((200, 0.4), (1000, 0.2), (10000, 0.1)):
        if n_rows < limit:
            return part
    return 0.02
