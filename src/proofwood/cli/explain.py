"""The command ``proofwood explain``: explain the predictions of a model, with a proof."""

# Imports inside functions are of modules that load numpy, so that --help starts at once.

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from proofwood.cli.answers import AsJson
from proofwood.cli.completion import columns
from proofwood.cli.corrections import one_of
from proofwood.cli.explanations import Kind, Request, default_kind, explain_all, explain_one, explain_path
from proofwood.cli.files import require_out
from proofwood.cli.foreign import convert, isolation_forest, load_model, reading
from proofwood.cli.options import (
    Confidence,
    DataTable,
    Integers,
    Knowledge,
    MemoryLimit,
    Number,
    Output,
    Sheet,
    TimeLimit,
    TrustPickle,
    Vote,
    Votes,
    amount_of_memory,
    number_asked,
    seconds,
)
from proofwood.cli.pictures import Plot, require_picture
from proofwood.cli.tables import knows_types, read_rows, whole_columns
from proofwood.exceptions import DataError
from proofwood.files import require_kind
from proofwood.hints import parameter

ENGINES = ("auto", "cdcl", "messages", "paper")
EXAMPLES = """
proofwood data iris --out iris.csv
proofwood fit iris.csv --target species --max-depth 2 --out tree.json
proofwood explain tree.json iris.csv --row 70 --verify
proofwood explain tree.json iris.csv --row 70 --kind counterfactual --target setosa
proofwood explain tree.json iris.csv --row 70 --kind robustness --certificate radius.json
proofwood explain tree.json iris.csv --all --out explained.jsonl
"""


def explain(
    model: Annotated[
        Path,
        typer.Argument(
            help="Model file of proofwood, XGBoost, LightGBM or CatBoost, trees in an ONNX file, or a pickle (with "
            "--trust-pickle)."
        ),
    ],
    data: DataTable,
    row: Annotated[int | None, typer.Option(help="Row to explain; the first is 0.")] = None,
    kind: Annotated[
        Kind | None,
        typer.Option(
            help="abductive (by default): why this class; contrastive: which features could change it; "
            "counterfactual: the nearest row of another class; robustness: how far values may move without a change of "
            "class; enumeration: all abductive and contrastive explanations; path (by default for a tree of numbers "
            "without --number): the tests on the way of the row, without a search."
        ),
    ] = None,
    smallest: Annotated[bool, typer.Option("--smallest", help="Find an explanation with the fewest features.")] = False,
    inflate: Annotated[
        bool, typer.Option("--inflate", help="Widen the values to ranges, as far as the class stays the same.")
    ] = False,
    target: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Class to reach or to exclude; by default any other class.")
    ] = None,
    number: Number = None,
    confidence: Confidence = None,
    output: Output = None,
    knowledge: Knowledge = [],  # noqa: B006
    plausible: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Isolation forest of scikit-learn (with --trust-pickle): only rows that are inliers are considered.",
        ),
    ] = None,
    least_score: Annotated[
        float | None, typer.Option(metavar="S", help="With --plausible: least score of an inlier, between -1 and 0.")
    ] = None,
    constraint: Annotated[
        list[str],
        typer.Option(
            metavar="COMPARISON",
            help="With --kind counterfactual: condition on the row, such as 'debts <= 0.5 * income'; may be repeated.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    feature_order: Annotated[
        str | None, typer.Option(metavar="COL,COL,...", help="Features to leave out first, if possible.")
    ] = None,
    immutable: Annotated[
        list[str],
        typer.Option(metavar="COL", help="Feature that must not change; may be repeated.", autocompletion=columns),
    ] = [],  # noqa: B006
    integer: Integers = [],  # noqa: B006
    drop: Annotated[
        list[str],
        typer.Option(metavar="COL", help="Column that is not a feature; may be repeated.", autocompletion=columns),
    ] = [],  # noqa: B006
    vote: Votes = Vote.AUTO,
    engine: Annotated[
        str, typer.Option(help="auto, cdcl, messages or paper.", autocompletion=lambda: list(ENGINES))
    ] = "auto",
    time_limit: TimeLimit = "60",
    memory_limit: MemoryLimit = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check the explanation with another engine.")] = False,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save a proof that 'proofwood verify' can check.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Explain every row, as JSON lines in --out; the same call continues the file.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="With --all: file to write.")] = None,
    plot: Plot = None,
    sheet: Sheet = None,
    trust_pickle: TrustPickle = False,
    as_json: AsJson = False,
) -> None:
    """Explain predictions of a model for rows of a table, with proof.

    Exit code 1 if --verify does not confirm the explanation, 3 if the limit was reached before anything was proved.
    """
    from proofwood.explain.explainer import Explainer

    if (row is None) is not every:
        raise DataError("which row? Expected either --row NUMBER, or --all with --out FILE")
    if every is not (out is not None):
        raise DataError("--all and --out FILE belong together: pass both or neither")
    if every and (verify or certificate is not None):
        raise DataError("--verify and --certificate need one row: pass --row NUMBER instead of --all")
    if every and kind is Kind.ENUMERATION:
        raise DataError("--kind enumeration needs one row: pass --row NUMBER instead of --all")
    if plot is not None and (every or kind is Kind.ENUMERATION):
        raise DataError("--plot draws one explanation: pass --row NUMBER, and another kind than enumeration")
    one_of(engine, ENGINES, parameter("engine", engine))
    if certificate is not None and (constraint or plausible is not None):
        raise DataError(
            "--certificate is only for proofs about all rows, without conditions between columns: leave out "
            + ("--constraint" if constraint else "--plausible")
        )
    if constraint and engine not in (searches := ("auto", "cdcl", "messages")):
        raise DataError(f"--engine {engine} does not support --constraint: expected one of {', '.join(searches)}")
    require_out(out, model, data, option="--out")
    if out is not None:
        require_kind(out, "JSON lines, .jsonl; in Python, the table of explanations has to_frame()")
    require_out(certificate, model, data, option="--certificate")
    require_out(plot, model, data, option="--plot")
    require_picture(plot)
    order = None if feature_order is None else [name.strip() for name in feature_order.split(",")]
    fitted = load_model(model, trust_pickle=trust_pickle)
    kind = kind or default_kind(fitted, number)
    request = Request(kind, smallest, inflate, target, order, tuple(immutable), tuple(constraint))
    if kind is Kind.PATH:
        if row is None or verify or certificate is not None or plot is not None:
            raise DataError("--kind path shows the tests of one row: pass --row NUMBER, without --verify or --plot")
        explain_path(fitted, data, row, drop, sheet, as_json=as_json)
        return
    forest = isolation_forest(plausible, least_score, trust_pickle=trust_pickle)
    asked: dict[str, Any] = {"vote": str(vote), "confidence": confidence, "output": output}
    rows = read_rows(
        data, fitted, drop, sheet, lambda model, names, X: reading(model, feature_names=names, X=X, **asked)
    )
    whole = [] if knows_types(fitted) else whole_columns(rows.table)
    converted = convert(
        fitted,
        target=number_asked(number),
        knowledge=knowledge,
        plausible=forest,
        feature_names=rows.names,
        integer=[*integer, *whole],
        adapted=rows.adapted,
        **asked,
    )
    explainer = Explainer(
        converted, engine=engine, time_limit=seconds(time_limit), memory_limit=amount_of_memory(memory_limit)
    )
    if row is None:
        assert out is not None
        explain_all(explainer, rows.given, request, out, as_json=as_json)
        return
    code = explain_one(
        explainer, rows.given, row, request, verify=verify, certificate=certificate, plot=plot, as_json=as_json
    )
    if code:
        raise typer.Exit(code)
