"""Long campaigns of random problems, beside the tests: ``python -m tests.fuzz --minutes 30 --seed 1``.

Each module here that has no underscore before its name is a *part*: one kind of problem and what is checked of the
answers. A part has one function,

    campaign(seed: int, seconds: float) -> Mapping[str, int]

which draws cases from ``seed`` until the seconds are over. It returns counts by name: ``cases`` (or ``problems``,
``questions``, ``models``; where there is none of these, all counts together are the cases), ``failures``, and others
for the reader. At a failure it writes a record from which the case can be repeated (seed, options, data) into the
folder ``tests.fuzz._records.folder()``, counts it and goes on; or it raises AssertionError with what repeats the case,
which ends its turn. The same seed draws the same cases; how many there are depends on the time.

The runner (``_runner``) gives each part its turns, every one in a process of its own with a seed of its own. A process
that dies, raises, or does not come back is a failure of its part, and the campaign goes on.
"""
