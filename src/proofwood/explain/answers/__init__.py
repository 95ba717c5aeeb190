"""The code of the methods of :class:`proofwood.Explainer`, one file per group of questions.

Each function gets a :class:`~proofwood.explain.question.Question` about one row, or the engines of a model, runs
searches that answer it, and returns an ``Explanation`` or another result.
"""
