"""Random problems for as long as one likes, each answer checked against enumeration."""
