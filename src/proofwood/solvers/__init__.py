"""All access to external solvers: SAT sessions that respect the time limit, and worker processes."""
