"""One module per paper, one function and one subcommand per table or figure."""
