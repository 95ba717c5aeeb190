"""The JSON output of commands: ``--json`` prints it, and ``proofwood schema`` prints its schema.

A command registers the schema of its JSON output in its module::

    register("predict", "The class of each row.", {"columns": listing(TEXT), "rows": listing(mapping(ANY))})

and prints the output with :func:`print_answer`. The version is raised when a field is removed or changes its meaning,
not when a field is added.
"""

# Imports inside functions are of modules that load numpy, so that --help starts at once.

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any

import typer

import proofwood

VERSION = 1
"""Version of all schemas."""

Schema = dict[str, Any]

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document; 'proofwood schema COMMAND' prints its schema.")
]

SCHEMAS: dict[str, Schema] = {}
"""The schema of the JSON output of each command, by name."""

# ------------------------------------------------------------------------------------------------------ parts of forms

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
LABEL: Schema = {"type": ["string", "integer", "number", "boolean"], "description": "a class, as in the table"}
CELL: Schema = {"type": ["string", "integer", "number", "boolean", "null"], "description": "null if missing"}


def listing(items: Schema) -> Schema:
    """The schema of a list whose items have the schema ``items``."""
    return {"type": "array", "items": items}


def mapping(values: Schema) -> Schema:
    """The schema of an object with any keys, whose values have the schema ``values``."""
    return {"type": "object", "additionalProperties": values}


def record(fields: Mapping[str, Schema], about: str = "", *, more: Mapping[str, Schema] | None = None) -> Schema:
    """The schema of an object with these fields, all required; ``about`` is its description.

    An object may have the fields of ``more``, too.
    """
    said = {"description": about} if about else {}
    return {"type": "object", **said, "properties": {**fields, **(more or {})}, "required": list(fields)}


def nullable(form: Schema, about: str = "") -> Schema:
    """The schema of a value that has the schema ``form`` or is null; ``about`` is its description."""
    said = {"description": about} if about else {}
    return {"anyOf": [form, {"type": "null"}], **said}


def choice(*values: str) -> Schema:
    """The schema of a text that is one of ``values``."""
    return {"type": "string", "enum": list(values)}


def described(form: Schema, about: str) -> Schema:
    """The schema ``form`` with the description ``about``."""
    return {**form, "description": about}


STATUS = choice("optimal", "within_gap", "feasible", "infeasible", "unknown")
PROOF = record(
    {
        "status": described(STATUS, "what is proved"),
        "claim": described(TEXT, "the statement that status 'optimal' proves, in words, with its scope"),
        "scope": described(listing(TEXT), "what limited the search, apart from the shape of the model and the table"),
        "objective": described(NUMBER, "the cost of the model"),
        "unit": described(TEXT, "unit of objective, bound and gap"),
        "lower_bound": described(NUMBER, "no permitted model has a lower cost"),
        "gap": described(NUMBER, "objective minus lower bound"),
        "parts": listing(
            record({"unit": TEXT, "objective": NUMBER, "lower_bound": nullable(NUMBER), "status": STATUS})
        ),
        "facts": listing(record({"name": TEXT, "text": TEXT})),
        "engine": TEXT,
        "stopped_by": nullable(TEXT, "null if the search was completed; else the reason, such as time_limit"),
        "seconds": NUMBER,
        "counters": mapping(INTEGER),
    },
    "what is proved",
)
MODEL = record(
    {
        "learner": described(TEXT, "name of the learner for --model"),
        "class": described(TEXT, "class of the estimator"),
        "kind": choice("tree", "diagram"),
        "depth": INTEGER,
        "nodes": described(INTEGER, "splits and leaves"),
        "splits": INTEGER,
        "features": described(listing(TEXT), "columns, in the order of training"),
        "predicts": described(choice("classes", "numbers", "actions", "survival times"), "what leaves predict"),
        "classes": described(listing(LABEL), "the classes or actions; empty if leaves predict numbers"),
        "parameters": described({"type": "object"}, "of the learner; values that JSON cannot represent are texts"),
        "text": described(TEXT, "the model as lines of text"),
    },
    "the model that was learned",
)


def register(command: str, about: str, fields: Mapping[str, Schema], *forms: Mapping[str, Schema]) -> None:
    """Register the schema of the JSON output of a command.

    Parameters
    ----------
    command, about : its name, and what the output is
    fields : these follow the fields that every output has
    forms : if given, an output has the fields of one of them, too
    """
    head = {
        "proofwood": described(TEXT, "version of the program"),
        "schema": {"const": VERSION, "description": "version of this schema"},
        "command": {"const": command},
    }
    SCHEMAS[command] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"proofwood {command} --json",
        **record({**head, **fields}, about),
    }
    for form in forms:
        SCHEMAS[command]["properties"] |= form
        SCHEMAS[command].setdefault("anyOf", []).append({"required": list(form)})


def print_answer(command: str, **fields: Any) -> None:
    """Print the JSON output of a command: one document on one line, in ASCII."""
    typer.echo(as_json({"proofwood": proofwood.__version__, "schema": VERSION, "command": command, **fields}))


# -------------------------------------------------------------------------------------------------------------- values


def as_json(value: Any, *, indent: int | None = None) -> str:
    """``value`` as JSON text in ASCII without control characters, with the conversions of :func:`plain`."""
    return json.dumps(plain(value), allow_nan=False, indent=indent).replace("\x7f", "\\u007f")


def plain(value: Any) -> Any:
    """``value`` in types of JSON: numbers that are not finite become None, unknown types become text."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # of numpy
        return plain(value.astype(str).tolist() if getattr(value.dtype, "kind", "") in "mM" else value.tolist())
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, int):
        return int(value)
    return str(value)


def model_answer(model: Any) -> dict[str, Any]:
    """A fitted model as a mapping with the schema :data:`MODEL`."""
    from proofwood.cli.labelled import answers_of, predicts
    from proofwood.estimators.registry import LEARNERS

    table, name = model.model_, type(model).__name__
    names = getattr(model, "feature_names_in_", None)
    left_out = ("callback", "verbose")
    return {
        "learner": next(key for key, entry in LEARNERS.items() if entry.class_name == name),
        "class": name,
        "kind": "tree" if table.is_tree else "diagram",
        "depth": table.depth,
        "nodes": table.n_nodes,
        "splits": table.n_splits,
        "features": [f"x{j}" for j in range(model.n_features_in_)] if names is None else list(names),
        "predicts": str(predicts(model)),
        "classes": plain(answers_of(model)),
        "parameters": {key: value for key, value in model.get_params().items() if key not in left_out},
        "text": model.export_text(),
    }


def proof_answer(model: Any) -> dict[str, Any]:
    """The proof of a fitted model as a mapping with the schema :data:`PROOF`."""
    from proofwood.estimators.proof_report import proof_report

    proof = proof_report(model)
    return {
        **model.result_.to_dict(),
        "claim": proof.claim,
        "parts": [part.to_dict() for part in proof.parts],
        "facts": [{"name": name, "text": text} for name, text in proof.facts],
    }
