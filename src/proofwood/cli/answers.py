"""Answers as JSON, and the schema of each: what ``--json`` prints, and what ``proofwood schema`` says about it.

A command registers the form of its answer next to itself::

    register("predict", "The class of each row.", {"columns": listing(TEXT), "rows": listing(mapping(ANY))})

and prints one with :func:`print_answer`. A version of a form is raised when a field goes or changes its meaning; fields
are added without.
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
"""Version of the forms."""

Schema = dict[str, Any]

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document; 'proofwood schema COMMAND' tells its form.")
]

SCHEMAS: dict[str, Schema] = {}
"""Name of a command -> form of its answer."""

# ------------------------------------------------------------------------------------------------------ parts of forms

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
LABEL: Schema = {"type": ["string", "integer", "number", "boolean"], "description": "a class, as the table has it"}
CELL: Schema = {"type": ["string", "integer", "number", "boolean", "null"], "description": "null where missing"}


def listing(items: Schema) -> Schema:
    """A list of values of one form."""
    return {"type": "array", "items": items}


def mapping(values: Schema) -> Schema:
    """Values of one form by name."""
    return {"type": "object", "additionalProperties": values}


def record(fields: Mapping[str, Schema], about: str = "") -> Schema:
    """An object with these fields, all required."""
    said = {"description": about} if about else {}
    return {"type": "object", **said, "properties": dict(fields), "required": list(fields)}


def nullable(form: Schema, about: str = "") -> Schema:
    """Null or a value of the form."""
    said = {"description": about} if about else {}
    return {"anyOf": [form, {"type": "null"}], **said}


def choice(*values: str) -> Schema:
    """One of these texts."""
    return {"type": "string", "enum": list(values)}


def described(form: Schema, about: str) -> Schema:
    """A form with what the value means."""
    return {**form, "description": about}


STATUS = choice("optimal", "within_gap", "feasible", "infeasible", "unknown")
PROOF = record(
    {
        "status": described(STATUS, "what is proved"),
        "claim": described(TEXT, "what the status 'optimal' says of this model, in words, with its scope"),
        "scope": described(listing(TEXT), "what limited the search beyond the shape of the model and the table"),
        "objective": described(NUMBER, "what the model costs"),
        "unit": described(TEXT, "of objective, bound and gap"),
        "lower_bound": described(NUMBER, "no model that was searched costs less"),
        "gap": described(NUMBER, "objective minus lower bound"),
        "parts": listing(
            record({"unit": TEXT, "objective": NUMBER, "lower_bound": nullable(NUMBER), "status": STATUS})
        ),
        "facts": listing(record({"name": TEXT, "text": TEXT})),
        "engine": TEXT,
        "stopped_by": nullable(TEXT, "null if the search came to its end; else such as time_limit"),
        "seconds": NUMBER,
        "counters": mapping(INTEGER),
    },
    "what is proved",
)
MODEL = record(
    {
        "learner": described(TEXT, "the name that --model takes"),
        "class": described(TEXT, "of the estimator"),
        "kind": choice("tree", "diagram"),
        "depth": INTEGER,
        "nodes": described(INTEGER, "leaves included"),
        "splits": INTEGER,
        "features": described(listing(TEXT), "columns, in the order of training"),
        "classes": listing(LABEL),
        "parameters": described({"type": "object"}, "of the learner; what JSON does not know is text"),
        "text": described(TEXT, "the model as lines"),
    },
    "what was learned",
)


def register(command: str, about: str, fields: Mapping[str, Schema]) -> None:
    """Declare the answer of a command: ``fields`` come after those that every answer has."""
    head = {
        "proofwood": described(TEXT, "version of the program"),
        "schema": {"const": VERSION, "description": "version of this form"},
        "command": {"const": command},
    }
    SCHEMAS[command] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"proofwood {command} --json",
        **record({**head, **fields}, about),
    }


def print_answer(command: str, **fields: Any) -> None:
    """Print the answer of a command: one JSON document on one line, in ASCII."""
    typer.echo(as_json({"proofwood": proofwood.__version__, "schema": VERSION, "command": command, **fields}))


# -------------------------------------------------------------------------------------------------------------- values


def as_json(value: Any, *, indent: int | None = None) -> str:
    """JSON in ASCII that no terminal acts on; what is not finite is null, what JSON does not know is text."""
    return json.dumps(plain(value), allow_nan=False, indent=indent).replace("\x7f", "\\u007f")


def plain(value: Any) -> Any:
    """``value`` in what JSON knows."""
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
    """A fitted model in the form :data:`MODEL`."""
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
        "classes": plain(model.classes_),
        "parameters": {key: value for key, value in model.get_params().items() if key not in left_out},
        "text": model.export_text(),
    }


def proof_answer(model: Any) -> dict[str, Any]:
    """What is proved of a fitted model, in the form :data:`PROOF`."""
    from proofwood.estimators.proof_report import proof_report

    proof = proof_report(model)
    return {
        **model.result_.to_dict(),
        "claim": proof.claim,
        "parts": [part.to_dict() for part in proof.parts],
        "facts": [{"name": name, "text": text} for name, text in proof.facts],
    }
