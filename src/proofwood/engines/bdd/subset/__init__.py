"""Sets of tests of least error, and smallest sets without avoidable error, by branch and bound over sets."""
