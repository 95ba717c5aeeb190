"""Oracles by general solvers, to check the others: slower on all models that were measured."""
