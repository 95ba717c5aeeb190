"""Run many independent pieces of work: one after the other, with joblib, or on a Dask cluster."""
