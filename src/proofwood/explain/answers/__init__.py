"""What the methods of the public class do, a file for each group of questions.

``session`` keeps the engines of one model, ``case`` is one question about one row; the other files put searches to work
on a case and make an ``Explanation`` of what they find.
"""
