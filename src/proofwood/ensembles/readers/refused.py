"""Models that are known but cannot be read, each with a reason and the alternatives."""

from __future__ import annotations

from typing import Any, NoReturn

from proofwood.ensembles.readers.register import Asked, Reader, register

WHY = {
    "StackingClassifier": (
        "its last model sees the predictions of the others, which are not columns of the table: expected one model or "
        "a vote of several. Instead, use VotingClassifier(voting='soft') of the same members, or explain its "
        "estimators_ one by one"
    ),
    "StackingRegressor": (
        "its last model sees the predictions of the others, which are not columns of the table: expected one model, or "
        "a mean of several. Instead, use VotingRegressor of the same members, or explain its estimators_ one by one"
    ),
    "OneVsOneClassifier": (
        "it combines votes and confidences of a classifier for each pair of classes, which is not a sum over trees: "
        "expected one model of all classes. Instead, use OneVsRestClassifier or the classifier itself, which takes all "
        "classes, or explain its estimators_ one by one"
    ),
    "OutputCodeClassifier": (
        "it predicts the class with the nearest code word, which is not a sum over trees: expected one model of all "
        "classes. Instead, use OneVsRestClassifier or the classifier itself, which takes all classes, or explain its "
        "estimators_ one by one"
    ),
    "AdaBoostRegressor": (
        "it predicts the weighted median of its trees, which is not a sum over them: expected a mean or a sum. "
        "Instead, use BaggingRegressor, RandomForestRegressor or GradientBoostingRegressor"
    ),
}


def _refusing(name: str, why: str) -> Reader:
    def refuse(model: Any, asked: Asked) -> NoReturn:
        raise TypeError(f"a {name} cannot be explained because {why}")

    return refuse


for _name, _why in WHY.items():
    register(f"sklearn.{_name}", _refusing(_name, _why), votes=True, outputs=True)
