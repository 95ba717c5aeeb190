"""Options from a TOML file: ``--config FILE.toml`` of every command. Typed options override those of the file.

Keys are the names of arguments, and of options without leading hyphens: ``max-depth`` or ``max_depth``. Keys at the top
of the file apply to any command; keys in a table such as ``[fit]`` apply only to that command.
"""

from __future__ import annotations

import functools
import inspect
import tomllib
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import typer

from proofwood.cli.corrections import meant, one_of
from proofwood.cli.errors import messages_of
from proofwood.exceptions import DataError
from proofwood.files import read_bounded

MAX_BYTES = 2**20
"""The most bytes of a file with options."""
KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def with_config(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option ``--config`` to ``command``; its file sets the options that are not typed."""
    signature = inspect.signature(command, eval_str=True)
    types = {name: _plain_type(it.annotation) for name, it in signature.parameters.items()}

    def read(ctx: typer.Context, value: Path | None) -> Path | None:
        if value is not None and not ctx.resilient_parsing:
            with messages_of(value):
                ctx.default_map = {**(ctx.default_map or {}), **_options(value, ctx, types)}
        return value

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        kwargs.pop("config", None)
        command(*args, **kwargs)

    declared = typer.Option(
        "--config",
        metavar="FILE",
        help="Read options from this TOML file.",
        is_eager=True,
        callback=read,
    )
    added = inspect.Parameter(
        "config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[Path | None, declared]
    )
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), added])  # type: ignore[attr-defined]
    return run


def _plain_type(annotation: Any) -> tuple[type, bool, str]:
    """The type of an option, whether it may be repeated, and its metavar, from its annotation."""
    metavar = ""
    if get_origin(annotation) is Annotated:
        annotation, *notes = get_args(annotation)
        metavar = next((str(note.metavar) for note in notes if getattr(note, "metavar", None)), "")
    if get_origin(annotation) in (UnionType, Union):
        annotation = next(it for it in get_args(annotation) if it is not type(None))
    several = get_origin(annotation) is list
    return (get_args(annotation)[0] if several else annotation), several, metavar


def _options(path: Path, ctx: typer.Context, types: Mapping[str, tuple[type, bool, str]]) -> dict[str, Any]:
    """The options in the file for the called command, by parameter name. Raise DataError if an option is not valid."""
    content = _read(path)
    group = ctx.find_root().command
    commands = list(getattr(group, "commands", {}))
    called = str(ctx.info_name)
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    for key in tables:
        one_of(key, commands, f"{path}: [{key}] is not a command")
    given = {key: value for key, value in content.items() if key not in tables}
    given |= tables.get(called, {})
    names = {key: name for key, name in _names(ctx.command).items() if name in types}
    found = {}
    problems = []
    for key, value in given.items():
        name = key.replace("_", "-")
        if name not in names:
            others = [other for other, command in getattr(group, "commands", {}).items() if name in _names(command)]
            hint = meant(name, names, ": ") or (f": put it under [{'] or ['.join(others)}]" if others else "")
            problems.append(f"{key!r} is not an option of {called!r}{hint}")
            continue
        try:
            found[names[name]] = _value(value, *types[names[name]])
        except ValueError as error:
            problems.append(f"{key} = {_shown(value)}: {error}")
    if problems:
        raise DataError(f"{path}: {'; '.join(problems)}")
    return found


def _names(command: Any) -> dict[str, str]:
    """The parameter names of a command, by the names of its options and arguments in a file."""
    return {
        (max(it.opts, key=len).lstrip("-") if it.opts else str(it.name)): str(it.name)
        for it in command.params
        if it.name not in (None, "config", "help")
    }


def _read(path: Path) -> dict[str, Any]:
    if path.is_dir():
        raise DataError(f"{path} is a folder: expected a TOML file")
    if not path.exists():
        raise DataError(f"there is no file {path}: expected a TOML file with options")
    data = read_bounded(path, MAX_BYTES)
    if data is None:
        raise DataError(f"{path} has more than {MAX_BYTES:,} bytes: expected a TOML file with options")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}): expected a TOML file") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"{path} is not valid TOML: {error}") from error


def _value(value: Any, kind: type, several: bool, metavar: str) -> Any:
    """Convert a value of the file for typer. Raise ValueError, with the expected type, if it has another type."""
    if several:
        items = value if isinstance(value, list) else [value]
        return [_single(item, kind) for item in items]
    if isinstance(value, list) and "," in metavar:
        return ",".join(_single(item, kind) for item in value)
    return _single(value, kind)


def _single(value: Any, kind: type) -> Any:
    truth = isinstance(value, bool)
    if issubclass(kind, Enum):
        if not isinstance(value, str):
            raise ValueError("expected a text")
        return one_of(value, [str(member.value) for member in kind], repr(value))
    if kind is bool:
        if not truth:
            raise ValueError(f"expected {KINDS[bool]}")
        return value
    if kind in (int, float):
        if truth or not isinstance(value, int if kind is int else (int, float)):
            raise ValueError(f"expected {KINDS[kind]}")
        return kind(value)
    # Text, also for options with a number or a word, such as a time limit.
    if truth or not isinstance(value, (str, int, float)):
        raise ValueError(f"expected {KINDS[str]}")
    return str(value)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 60 else text[:56] + " ..."
