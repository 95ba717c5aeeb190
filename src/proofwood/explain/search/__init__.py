"""Explanations out of answers of an oracle."""
