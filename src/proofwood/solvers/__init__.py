"""The only doors to outside solvers: SAT sessions that obey the clock, and worker processes."""
