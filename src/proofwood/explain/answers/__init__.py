"""What the methods of the public class do, a file for each group of questions.

Each takes a :class:`~proofwood.explain.question.Question` about one row, or the engines of a model, has searches answer
it, and makes an ``Explanation`` of what they find.
"""
