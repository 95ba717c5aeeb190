"""Oracles by general solvers, to check the others: slower than ``cdcl`` on all models that were measured."""
