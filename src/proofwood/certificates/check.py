"""Check a certificate by its text only, without a solver, an encoder or a class of the package that made it.

The certificate is plain JSON. The check reads its fields first, then what its kind has to prove
(:mod:`proofwood.certificates.kinds`). Last, if a model is given, it compares the certificate with this model.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from proofwood.certificates.content import FORMAT, SETS, VERSION, digest, fields
from proofwood.certificates.distances import KINDS as DISTANCE_KINDS
from proofwood.certificates.drup import CertificateError
from proofwood.certificates.facts import Check, Subject, check_of
from proofwood.certificates.kinds import KINDS as FEATURE_KINDS
from proofwood.certificates.stated import Stated, bytes_of_model
from proofwood.certificates.words import claim_of
from proofwood.files import MOST, allowing, beyond, bytes_of_json, read_permitted

STATUSES = {
    "abductive": ("sufficient", "minimal", "smallest"),
    "contrastive": ("changing", "minimal", "smallest"),
    "enumeration": ("complete",),
    "inflated": ("sufficient", "maximal"),
    "distance": ("optimal", "feasible", "none"),
    "possible": ("complete", "partial"),
}
"""The statuses that each kind of certificate may claim."""
KINDS = {**FEATURE_KINDS, **DISTANCE_KINDS}
HEAD = ("format", "version", "kind", "status", "claim", "digest")
STATED = ("space", "model", "axes", "lemmas")
"""The fields of a certificate that depend only on the model and its space."""
ABOUT = ("row", "label", "targets")
FIELDS: Mapping[str, Collection[str]] = {
    "abductive": (*ABOUT, "features", "keep", "without", "proofs", "witnesses", "changes", "size_proof"),
    "contrastive": (*ABOUT, "features", "without", "witness", "proofs", "sufficient", "size_proof"),
    "enumeration": (*ABOUT, "abductive", "contrastive", "map_proof"),
    "inflated": (*ABOUT, "features", "limits", "proofs", "beyond"),
    "distance": (*ABOUT, "features", "immutable", "limits", "distance", "witness", "proofs"),
    "possible": ("limits", "found"),
}
"""The fields that each kind has in addition to the common ones."""


class RealModel(Protocol):
    """The explained model, as :func:`proofwood.ensembles.explained.explained` returns it."""

    def stated_as(self, content: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
        """Return the fields ``STATED`` of this model in the space of ``content``, and an object that predicts codes."""


def check_certificate(
    certificate: str | Path | Mapping[str, Any], model: RealModel | None = None, *, max_bytes: int | None = None
) -> list[Check]:
    """Check everything that a certificate claims.

    Parameters
    ----------
    certificate : path of a JSON file, or its content
    model : the explained model, with its vote; without it the claim is about the trees in the certificate
    max_bytes : most bytes of memory for the trees of the certificate, by an estimate; 4 GiB by default

    Returns
    -------
    list of Check
        The claim is true if all checks passed. Without ``model`` the checks say nothing about the real model, and
        checks of rows whose class depends on rounding are ``open``.

    Raises
    ------
    CertificateError
        If the file is not a certificate of this version, is too large, or cannot be read as one.
    """
    if model is not None and not hasattr(model, "stated_as"):
        raise TypeError(
            f"model is a {type(model).__name__}: expected explained(model), or the attribute model of an explainer"
        )
    with allowing(max_bytes):
        content, size = _read(certificate)
        name = certificate if isinstance(certificate, str | Path) else "the certificate"
        try:
            refusal = beyond(name, bytes_of_model(content), size)
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
    """The content, and the size of its file in bytes. Content without a file gets a size that permits any trees."""
    size = MOST
    if isinstance(certificate, Mapping):
        content: Any = certificate
    elif not isinstance(certificate, str | Path):
        raise TypeError(
            f"certificate is a {type(certificate).__name__}: expected the path of a file, or the content, such as "
            "the attribute certificate of an explanation that was made with certificate=True"
        )
    else:
        try:
            read, refusal = read_permitted(certificate)
            size = len(read)
            refusal = refusal or beyond(certificate, bytes_of_json(read), size)
            if refusal is not None:
                raise CertificateError(refusal)
            content = json.loads(read.decode("utf-8"), object_pairs_hook=_once)
        except CertificateError:
            raise
        except (ValueError, RecursionError) as error:
            raise CertificateError(f"{certificate} is not a certificate: {error}") from error
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise CertificateError(f"this is not a certificate: expected the format {FORMAT!r}")
    if type(content.get("version")) is not int or content["version"] != VERSION:
        raise CertificateError(
            f"the certificate has version {content.get('version')!r}, but this program reads version {VERSION}: check "
            "it with the version of proofwood that wrote it"
        )
    return content, size


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a JSON object; raise ValueError if a name occurs twice, because readers differ then."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"an object has two fields of the same name; its names are {', '.join(found)}")
    return found


def _checks(content: Mapping[str, Any], model: RealModel | None) -> Iterator[Check]:
    same = content["digest"] == digest(content)
    yield Check("content", same, "not changed since it was written" if same else "changed after it was written")
    stated = Stated(content)
    yield from checks_of(content, stated, model)


def checks_of(content: Mapping[str, Any], stated: Stated, model: RealModel | None = None) -> Iterator[Check]:
    """Yield the checks of the content of a certificate; ``stated`` is the model of the certificate over its axes."""
    kind, status = content["kind"], content["status"]
    if kind not in STATUSES or status not in STATUSES[kind]:
        yield Check("kind", False, f"a certificate of kind {kind!r} cannot have the status {status!r}")
        return
    fields(content, f"certificate of kind {kind}", (*HEAD, *STATED, *FIELDS[kind]))
    yield Check("model", True, f"{len(stated.leaves)} trees over {stated.q.size} axes, {len(stated.clauses)} lemmas")
    subject = Subject(content, stated)
    if not stated.tells(subject.limits):
        raise ValueError("a limit divides values that the axes of the certificate do not distinguish")
    if not all(stated.region_of(subject.limits).values()):
        raise ValueError("a limit permits no value of its column, so that the claim is about no row")
    if kind != "possible":
        row = _row_check(subject)
        yield row
        fault = _sets_fault(subject) if row.passed else row.detail
        yield check_of("features", fault, "features and classes of the model")
        if fault is not None:
            return
        subject.shown.append(("row", subject.row, [subject.label]))
    claim = claim_of(content, stated.space, stated.tested)
    fault = f"the certificate claims {content['claim']!r}, but the checked claim is {claim!r}"
    yield check_of("claim", None if content["claim"] == claim else fault, claim)
    yield from KINDS[kind](subject)
    if model is not None:
        yield from _real_checks(subject, model)


def _sets_fault(s: Subject) -> str | None:
    """The fault in the classes and features of a certificate; None if they are valid."""
    content, n_classes = s.content, s.stated.n_classes
    if s.targets is not None and (
        not s.targets
        or not all(type(k) is int and 0 <= k < n_classes and k != s.label for k in s.targets)
        or s.targets != sorted(set(s.targets))
    ):
        return "the targets are not other classes in ascending order"
    every = [one["features"] for name in (*SETS, "changes", "sufficient") for one in content.get(name) or ()]
    every += [content[name] for name in ("features", "keep", "without", "immutable") if name in content]
    for features in every:
        if not all(type(f) is int and 0 <= f < len(s.space.features) for f in features):
            return "a set contains something that is not a feature"
        if features != sorted(set(features)):
            return "the features of a set are not in ascending order"
    if not set(content.get("keep", ())) <= set(content.get("features", ())):
        return "a feature of 'keep' is not among the features"
    return None


def _row_check(s: Subject) -> Check:
    """Check that the row is in the space, and that its class is the stated one."""
    if type(s.label) is not int or not 0 <= s.label < s.stated.n_classes:
        return Check("row", False, f"class {s.label} does not exist")
    try:
        _ = s.own
    except CertificateError as error:
        return Check("row", False, str(error))
    found = s.has_class(s.row, s.label, None, "row")
    return replace(found, detail=f"class {s.label} by the sum of its leaves") if found.passed else found


# ----------------------------------------------------------------------------------------------------------- the model


def _real_checks(s: Subject, model: RealModel) -> Iterator[Check]:
    """Check that trees and space are those of ``model``, and that ``model`` predicts the stated classes of the rows."""
    parts, predicts = model.stated_as(s.content)
    differing = [name for name in STATED if parts[name] != s.content[name]]
    fault = f"it differs from the model in: {', '.join(differing)}" if differing else None
    yield check_of("the model itself", fault, "trees and space are those of the model")
    if differing or not s.shown:
        return
    codes = np.asarray(predicts.predict_codes(np.array([values for _, values, _ in s.shown]))).tolist()
    for (name, _, expected), code in zip(s.shown, codes, strict=True):
        meant: Sequence[int] = s.others if expected is None else expected
        yield Check(f"the model itself on the {name}", code in meant, f"predicts class {code}")
