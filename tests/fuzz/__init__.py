"""Random campaigns against enumeration, outside the default run."""
