"""Which commit first changed what code does, after a row was measured.

A comment, a docstring, the words of an error and the layout change no figure, so that they make no row stale.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Mapping
from functools import cache

from benchmarks.harness import ROOT

_TREES = ("src/proofwood/engines/trees", "src/proofwood/native/trees", "src/proofwood/native/common")
NO_FIGURE: Mapping[str, tuple[str, ...]] = {
    "4b2582a3": _TREES,  # what follows Ctrl-C, and traces of rounded costs
    "e5b87238": _TREES,  # the same
    "f3575e8b": _TREES,  # searches that have no time from the start
    "89a4112a": _TREES,  # what follows Ctrl-C
    "624d48dc": _TREES,  # the same, and a status of trees that are cut down to few leaves
    "497eefbb": _TREES,  # quotients, and another word for what ended a bound
    "320acda3": _TREES,  # searches on a cluster
    "c84ea464": _TREES,  # the same
    "d8910413": ("benchmarks/papers/beyond_tasks.py",),  # further rivals
    "15c693be": ("benchmarks/papers/beyond_tasks.py",),  # a rival's columns
}
"""Commits that change what code does, but no figure of a row of ours, and the code of which that was read."""

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\s+|(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')", re.DOTALL)


class _Bare(ast.NodeTransformer):
    """A module without docstrings, and with errors of which only the class is left."""

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return ast.Raise(error)

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) else node


def meaning(path: str, text: str) -> str:
    """The text of a file without what its program does not depend on: Python or C++ by the name, others whole."""
    if path.endswith(".py"):
        return ast.dump(_Bare().visit(ast.parse(text)))
    if path.endswith((".cpp", ".hpp", ".h")):
        return _COMMENT.sub(lambda found: found[1] or "", text)  # compared alone, so that no space is needed
    return text


@cache
def first_change(commit: str, code: tuple[str, ...]) -> tuple[int, str] | None:
    """When code was first changed after a commit, and by which; None if it does the same, or this is no clone.

    Parameters
    ----------
    commit : of the row; empty if the row names none
    code : folders and files, by their paths in the repository, and after ``:!`` those that do not count

    Returns
    -------
    tuple of int and str, or None
        Seconds since 1970 of the first commit that changed what the code does, with its short name and title.
        ``NO_FIGURE`` does not count.
    """
    if not (ROOT / ".git").exists():
        return None
    log = git("log", "--reverse", "--format=%ct %h %s", f"{commit}..HEAD", "--", *code) if commit else None
    if log is None:
        return 0, f"an unknown commit {commit}".rstrip()
    if not _differ(commit, "HEAD", code):
        return None
    for line in log.splitlines():
        seconds, name, _ = line.split(" ", 2)
        read = tuple(f":!{path}" for path in NO_FIGURE.get(name[:8], ()))
        if _differ(f"{name}^", name, (*code, *read)):
            return int(seconds), line.partition(" ")[2]
    return None


@cache
def _differ(old: str, new: str, code: tuple[str, ...]) -> bool:
    """Whether code does something else in a second commit than in a first."""
    names = git("diff", "--name-only", "--no-renames", old, new, "--", *code) or ""
    return any(_meaning_in(old, name) != _meaning_in(new, name) for name in names.splitlines())


def _meaning_in(commit: str, path: str) -> str | None:
    text = git("show", f"{commit}:{path}")
    return None if text is None else meaning(path, text)


def git(*arguments: str) -> str | None:
    """Output of a command of git in this clone; None if it fails."""
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None
