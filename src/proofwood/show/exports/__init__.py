"""Fitted models as programs and files that need none of this package: a file for each format."""
