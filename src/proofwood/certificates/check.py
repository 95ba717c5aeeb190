"""Check a certificate with nothing but its own text: no solver, no encoder, no class of the package that made it.

What is read here is plain JSON. First its content as such is looked at, then what its kind has to prove
(:mod:`proofwood.certificates.kinds`), and last, if there is one to compare with, the real model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from proofwood.certificates.content import (
    FORMAT,
    SETS,
    TYPES,
    VERSION,
    claim_of,
    digest,
    grid_content,
    halves_content,
    keep_of,
    model_content,
    name_of,
    values_from_json,
)
from proofwood.certificates.distances import KINDS as DISTANCE_KINDS
from proofwood.certificates.drup import CertificateError
from proofwood.certificates.kinds import KINDS as FEATURE_KINDS
from proofwood.certificates.kinds import Check, check_of
from proofwood.certificates.trees import Trees, bytes_of_trees
from proofwood.files import MOST, allowing, beyond, bytes_of_json, read_permitted

STATUSES = {
    "abductive": ("sufficient", "minimal", "smallest"),
    "contrastive": ("changing", "minimal", "smallest"),
    "enumeration": ("complete",),
    "inflated": ("sufficient", "maximal"),
    "distance": ("optimal", "feasible", "none"),
    "possible": ("complete", "partial"),
}
"""What each kind of certificate may claim."""
KINDS = {**FEATURE_KINDS, **DISTANCE_KINDS}


class RealModel(Protocol):
    """The model itself: what :func:`proofwood.explain.model.explained.explained` gives."""

    @property
    def scores(self) -> Any:
        """The model over its grid."""

    @property
    def feature_names(self) -> Sequence[str]:
        """Names of the features."""

    @property
    def classes(self) -> Any:
        """Labels of the classes."""

    def cells_of(self, X: Any) -> Any:
        """(n_rows, n_columns) cells."""

    def predict_codes(self, X: Any) -> Any:
        """(n_rows,) class codes."""


def check_certificate(
    certificate: str | Path | Mapping[str, Any], model: RealModel | None = None, *, max_bytes: int | None = None
) -> list[Check]:
    """Everything that a certificate claims, checked one by one.

    Parameters
    ----------
    certificate : path of a JSON file, or its content
    model : the model that was explained, in its vote; without it the claim is about the trees in the certificate
    max_bytes : that the trees of the certificate may take in memory, by an estimate; 4 GiB by default

    Returns
    -------
    list of Check
        The claim holds if all of them passed. Without ``model`` nothing is said about the real model.

    Raises
    ------
    CertificateError
        If the file is no certificate of this version, is too large, or cannot be read as one.
    """
    if model is not None and not all(hasattr(model, name) for name in ("scores", "cells_of", "predict_codes")):
        raise TypeError(
            f"model is a {type(model).__name__}: expected the model as explained(model) gives it, or explainer.model"
        )
    with allowing(max_bytes):
        content, size = _read(certificate)
        name = certificate if isinstance(certificate, str | Path) else "the certificate"
        try:
            refusal = beyond(name, bytes_of_trees(content["model"]), size)
            if refusal is not None:
                raise CertificateError(refusal)
            return list(_checks(content, model))
        except CertificateError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError) as error:
            raise CertificateError(
                f"the certificate is incomplete or damaged: {type(error).__name__}: {error}"
            ) from error


def _read(certificate: str | Path | Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """The content, and the bytes of its file; of one that is in memory, as many as bear any trees."""
    size = MOST
    if isinstance(certificate, Mapping):
        content: Any = certificate
    elif not isinstance(certificate, str | Path):
        raise TypeError(
            f"certificate is a {type(certificate).__name__}: expected the path of a file, or the content, which an "
            "explanation made with certificate=True has as its attribute certificate"
        )
    else:
        try:
            read, refusal = read_permitted(certificate)
            size = len(read)
            refusal = refusal or beyond(certificate, bytes_of_json(read), size)
            if refusal is not None:
                raise CertificateError(refusal)
            content = json.loads(read.decode("utf-8"))
        except CertificateError:
            raise
        except (ValueError, RecursionError) as error:
            raise CertificateError(f"{certificate} is not a certificate: {error}") from error
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise CertificateError(f"this is not a certificate: expected the format {FORMAT!r}")
    if type(content.get("version")) is not int or content["version"] != VERSION:
        raise CertificateError(
            f"the certificate has version {content.get('version')!r}, this program reads version {VERSION}: check it "
            "with the proofwood that wrote it"
        )
    return content, size


def _checks(content: Mapping[str, Any], model: RealModel | None) -> Iterator[Check]:
    same = content["digest"] == digest(content)
    yield Check("content", same, "as it was written" if same else "changed after it was written")
    kind, status = content["kind"], content["status"]
    if kind not in STATUSES or status not in STATUSES[kind]:
        yield Check("kind", False, f"there is no {status!r} certificate of kind {kind!r}")
        return
    trees = Trees(content["model"])
    fault = trees.fault()
    if not all(type(j) is int for j in content["missing"]):
        fault = "the columns in which missing values are considered are no numbers of columns"
    fault = fault or _kinds_fault(content)
    yield check_of("trees", fault, f"{len(trees.leaves)} trees, every row reaches one leaf of each")
    if fault is not None:
        return
    if kind != "possible":
        cells, label = content["row"]["cells"], content["label"]
        yield check_of("row", _row_fault(trees, cells, label), f"class {label} by the sum of its leaves")
    about = _about(content, trees)
    if about is not None:
        yield about
        return
    claim = claim_of(content)
    yield check_of(
        "claim", None if content["claim"] == claim else f"{content['claim']!r} is not what is checked", claim
    )
    yield from KINDS[kind](content, trees)
    if model is not None:
        yield from _real_checks(content, model)


def _kinds_fault(content: Mapping[str, Any]) -> str | None:
    """What is wrong with the columns of whole numbers; those whose cells leave numbers out have to be named."""
    kinds = content["kinds"]
    if not set(kinds) <= set(TYPES) or not all(type(name) is str for names in kinds.values() for name in names):
        return f"the kinds of columns are none of {', '.join(TYPES)}"
    named = {name for names in kinds.values() for name in names}
    for column in content.get("columns", ()):
        ends = zip(column["high"], column["low"][1:], strict=False)
        if (
            column["role"] == "number"
            and column["name"] not in named
            and any(low not in (high, math.nextafter(high, math.inf)) for high, low in ends)
        ):
            return f"numbers of the column {column['name']!r} are left out, and it is not said to hold whole numbers"
    return None


def _about(content: Mapping[str, Any], trees: Trees) -> Check | None:
    """What is wrong with the names, the classes and the features that a certificate is about; None if nothing is."""
    kind = content["kind"]
    if content["names"] is not None and len(content["names"]) != len(trees.features):
        return Check("names", False, "not one name per feature")
    if content["classes"] is not None and len(content["classes"]) != trees.n_classes:
        return Check("names", False, "not one name per class")
    if kind == "possible":
        return None
    sets = [one["features"] for k in SETS for one in content[k]] if kind == "enumeration" else [content["features"]]
    known = range(len(trees.features))
    if (targets := content["targets"]) is not None and (
        not all(type(k) is int and 0 <= k < trees.n_classes and k != content["label"] for k in targets)
        or targets != sorted(set(targets))
    ):
        return Check("targets", False, "they are no other classes in ascending order")
    kept = keep_of(content) if kind == "abductive" else []
    if not set(kept) <= set(content["features"] if kind == "abductive" else []):
        return Check("features", False, "a feature that is kept is not one of them")
    for features in [*sets, kept, content.get("without", [])]:
        if not all(type(f) is int and f in known for f in features) or features != sorted(set(features)):
            return Check("features", False, "they are no features of the model in ascending order")
    return None


def _row_fault(trees: Trees, cells: Sequence[int], label: int) -> str | None:
    if type(label) is not int or not 0 <= label < trees.n_classes:
        return f"class {label} does not exist"
    if not trees.in_space(cells):
        return "the row is outside the space"
    sums = trees.sums(cells)
    for k in range(trees.n_classes):
        tie = (label < k) == trees.ties_low
        if k != label and (sums[k] > sums[label] or (sums[k] == sums[label] and not tie)):
            return f"class {k} wins by the sum of its leaves"
    return None


# ----------------------------------------------------------------------------------------------------------- the model


def _changes(content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows of another class, each with what it is called."""
    for witness in content.get("witnesses", ()):
        yield f"witness for feature {name_of(content, witness['feature'])!r}", witness
    if content.get("witness") is not None:
        yield "witness", content["witness"]
    for kind in ("changes", "contrastive"):
        for number, one in enumerate(content.get(kind, ())):
            yield f"change {number}", one
    for end in content.get("ends", ()):
        yield f"end of column {end['column']}", end
    for one in content.get("found", ()):
        if "row" in one:
            yield f"row of class {one['class']}", {"class": one["class"], **one["row"]}
    for one in content.get("groups", ()):
        for number, change in enumerate(one["changes"]):
            yield f"value {number} of feature {name_of(content, one['feature'])!r}", change


def _real_checks(content: Mapping[str, Any], model: RealModel) -> Iterator[Check]:
    """That the trees are those of the model, and what the model says of the rows."""
    if content["missing"]:  # the model itself, with missing values where the certificate considers them
        model = model.with_missing(content["missing"])  # type: ignore[attr-defined]
    if hasattr(model, "with_types"):  # and whole numbers alone where its claim says so
        model = model.with_types(content["kinds"])
    rowless = content["kind"] == "possible"
    if not rowless and hasattr(model, "about") and content["row"]["values"] is not None:
        model = model.about(np.array(values_from_json(content["row"]["values"])))  # classes may be relative to the row
    stored, real = content["model"], model_content(model.scores)
    differing = [name for name in real if stored.get(name) != real[name]]
    if content["names"] is not None and content["names"] != list(model.feature_names):
        differing.append("names")
    if content["classes"] is not None and content["classes"] != [str(name) for name in model.classes]:
        differing.append("classes")
    if content["kind"] in DISTANCE_KINDS and content["columns"] != grid_content(model):
        differing.append("columns")
    if content["kind"] == "distance" and content["distance"]["halves"] != halves_content(model):
        differing.append("halves")
    fault = f"it differs from the model in: {', '.join(differing)}" if differing else None
    yield check_of("model", fault, "the trees are those of the model")
    if differing:
        return
    shown = [("row", content["row"], True)] if not rowless else []
    for name, row, stays in [*shown, *((*change, False) for change in _changes(content))]:
        if row["values"] is None:
            yield Check(f"model on the {name}", False, "the certificate has no values of its columns")
            continue
        values = np.array([values_from_json(row["values"])])
        cells = np.asarray(model.cells_of(values))[0].tolist()
        code = int(model.predict_codes(values)[0])
        if cells != row["cells"]:
            yield Check(f"model on the {name}", False, "its values are in other cells of the grid")
        elif rowless:
            yield Check(f"model on the {name}", code == row["class"], f"predicts class {code}")
        else:
            targets = content["targets"]
            passed = (
                code == content["label"] if stays else code != content["label"] if targets is None else code in targets
            )
            yield Check(f"model on the {name}", passed, f"predicts class {code}")
