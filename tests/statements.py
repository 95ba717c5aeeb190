"""Certificates that are changed on purpose: written anew, and looked at."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from proofwood.certificates.content import digest
from proofwood.certificates.drup import CertificateError
from proofwood.certificates.stated import Stated
from proofwood.certificates.words import claim_of
from proofwood.explain.proofs.certificate import check_certificate

Content = Mapping[str, Any]
Path = tuple[Any, ...]


def failures(content: Content, model: Any = None) -> list[str]:
    """Names of the checks that fail, or the error."""
    try:
        return [one.name for one in check_certificate(content, model) if not one.passed]
    except CertificateError as error:
        return [str(error)]


def signed(content: Content) -> Content:
    """The content with the claim and the digest that go with it, as far as it can be read."""
    try:
        stated = Stated(content)
        content = {**content, "claim": claim_of(content, stated.space, stated.tested)}
    except (CertificateError, KeyError, TypeError, ValueError, IndexError, AttributeError):
        pass
    return {**content, "digest": digest(content)}


def refused(content: Content, model: Any = None) -> bool:
    """Whether a check fails, though claim and digest go with what was changed."""
    return bool(failures(signed(content), model))


def changed(content: Content, path: Path, value: Any) -> Content:
    """The content with another value at a place."""
    found = copy.deepcopy(content)
    part: Any = found
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return found


def places(part: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All values inside of a content, with their places."""
    inner = part.items() if isinstance(part, Mapping) else enumerate(part) if isinstance(part, list) else ()
    for key, value in inner:
        yield (*path, key), value
        yield from places(value, (*path, key))
