"""Fuzz campaigns, outside the default run: ``python -m tests.fuzz``."""
