"""Engines that ask a SAT solver: encodings as chains of small named constraints, rows added as they are needed."""
