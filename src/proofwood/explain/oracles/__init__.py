"""Whether the class can change inside a box: one protocol, several engines."""
