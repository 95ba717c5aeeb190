"""Campaigns of random input that run as long as one lets them; no part of the default run."""
