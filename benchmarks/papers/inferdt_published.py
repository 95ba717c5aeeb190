"""Figures of the InferDT paper (Avellaneda, AAAI 2020), transcribed from its tables.

A cell is kept as printed. Seconds are from an Intel Core i7-2600K at 3.40 GHz with MiniSat, averages of 100 runs
(mouse) or ten runs (car). The column ``n`` counts all nodes; for DT_depth it is that of the perfect tree, 2^(k+1) - 1.
"""

from __future__ import annotations

from benchmarks.papers.measuring import read_published

TABLE_1 = read_published("""
algorithm seconds examples k n  accuracy
DT2       577     70       4 15 83.8
DT1       12.9    70       4 15 83.8
DT_size   0.07    37       4 15 83.5
DT_depth  0.02    33       4 31 85.8
""")
"""Mouse, all rows: seconds, examples used, depth, nodes; 10-fold accuracy in percent."""

AT_ONCE_SECONDS = 0.09
"""Mouse with all 70 examples in the formula, by the text."""

TABLE_2 = read_published("""
algorithm seconds examples k n     accuracy
DT1       684     173      7 23.67 55
DT_size   217     635      8 143   98.8
DT_depth  127     603      8 511   98.8
""")
"""Car, as table 1; DT1 learned from a tenth of the rows."""

TABLE_3 = read_published("""
set           depth_seconds depth_accuracy depth_k size_seconds size_accuracy size_n binoct cart oct
iris          0.018         92.9           3       0.03         93.2          10.6   98.4   92.4 93.5
monks-1       0.024         90.3           4.4     0.08         95.5          17     87.1   76.8 74.2
monks-2       0.19          70.2           5.8     9.1          74.0          47.8   63.3   63.3 54.0
monks-3       0.03          78.1           4.8     0.21         82.6          23.4   93.5   94.2 94.2
wine          0.6           89.3           3       1.2          92.0          7.8    92.0   88.9 94.2
balance-scale 50            93.0           8       183          92.6          268    78.9   77.5 71.6
""")
"""Means of five folds: DT_depth, DT_size, and the accuracy of BinOCT, CART and OCT (the best of depths two to four).

The last row of the table in print is ``AVERAGES``; that of OCT is 80.3 from the figures above it.
"""

TABLE_4 = read_published("""
set           rows features tests classes
iris          113  4        114   3
monks-1       124  6        17    2
monks-2       169  6        17    2
monks-3       92   6        17    2
wine          178  12       1276  3
balance-scale 625  4        20    3
""")
"""The data sets of table 3, as the paper describes them."""

ROWS = {"mouse": 70, "car": 1727}
"""Rows of the sets of tables 1 and 2, as the text that goes with the examples used has them."""

AVERAGES = {"depth_accuracy": 85.6, "size_accuracy": 88.3, "binoct": 85.5, "cart": 82.18, "oct": 81.1}
"""The last row of table 3."""

J48_EXAMPLES, J48_SHARE = 1800, 0.8
FIGURE_2_J48 = (
    f"with {J48_EXAMPLES:,} examples, J48 finds a tree equivalent to the generator in about {100 * J48_SHARE:.0f} % of "
    "the runs"
)
"""The only number that the text gives for the figure."""
