"""One way to run many independent pieces of work: in order, by joblib, or on a Dask cluster."""
