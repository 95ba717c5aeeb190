"""The one model representation and pure functions on it; imports nothing else of the package."""
