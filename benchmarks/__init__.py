"""Measurements of proofwood: a paired harness, data sets, rivals, and the tables of the papers."""
