"""Diagrams of a skeleton with hyperplanes for tests."""
