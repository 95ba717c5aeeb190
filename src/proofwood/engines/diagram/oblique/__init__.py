"""Engines for diagrams of a skeleton whose tests are hyperplanes."""
