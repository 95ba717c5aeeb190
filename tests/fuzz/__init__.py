"""Long campaigns of random problems, beside the tests: ``python -m tests.fuzz --minutes 30 --seed 1``.

Each module here that has no underscore before its name is a *part*: one kind of problem and what is checked of the
answers. A part has one function,

    one_case(number: int) -> Mapping[str, int]

which draws a case from its number alone, raises what is wrong with it, and returns counts by name, for the reader.
``tests.fuzz._records.cases`` draws cases from a seed until the seconds are over. A case that raises anything is a
failure: a record with its message, its traceback and the line of Python that repeats it goes into the folder
``tests.fuzz._records.folder()``, it is counted, and the next case runs. The same seed draws the same cases; how many
there are depends on the time. A part that goes another way has a function ``campaign(seed, seconds)`` beside it.

The runner (``_runner``) gives each part its turns, every one in a process of its own with a seed of its own. A process
that dies, raises, or does not come back is a failure of its part, and the campaign goes on.
"""
