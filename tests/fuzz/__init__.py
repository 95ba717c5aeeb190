"""Campaigns of random cases: everything together, for as long as one likes."""
