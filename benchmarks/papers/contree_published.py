"""Figures of the ConTree paper (AAAI 2025), transcribed from its tables.

A cell is kept as printed: ``<0.1`` and ``>4h`` are bounds, a column of memory is in MB. Seconds are averages of twenty
runs (tables 1 and 2) or five runs (tables 3 and 4) on an Intel Xeon E5-6448Y at 2.1 GHz with a limit of four hours.
"""

from __future__ import annotations

from benchmarks.papers.measuring import read_published

TABLE_1 = read_published("""
set       oct    rs_oct sat_shati quant_bnb no_d2 contree rows   columns classes
avila     (100%) (46%)  >4h       2         63    0.1     10430  10      12
bank      (31%)  177    62        0.5       0.1   <0.1    1097   4       2
bean      (100%) (24%)  >4h       4         199   0.2     10888  16      7
bidding   (100%) (67%)  672       0.9       1     0.1     5056   9       2
eeg       OoM    (165%) >4h       4         178   0.2     11984  14      2
fault     (100%) (126%) >4h       2         240   0.1     1552   27      7
htru      OoM    (301%) >4h       2         929   0.2     14318  8       2
magic     (100%) (88%)  >4h       2         42    0.3     15216  10      2
occupancy (100%) (9%)   355       0.9       2     <0.1    8143   5       2
page      (100%) (136%) 2836      1         3     <0.1    4378   10      5
raisin    (99%)  (15%)  485       0.7       1     <0.1    720    7       2
rice      (100%) (54%)  >4h       1         24    0.1     3048   7       2
room      (100%) (88%)  4327      2         10    <0.1    8103   16      4
segment   (100%) 2896   442       2         54    0.1     1848   18      7
skin      .      (43%)  >4h       3         63    0.1     196045 3       3
wilt      (100%) (35%)  68        0.9       2     <0.1    4339   5       5
""")
"""Depth two: seconds of OCT, RS-OCT, SAT-Shati, Quant-BnB, ConTree without its depth-two routine, and ConTree.

In brackets is the gap at the time limit; ``OoM`` is out of memory. The last columns are the size of the set."""

TABLE_2 = read_published("""
set       quant_bnb contree_d3 contree_d4 contree_d4_gap
avila     4451      24         4195       3237
bank      2         <0.1       <0.1       <0.1
bean      583       61         >4h        3640
bidding   15        2          5          <0.1
eeg       8535      136        >4h        >4h
fault     >4h       55         12331      8592
htru      13147     74         >4h        191
magic     1419      60         >4h        5719
occupancy 76        0.4        17         0.1
page      388       2          499        63
raisin    65        0.5        65         27
rice      817       12         2215       231
room      92        1          44         0.1
segment   64        2          191        75
skin      218       10         211        5
wilt      26        0.1        0.3        <0.1
""")
"""Seconds at depth three (Quant-BnB, ConTree) and at depth four (ConTree, exact and with a gap of 1 %)."""

TABLE_3 = read_published("""
set       accuracy seconds memory gap_accuracy gap_seconds gap_memory
avila     67.9     >4h     44     67.9         >4h         41
bank      100      <0.1    4      99.9         <0.1        4
bean      92.4     >4h     34     92.4         >4h         33
bidding   100      10      11     99.9         <0.1        9
eeg       75.5     >4h     30     75.5         >4h         29
fault     76.4     >4h     12     74.0         >4h         12
htru      98.4     >4h     37     98.5         >4h         61
magic     81.3     >4h     34     86.6         >4h         40
occupancy 99.9     119     39     99.7         0.3         10
page      98.6     >4h     161    98.6         3647        55
raisin    95.4     1199    50     95.3         489         23
rice      95.6     >4h     74     95.5         >4h         84
room      100      7       21     99.9         0.2         18
segment   99.1     3715    51     99.0         776         20
skin      99.8     1705    782    99.6         13          139
wilt      100      <0.1    7      99.9         <0.1        7
""")
"""Depth five: training accuracy in percent, seconds and MB, exact and with a gap of 1 %."""

TABLE_4 = read_published("""
set       accuracy seconds memory gap_accuracy gap_seconds gap_memory
avila     70.5     >4h     52     70.5         >4h         51
bank      100      <0.1    5      100          <0.1        5
bean      73.7     >4h     56     73.7         >4h         64
bidding   100      <0.1    10     99.9         <0.1        9
eeg       73.5     >4h     33     73.5         >4h         34
fault     78.1     >4h     15     78.0         >4h         15
htru      98.6     >4h     57     98.5         >4h         72
magic     74.4     >4h     45     74.3         >4h         47
occupancy 100      34      33     99.8         0.5         11
page      98.0     >4h     161    98.3         >4h         169
raisin    99.6     180     60     99.4         8           7
rice      96.8     >4h     320    96.7         >4h         201
room      100      2       20     100          0.2         20
segment   100      483     14     99.8         154         10
skin      99.9     >4h     20105  99.8         22          176
wilt      100      <0.1    7      99.9         <0.1        7
""")
"""Depth six, columns as in table 3."""

TABLE_5 = read_published("""
set       sat_shati_d2 quant_bnb_d2 contree_d2 quant_bnb_d3 contree_d3 contree_d4
avila     944          517          11         4319         13         20
bank      208          477          4          516          4          4
bean      934          532          15         1220         19         26
bidding   446          495          7          579          8          10
eeg       1466         509          14         14850        18         25
fault     754          490          6          24750        7          10
htru      1256         518          12         14781        15         24
magic     1530         533          15         1458         18         26
occupancy 450          494          7          608          8          11
page      490          493          7          1184         8          11
raisin    283          489          4          550          4          5
rice      816          494          5          1198         6          9
room      693          504          12         646          14         18
segment   306          503          6          595          6          8
skin      3965         571          78         736          89         123
wilt      254          494          6          564          6          7
""")
"""Peak memory in MB."""

TABLE_6 = read_published("""
set       cart     quantiles guessed  contree
avila     52.7±0.1 56.6±0.1  56.8±0.2 58.3±0.1
bank      92.7±0.9 96.5±0.3  96.0±0.3 97.0±0.3
bean      77.6±0.1 84.6±0.2  79.9±0.5 86.8±0.1
bidding   98.4±0.1 99.3±0.1  99.3±0.1 99.3±0.1
eeg       66.3±0.2 69.7±0.2  70.7±0.2 70.6±0.3
fault     52.7±0.5 65.1±0.6  65.4±1.1 65.6±0.9
htru      97.7±0.1 97.7±0.1  97.8±0.1 97.8±0.1
magic     79.0±0.3 82.1±0.2  82.5±0.3 82.4±0.2
occupancy 98.9±0.1 98.3±0.2  98.9±0.1 99.0±0.1
page      96.0±0.2 94.8±0.3  96.0±0.1 96.3±0.3
raisin    84.8±0.7 85.7±1.2  84.6±0.6 85.2±0.7
rice      93.2±0.5 92.9±0.3  93.5±0.5 93.2±0.5
room      96.9±0.1 98.1±0.2  98.8±0.1 99.0±0.1
segment   56.8±0.1 85.2±0.6  81.8±2.3 87.1±0.8
skin      96.5±0.0 96.1±0.0  96.7±0.0 96.8±0.0
wilt      97.5±0.2 97.7±0.2  97.8±0.2 97.9±0.1
""")
"""Accuracy on held-out parts of the full data with standard errors, in percent, depth at most three."""

FIGURE_2_PRUNED = {"similarity": "91.1 %", "interval_shrinking": "97.5 %", "sub_interval": "99.6 %"}
"""Share of depth-two evaluations that one pruning alone saves, averaged over the sets (the figure has no numbers)."""

DEEP = {3: TABLE_3, 4: TABLE_4}
"""The tables of depths five and six."""
