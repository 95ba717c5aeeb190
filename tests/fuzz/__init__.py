"""Campaigns of random questions, each checked against an independent count; outside the default run."""
