"""Every row of a table."""
