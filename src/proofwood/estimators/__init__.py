"""Thin scikit-learn estimators over the engines."""
