"""What an explainer answers, a file for each question: searches are put to work on one row, and made an answer."""
