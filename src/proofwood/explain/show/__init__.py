"""Explanations as pictures."""
