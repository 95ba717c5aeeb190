"""The command line as ``python -m proofwood``, for use if the script ``proofwood`` is not on the path."""

from proofwood.cli import main

main()
