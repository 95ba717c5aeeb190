"""``python -m proofwood``: the command line, where the script is not on the path."""

from proofwood.cli import main

main()
