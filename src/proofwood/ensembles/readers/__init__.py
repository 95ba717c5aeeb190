"""Models of scikit-learn, of boosting libraries and of our own, read as sums of tree scores."""
