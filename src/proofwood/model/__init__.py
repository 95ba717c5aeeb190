"""The node table, which represents every model of the package, and pure functions on it."""
