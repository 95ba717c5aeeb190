"""Explanations out of answers of an oracle, all of them asked through one object, ``Questions``."""
