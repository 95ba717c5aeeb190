"""Models that are known and cannot be read, each with what would do in its place."""

from __future__ import annotations

from typing import Any, NoReturn

from proofwood.ensembles.readers.register import Asked, Reader, register

WHY = {
    "StackingClassifier": (
        "its last model sees what the others predict, which is not a column of the table: expected one model, or a "
        "vote of several. The way out is VotingClassifier(voting='soft') of the same members, or to explain its "
        "estimators_ one by one"
    ),
    "StackingRegressor": (
        "its last model sees what the others predict, which is not a column of the table: expected one model, or a "
        "mean of several. The way out is VotingRegressor of the same members, or to explain its estimators_ one by one"
    ),
    "OneVsOneClassifier": (
        "its class depends on how sure the winners of all pairs of classes are together, which is not a sum over "
        "trees: expected one model of all classes. The way out is OneVsRestClassifier, the classifier itself, which "
        "takes all classes, or to explain its estimators_ one by one"
    ),
    "OutputCodeClassifier": (
        "its class is that of the nearest code word, which is not a sum over trees: expected one model of all classes. "
        "The way out is OneVsRestClassifier, the classifier itself, which takes all classes, or to explain its "
        "estimators_ one by one"
    ),
    "AdaBoostRegressor": (
        "it predicts the weighted median of its trees, which is not a sum over them: expected a mean or a sum. The way "
        "out is BaggingRegressor, RandomForestRegressor or GradientBoostingRegressor"
    ),
}


def _refusing(name: str, why: str) -> Reader:
    def refuse(model: Any, asked: Asked) -> NoReturn:
        raise TypeError(f"a {name} cannot be explained, as {why}")

    return refuse


for _name, _why in WHY.items():
    register(f"sklearn.{_name}", _refusing(_name, _why), votes=True, outputs=True)
