"""Exports of fitted models as programs and files that run without this package; one module per format."""
