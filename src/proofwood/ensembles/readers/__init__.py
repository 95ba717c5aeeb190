"""Readers that turn models of scikit-learn, boosting libraries and proofwood into sums of tree scores."""
