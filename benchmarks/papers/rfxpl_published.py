"""Figures in print: table 1 of Izza and Marques-Silva (2021), "On Explaining Random Forests with SAT"."""

from __future__ import annotations

from benchmarks.papers.measuring import read_published

TREES = 100
_SIZES = read_published("""
set            features classes rows depth nodes accuracy variables clauses
ann-thyroid    21       3       718  4     2192  98       17854     29230
appendicitis   7        2       43   6     1920  90       5181      10085
banknote       4        2       138  5     2772  97       8068      16776
biodegradation 41       2       106  5     4420  88       11007     23842
ecoli          7        5       66   5     3860  90       20081     34335
glass2         9        2       66   6     2966  90       7303      15194
heart-c        13       2       61   5     3910  85       5594      11963
ionosphere     34       2       71   5     2096  87       7174      14406
iris           4        3       60   6     1446  93       16346     25603
karhunen       64       10      200  5     6198  91       36708     70224
letter         16       26      398  8     44304 82       28991     68148
magic          10       2       381  6     9840  84       29530     66776
mofn-3-7-10    10       2       128  6     8776  92       2926      8646
new-thyroid    5        3       43   5     1766  100      17443     28134
pendigits      16       10      220  6     12004 95       30522     59922
phoneme        5        2       540  6     8962  82       21899     49840
ring           20       2       740  6     6188  89       19114     42362
segmentation   19       7       42   4     1966  90       21288     35381
shuttle        9        7       1160 3     1460  99       18669     29478
sonar          60       2       42   5     2614  88       9938      20537
spambase       57       2       442  5     4614  92       13055     28284
spectf         44       2       54   5     2306  88       6707      13449
texture        40       11      550  5     5724  87       34293     64187
threeOf9       9        2       103  3     920   100      2922      4710
twonorm        20       2       740  5     6266  94       21198     46901
vowel          13       11      198  6     10176 90       44523     88696
waveform-21    21       3       500  5     6238  84       29991     57515
waveform-40    40       3       500  5     6232  83       30438     58380
wdbc           30       2       114  4     2028  96       7813      15742
wine-recog     13       3       72   3     1188  97       17718     28421
wpbc           33       2       78   5     2432  76       9078      18675
xd6            9        2       172  6     8288  100      2922      8394
""")
_SECONDS = read_published("""
set            most_sat most_unsat sat unsat most  least seconds wins anchor anchor_wins
ann-thyroid    0.12     0.15       2   18    0.36  0.05  0.13    96   0.32   4
appendicitis   0.02     0.02       4   3     0.05  0.01  0.03    100  0.48   0
banknote       0.01     0.01       2   2     0.03  0.02  0.02    100  0.19   0
biodegradation 0.31     1.05       17  22    2.27  0.04  0.29    97   4.07   3
ecoli          0.10     0.09       4   2     0.21  0.05  0.10    98   0.38   2
glass2         0.04     0.03       5   4     0.09  0.02  0.03    100  0.61   0
heart-c        0.04     0.02       6   7     0.07  0.01  0.04    100  0.85   0
ionosphere     0.02     0.02       22  11    0.11  0.02  0.03    100  12.43  0
iris           0.02     0.01       2   2     0.05  0.02  0.03    100  0.21   0
karhunen       1.06     1.41       35  29    14.64 0.65  2.78    100  28.15  0
letter         1.97     3.31       8   8     6.91  0.24  1.61    70   2.48   30
magic          0.51     1.84       6   4     2.13  0.07  0.14    99   0.91   1
mofn-3-7-10    0.00     0.01       3   7     0.02  0.01  0.01    100  0.29   0
new-thyroid    0.03     0.01       3   2     0.08  0.03  0.05    100  0.36   0
pendigits      2.40     1.32       10  6     4.11  0.14  0.94    96   3.68   4
phoneme        0.09     0.07       3   2     0.22  0.05  0.09    98   0.37   2
ring           0.27     0.44       11  9     1.25  0.05  0.25    92   7.25   8
segmentation   0.11     0.17       8   10    0.53  0.11  0.31    100  4.13   0
shuttle        0.11     0.08       2   7     0.34  0.05  0.14    99   0.42   1
sonar          0.04     0.06       36  24    0.43  0.04  0.09    100  23.02  0
spambase       0.07     0.06       18  37    0.50  0.05  0.11    100  6.18   0
spectf         0.07     0.06       20  24    0.34  0.02  0.07    100  8.12   0
texture        0.79     0.63       23  17    3.24  0.19  0.93    100  28.13  0
threeOf9       0.00     0.00       1   8     0.01  0.00  0.01    100  0.14   0
twonorm        0.08     0.08       12  8     0.28  0.06  0.10    100  5.73   0
vowel          1.66     2.11       8   5     4.52  0.15  1.15    66   1.67   34
waveform-21    0.68     0.54       10  11    2.27  0.09  0.34    100  5.86   0
waveform-40    0.50     0.86       15  25    7.07  0.11  0.88    100  11.93  0
wdbc           0.06     0.02       12  18    0.13  0.03  0.05    100  10.56  0
wine-recog     0.04     0.04       5   8     0.13  0.04  0.07    100  1.46   0
wpbc           1.00     1.53       20  13    5.33  0.03  0.65    79   3.91   21
xd6            0.00     0.00       3   6     0.02  0.01  0.01    100  0.57   0
""")

TABLE_1 = {name: {**sizes, **_SECONDS[name]} for name, sizes in _SIZES.items()}
"""The table as printed: features, classes and explained rows; depth and nodes of the forest, and its accuracy on test
rows in percent; variables and clauses; the longest call of the solver that ends with a change, or without, and the mean
number of such calls; most, least and mean seconds of an explanation on a dual core at 2.3 GHz, and the share of the
rows in percent on which Anchor was slower; mean seconds of Anchor, and its share."""

ANCHOR = 14.22
"""Mean seconds of Anchor over those of RFxpl, by the text, and ``WINS`` of ``ROWS`` rows on which it was slower."""
WINS, ROWS = 8438, 8746


def share(n_rows: int) -> float:
    """Share of the rows that the paper explains, by the number of rows."""
    for limit, part in ((200, 0.4), (1000, 0.2), (10000, 0.1)):
        if n_rows < limit:
            return part
    return 0.02
