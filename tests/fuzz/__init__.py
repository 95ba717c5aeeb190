"""Long campaigns of random problems, beside the tests: ``python -m tests.fuzz``."""
