"""The command ``proofwood``: learn a proved tree from a table, use it, look at it, explain what models predict.

Exit codes: 0 done, 1 an explanation was not confirmed, 2 wrong usage or bad input. Errors are one message on standard
error. Progress goes to standard error too, so that standard output holds the model, its proof or the predictions and
nothing else.
"""

from __future__ import annotations

import functools
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer

from proofwood import cli_explain, cli_odd, cli_verify
from proofwood.engines.registry import LEARNERS, learner, learner_of_class
from proofwood.exceptions import DataError, OptimalityWarning
from proofwood.files import require_writable, same_file, write_whole
from proofwood.memory import bytes_of
from proofwood.printable import printable

if TYPE_CHECKING:
    import polars as pl

    from proofwood.result import Part, Progress, ProgressEvent

P = ParamSpec("P")

app = typer.Typer(
    name="proofwood",
    help="Decision trees and diagrams that are provably the best of their size.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class Format(StrEnum):
    """How ``show`` writes a model."""

    TEXT = "text"
    DOT = "dot"
    PNG = "png"
    SVG = "svg"


def main() -> None:
    """Run the command line; the entry point of the installed script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign shows another, and nothing fails
    app(prog_name="proofwood")


def _readable(command: Callable[P, None]) -> Callable[P, None]:
    """``command`` with bad input as one line on standard error and exit code 2."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            with _plain_warnings():
                command(*args, **kwargs)
        except KeyboardInterrupt:
            typer.echo("proofwood: interrupted", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # The reader has seen enough. What is still buffered goes nowhere, so that closing does not fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except MemoryError:
            _fail("not enough memory for this table")
        except OSError as error:
            _fail(f"{error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        except ImportError as error:
            _fail(f"{error}")
        except ValueError as error:
            _fail(str(error))

    return run


LONGEST = 2000
"""Most characters of a message; what is longer shows its beginning."""


def _one_line(message: str) -> str:
    line = printable(" ".join(message.split()))
    return line if len(line) <= LONGEST else line[: LONGEST - 4] + " ..."


def _fail(message: str) -> None:
    typer.echo(f"proofwood: {_one_line(message)}", err=True)
    raise typer.Exit(2)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings as one line each on standard error; an unproved result is told with the proof and not here."""

    def show(message: Warning | str, category: type[Warning], *_: object) -> None:
        typer.echo(f"proofwood: warning: {_one_line(str(message))}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", OptimalityWarning)
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _version(value: bool) -> None:
    if value:
        import proofwood

        typer.echo(f"proofwood {proofwood.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


# ------------------------------------------------------------------------------------------------------ commands

MaxDepth = Annotated[int, typer.Option(help="Most tests on a path; 0 is a single leaf.")]
TimeLimit = Annotated[str, typer.Option(metavar="SECONDS", help="Seconds for the search, or 'none'.")]
MemoryLimit = Annotated[
    str | None, typer.Option(metavar="BYTES", help="Memory that may be added, such as 4GB; a share of what is free.")
]
Jobs = Annotated[int, typer.Option(help="Threads; -1 for all cores.")]


@app.command()
@_readable
def demo(
    data: Annotated[str, typer.Option(metavar="NAME", help="Data set: breast_cancer, wine, iris or checkerboard.")] = (
        "breast_cancer"
    ),
    max_depth: MaxDepth = 3,
    time_limit: TimeLimit = "60",
    memory_limit: MemoryLimit = None,
    n_jobs: Jobs = 1,
) -> None:
    """Learn an optimal tree on real data, prove it, and say why one row got its class."""
    import polars as pl

    from proofwood.data.catalog import CATALOG, load_dataset

    dataset = load_dataset(data)
    typer.echo(f"{dataset.name}: {CATALOG[data].about}\n")
    frame = pl.DataFrame(dataset.X, schema=list(dataset.feature_names), orient="row")
    settings = {"max_depth": max_depth, "time_limit": _seconds(time_limit), "n_jobs": n_jobs}
    settings["memory_limit"] = _bytes(memory_limit)
    tree = _learn("tree", settings, frame, dataset.y)
    _report(tree, frame, dataset.y)
    typer.echo(f"\n{_why(tree, frame, dataset.y, dataset.target)}")


@app.command()
@_readable
def fit(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file with a header.")],
    target: Annotated[str, typer.Option(metavar="COL", help="Column of labels.")],
    model: Annotated[str, typer.Option(help=f"What to learn: {', '.join(LEARNERS)}.")] = "tree",
    max_depth: Annotated[
        int | None, typer.Option(help="tree, minimal: most tests on a path (tree: 3 by default).")
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="tree, bdd, odd: price per leaf or node, as a share of all rows (odd: of all nodes)."),
    ] = None,
    min_samples_leaf: Annotated[int | None, typer.Option(help="tree: rows that every leaf must hold.")] = None,
    max_gap: Annotated[
        str | None,
        typer.Option(metavar="GAP", help="tree: permitted distance to the optimum: errors (5) or a share (0.01)."),
    ] = None,
    minimize: Annotated[
        str | None, typer.Option(help="minimal: depth, nodes (least depth first) or nodes-any-depth.")
    ] = None,
    max_errors: Annotated[int | None, typer.Option(help="minimal: rows that may be wrong.")] = None,
    on_conflict: Annotated[
        str | None, typer.Option(help="minimal: error or majority, for equal rows of different labels.")
    ] = None,
    max_features: Annotated[int | None, typer.Option(help="bdd: most tests of the diagram.")] = None,
    objective: Annotated[str | None, typer.Option(help="bdd: errors or features.")] = None,
    unknown: Annotated[
        str | None, typer.Option(help="bdd: smallest, parent, merge or solver, for cells that no row reaches.")
    ] = None,
    tie_break: Annotated[
        str | None, typer.Option(help="bdd: size, for the smallest diagram among sets of equal errors.")
    ] = None,
    max_thresholds: Annotated[
        int | None, typer.Option(help="minimal, bdd, odd: at most so many thresholds per column.")
    ] = None,
    engine: Annotated[str | None, typer.Option(help="minimal, bdd, odd: which engine searches.")] = None,
    widths: Annotated[
        str | None, typer.Option(metavar="N,N,...", help="odd: most splits of each layer, such as 1,2,4,4.")
    ] = None,
    splits: Annotated[str | None, typer.Option(help="odd: univariate or oblique.")] = None,
    topology: Annotated[str | None, typer.Option(help="odd: diagram or tree.")] = None,
    max_splits: Annotated[int | None, typer.Option(help="odd: most splits in all.")] = None,
    min_samples: Annotated[
        str | None, typer.Option(metavar="N", help="odd: rows through every split: a number (20) or a share (0.05).")
    ] = None,
    demographic_parity: Annotated[
        str | None,
        typer.Option(metavar=cli_odd.FAIR, help="odd: groups of a column are predicted positive equally often."),
    ] = None,
    equal_opportunity: Annotated[
        str | None, typer.Option(metavar=cli_odd.FAIR, help="odd: equal true positive rates of groups.")
    ] = None,
    predictive_equality: Annotated[
        str | None, typer.Option(metavar=cli_odd.FAIR, help="odd: equal false positive rates of groups.")
    ] = None,
    equalized_odds: Annotated[
        str | None,
        typer.Option(metavar=cli_odd.FAIR, help="odd: equal true and false positive rates of groups."),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="LABEL", help="odd: the favourable class, if there are more than two.")
    ] = None,
    keep_sensitive: Annotated[
        bool, typer.Option("--keep-sensitive", help="odd: let the model use the column of the groups, too.")
    ] = False,
    random_state: Annotated[int | None, typer.Option(help="odd: seed of the constructions.")] = None,
    time_limit: TimeLimit = "60",
    memory_limit: MemoryLimit = None,
    n_jobs: Jobs = 1,
    drop: Annotated[list[str], typer.Option(metavar="COL", help="Column to leave out; may be repeated.")] = [],  # noqa: B006 - typer copies it
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the model here (JSON).")] = None,
) -> None:
    """Learn a proved model from a table, and print it with its proof.

    Options that begin with names of models belong to these models.
    """
    from proofwood.data.tables import drop_columns, read_table, split_target

    _require_out(out, data)
    own = {
        "max_depth": max_depth,
        "alpha": alpha,
        "min_samples_leaf": min_samples_leaf,
        "max_gap": None if max_gap is None else _gap(max_gap),
        "minimize": minimize,
        "max_errors": max_errors,
        "on_conflict": on_conflict,
        "max_features": max_features,
        "objective": objective,
        "unknown": unknown,
        "tie_break": tie_break,
        "max_thresholds": max_thresholds,
        "engine": engine,
        "widths": None if widths is None else cli_odd.widths(widths),
        "splits": splits,
        "topology": topology,
        "random_state": random_state,
    }
    asked = {
        "max_splits": max_splits,
        "min_samples": min_samples,
        "demographic_parity": demographic_parity,
        "equal_opportunity": equal_opportunity,
        "predictive_equality": predictive_equality,
        "equalized_odds": equalized_odds,
        "positive": positive,
        "keep_sensitive": keep_sensitive or None,
    }
    asked = {name: value for name, value in asked.items() if value is not None}
    settings = {
        **_settings_of(model, {name: value for name, value in own.items() if value is not None}),
        "time_limit": _seconds(time_limit),
        "memory_limit": _bytes(memory_limit),
        "n_jobs": n_jobs,
    }
    _require_option(model, next(iter(asked), None), "constraints")
    table = read_table(data)
    features, labels = split_target(table, target)
    more: dict[str, Any] = {}
    if asked:
        constraints, sensitive = cli_odd.constraints(asked, positive, features.columns, sorted(set(labels.tolist())))
        settings["constraints"] = constraints
        if sensitive is not None:
            more["sensitive_features"] = features.get_column(sensitive)
            drop = drop if keep_sensitive or sensitive in drop else [*drop, sensitive]
        elif keep_sensitive:
            raise DataError("--keep-sensitive keeps the column of a fairness constraint, and none is given")
    if target in drop:
        raise DataError(f"--drop {shlex.quote(target)} would drop the target: drop features only")
    features = drop_columns(features, drop)
    _require_values(features, text=learner(model).reads_text, drop=True)
    fitted = _learn(model, settings, features, labels, **more)
    if out is not None:
        # Before anything is printed: a closed pipe must not cost the model.
        with _writing(out):
            fitted.save(out)
    _report(fitted, features, labels, **more)
    if out is not None:
        typer.echo(f"\nsaved to {printable(str(out))}", err=True)


@app.command()
@_readable
def predict(
    model: Annotated[Path, typer.Argument(help="Model file written by 'fit --out' or save().")],
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file; columns are matched by name.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write here (.csv or .parquet), not to standard output.")
    ] = None,
    safe_cells: Annotated[
        bool, typer.Option("--safe-cells", help="CSV: put ' before labels that a spreadsheet would run as formulas.")
    ] = False,
) -> None:
    """Predict the class of each row of a table."""
    import polars as pl

    from proofwood.data.tables import read_table, select_columns
    from proofwood.estimators.saving import load

    _require_out(out, model, data)
    estimator = load(_existing(model))
    table = read_table(data)
    if hasattr(estimator, "feature_names_in_"):
        features = select_columns(table, estimator.feature_names_in_.tolist())
        _require_values(features, text=learner_of_class(type(estimator).__name__).reads_text)
        labels = estimator.predict(features)
    else:
        if table.width != estimator.n_features_in_:
            raise DataError(
                f"{model} was learned from {estimator.n_features_in_} columns without names, and {data} has "
                f"{table.width}: pass a table with exactly these columns, in the same order"
            )
        _require_values(table, text=False)
        from proofwood.data.columns import read_columns

        labels = estimator.predict(read_columns(table).values)
    predictions = pl.DataFrame({"prediction": _column(labels)})
    as_text = out is None or out.suffix.lower() not in (".parquet", ".pq")
    if as_text:
        predictions = predictions.with_columns(_cells(predictions["prediction"], safe=safe_cells))
    if out is None:
        text = predictions.write_csv()
        typer.echo(printable(text, keep="\n") if sys.stdout.isatty() else text, nl=False)
        return
    content = BytesIO()
    if as_text:
        predictions.write_csv(content)
    else:
        predictions.write_parquet(content)
    with _writing(out):
        write_whole(out, content.getvalue())


@app.command()
@_readable
def show(
    model: Annotated[Path, typer.Argument(help="Model file written by 'fit --out' or save().")],
    format: Annotated[Format, typer.Option(help="How to show it.")] = Format.TEXT,  # noqa: A002 - the option's name
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write here, not to standard output.")] = None,
) -> None:
    """Show a saved model: text with its proof, Graphviz, or a picture."""
    from proofwood.estimators.saving import load

    _require_out(out, model)
    estimator = load(_existing(model))
    if format is Format.PNG and out is None:
        raise DataError("a PNG picture needs a file: add --out tree.png")
    if format is Format.TEXT:
        content: str | bytes = printable(f"{_tree_text(estimator)}\n\n{estimator.summary()}\n", keep="\n")
    elif format is Format.DOT:
        content = estimator.export_graphviz().rstrip() + "\n"
    else:
        content = _picture(estimator, format)
    if out is not None:
        with _writing(out):
            write_whole(out, content.encode() if isinstance(content, str) else content)
    else:
        typer.echo(content.decode() if isinstance(content, bytes) else content, nl=False)


TrustPickle = Annotated[
    bool,
    typer.Option(
        "--trust-pickle",
        help="Load the model from a pickle or joblib file, which runs the code in it: only for files of your own.",
    ),
]
Votes = Annotated[
    cli_explain.Vote, typer.Option(help="auto: what the model predicts; majority: the class most trees predict.")
]
Integers = Annotated[
    list[str], typer.Option(metavar="COL", help="Column that holds integers only; may be repeated.", show_default=False)
]


@app.command()
@_readable
def explain(
    model: Annotated[Path, typer.Argument(help="Model file of proofwood, or a pickle (with --trust-pickle).")],
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file; columns are matched by name.")],
    row: Annotated[int | None, typer.Option(help="Row to explain; the first is 0.")] = None,
    kind: Annotated[
        cli_explain.Kind,
        typer.Option(help="Why this class, what could change it, the nearest row of another class, or all of both."),
    ] = cli_explain.Kind.ABDUCTIVE,
    smallest: Annotated[bool, typer.Option("--smallest", help="Of the fewest features.")] = False,
    inflate: Annotated[bool, typer.Option("--inflate", help="Widen the values as far as the class allows.")] = False,
    target: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Class to reach, or to rule out; all others by default.")
    ] = None,
    feature_order: Annotated[
        str | None, typer.Option(metavar="COL,COL,...", help="Features to be left out first, if they can.")
    ] = None,
    immutable: Annotated[list[str], typer.Option(metavar="COL", help="Feature that does not change.")] = [],  # noqa: B006
    integer: Integers = [],  # noqa: B006
    drop: Annotated[list[str], typer.Option(metavar="COL", help="Column that is no feature; may be repeated.")] = [],  # noqa: B006
    vote: Votes = cli_explain.Vote.AUTO,
    engine: Annotated[str, typer.Option(help="auto, box, sat, bound, cpsat or smt.")] = "auto",
    time_limit: TimeLimit = "60",
    memory_limit: MemoryLimit = None,
    verify: Annotated[bool, typer.Option("--verify", help="Check the explanation with another engine.")] = False,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save a proof that 'proofwood verify' can check.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Explain every row, in JSON lines to --out; goes on if stopped.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Of --all: where to write.")] = None,
    trust_pickle: TrustPickle = False,
) -> None:
    """Explain what a model predicts for a row of a table, or for all rows: with proof.

    Exit code 1 if --verify does not confirm the explanation.
    """
    from proofwood.explain.explainer import Explainer

    if (row is None) is not every:
        raise DataError("which row? Expected either --row NUMBER, or --all with --out FILE")
    if every is not (out is not None):
        raise DataError("--all and --out FILE belong together")
    if every and (verify or certificate is not None):
        raise DataError("--verify and --certificate are for one --row")
    if every and kind is cli_explain.Kind.ENUMERATION:
        raise DataError("--kind enumeration is for one --row")
    _require_out(out, model, data, option="--out")
    _require_out(certificate, model, data, option="--certificate")
    order = None if feature_order is None else [name.strip() for name in feature_order.split(",")]
    request = cli_explain.Request(kind, smallest, inflate, target, order, tuple(immutable))
    fitted = cli_explain.load_model(model, trust_pickle=trust_pickle)
    rows, names = cli_explain.read_rows(data, fitted, drop)
    converted = cli_explain.convert(fitted, vote=str(vote), feature_names=names, integer=integer)
    explainer = Explainer(converted, engine=engine, time_limit=_seconds(time_limit), memory_limit=_bytes(memory_limit))
    if row is None:
        assert out is not None
        cli_explain.explain_all(explainer, rows, request, out)
    elif not cli_explain.explain_one(explainer, rows, row, request, verify=verify, certificate=certificate):
        raise typer.Exit(1)


@app.command()
@_readable
def verify(
    files: Annotated[list[Path], typer.Argument(help="Certificates that 'explain --certificate' wrote.")],
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Compare with this model, too; else only the file is checked.")
    ] = None,
    integer: Integers = [],  # noqa: B006
    vote: Votes = cli_explain.Vote.AUTO,
    trust_pickle: TrustPickle = False,
) -> None:
    """Check certificates of explanations, without the search that found them.

    Exit code 1 if a check fails. Give --vote and --integer as for 'explain'.
    """
    converted = None
    if model is not None:
        fitted = cli_explain.load_model(model, trust_pickle=trust_pickle)
        converted = cli_explain.convert(fitted, vote=str(vote), integer=integer)
    if not cli_verify.verify_files(files, converted):
        raise typer.Exit(1)


# ------------------------------------------------------------------------------------------------------ learning


def _learn(name: str, settings: dict[str, Any], features: pl.DataFrame, labels: Any, **more: Any) -> Any:
    """The fitted learner, with lines of progress on standard error while it works; ``more`` goes to its ``fit``."""
    entry = learner(name)
    with _progress() as progress:
        fitted = entry.estimator()(callback=progress, **settings).fit(features, labels, **more)
    return fitted.set_params(callback=None)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A live line on a terminal; elsewhere one line per improvement."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from proofwood.estimators.base import Improvements, progress_line

    console = Console(stderr=True)
    if console.is_terminal:
        with Live(Text("searching ..."), console=console, transient=True, auto_refresh=False) as live:

            def renew(event: ProgressEvent) -> None:
                live.update(Text(progress_line(event), no_wrap=True, overflow="ellipsis"), refresh=True)

            yield renew
    else:
        seen = Improvements()

        def line(event: ProgressEvent) -> None:
            if seen.worth_a_line(event):
                typer.echo(progress_line(event), err=True)

        yield line


def _settings_of(name: str, settings: dict[str, Any]) -> dict[str, Any]:
    """``settings``, once it is known that the learner has them all."""
    for option in settings:
        _require_option(name, option, option)
    return settings


def _require_option(name: str, option: str | None, parameter: str) -> None:
    """Refuse ``option``, if one is given, where the learner called ``name`` has no such parameter."""
    if option is None or parameter in learner(name).estimator()().get_params():
        return
    having = [other for other in LEARNERS if parameter in learner(other).estimator()().get_params()]
    shown = option.replace("_", "-")
    raise DataError(f"--{shown} is no option of --model {name}: it belongs to {' and '.join(having)}")


def _require_values(features: pl.DataFrame, *, text: bool, drop: bool = False) -> None:
    """Refuse missing values and infinity before they reach the learner, in the words of the command line.

    Text too, where the learner reads none.
    """
    from proofwood.data.columns import read_columns, require_finite, require_numbers
    from proofwood.data.tables import explain_text_column

    def without(name: str) -> str:
        return f"leave it out with --drop {shlex.quote(name)}" if drop else "correct the file"

    for column in features.get_columns():
        gaps = explain_text_column(column)
        if gaps is not None:
            raise DataError(f"column {column.name!r}: {gaps}: fill them in, drop these rows, or {without(column.name)}")
    columns = read_columns(features)
    if text:
        require_finite(columns.values, columns.names)
    else:
        require_numbers(columns, drop=without)


def _seconds(text: str) -> float | None:
    """``--time-limit`` as the estimators take it."""
    if text.strip().lower() == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise DataError(f"--time-limit {text!r} is no time: expected seconds above 0, or 'none'") from None


def _bytes(text: str | None) -> int | None:
    """``--memory-limit`` as the estimators take it."""
    try:
        return bytes_of(text)
    except ValueError:
        raise DataError(
            f"--memory-limit {text!r} is no amount of memory: expected bytes, or a text such as 4GB or 500MB"
        ) from None


def _gap(text: str) -> float:
    """``--max-gap`` as the estimators take it: an int counts errors, a float is a share."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise DataError(f"--max-gap {text!r} is no gap: expected errors (such as 5), or a share (such as 0.01)")


# ----------------------------------------------------------------------------------------------------- reporting


def _report(model: Any, features: pl.DataFrame, labels: Any, **more: Any) -> None:
    """Print the tree, what it costs, what is proved, and the count that needs no search; ``more``: what it needs."""
    result = model.result_
    recounted = model.recount(features, labels, **more)
    if recounted != result.objective:
        raise AssertionError(f"the model costs {recounted}, but the search reported {result.objective}")
    typer.echo(_tree_text(model, features))
    typer.echo(f"\n{printable(model.summary().splitlines()[0])}\n")
    told = [
        ("status", f"{result.status}: {_meaning(model)}"),
        ("objective", f"{_number(result.objective)} {result.unit}"),
        ("lower bound", _number(result.lower_bound)),
        ("gap", _number(result.gap)),
        *((part.unit, f"{_number(part.objective)}, {_part_meaning(part)}") for part in model._told_parts(result)),
        ("recounted", f"{_number(recounted)}, row by row from the model, without the search"),
    ]
    told += model._facts()
    greedy = _cart_errors(model, features, labels)
    if greedy is not None:
        told.append(("CART", f"{greedy:,} errors at the same depth (scikit-learn, greedy)"))
    effort = [f"{value:,} {name}" for name, value in result.stats.counters.items() if name == "subproblems"]
    told.append(("effort", ", ".join([*effort, f"{result.stats.seconds:.2f} s"])))
    for name, text in told:
        typer.echo(printable(f"{name:<12} {text}"))


def _meaning(model: Any) -> str:
    from proofwood.result import Status

    claim = str(model._claim())
    return {
        Status.OPTIMAL: claim,
        Status.WITHIN_GAP: f"{claim} by more than the gap",
        Status.FEASIBLE: {
            "interrupt": "stopped by Ctrl-C; the best so far",
            "time_limit": "stopped by the time limit; the best so far",
            "memory_limit": "stopped by the memory limit; the best so far",
        }.get(model.result_.stats.stopped_by, "this engine proves no more than the lower bound"),
    }[Status(model.status_)]


def _part_meaning(part: Part) -> str:
    from proofwood.result import Status

    return "proved optimal" if part.status is Status.OPTIMAL else f"lower bound {_number(part.lower_bound)}"


def _cart_errors(model: Any, features: pl.DataFrame, labels: Any) -> int | None:
    """Training errors of scikit-learn's greedy tree under the same limits; None where it has no such tree."""
    from proofwood.estimators.optimal_tree import OptimalTreeClassifier

    if not isinstance(model, OptimalTreeClassifier) or model.max_depth == 0:
        return None
    from sklearn.tree import DecisionTreeClassifier

    cart = DecisionTreeClassifier(max_depth=model.max_depth, min_samples_leaf=model.min_samples_leaf, random_state=0)
    X = features.to_numpy().astype(float)
    return int((cart.fit(X, labels).predict(X) != labels).sum())


def _why(model: Any, features: pl.DataFrame, labels: Any, target: str) -> str:
    """In words, why the model gives a row its class: the first right row among those with the longest path."""
    steps = model.model_.node_depths[model.apply(features)]
    right = model.predict(features) == labels
    row = int((steps * right).argmax())
    said = f"Why row {row} gets its class ({target} in the data: {labels[row]})\n{model.explain(features[row])}"
    return printable(said, keep="\n")


def _tree_text(model: Any, features: pl.DataFrame | None = None) -> str:
    """The tree, with the signs that standard output can show."""
    try:
        "├─└│".encode(sys.stdout.encoding or "ascii")
        plain = False
    except UnicodeEncodeError:
        plain = True
    return str(model.export_text(digits=4, X=features, ascii_only=plain))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.6g}"


def _existing(path: Path) -> Path:
    if path.is_dir():
        raise DataError(f"{path} is a folder: expected a model file")
    if not path.exists():
        raise DataError(f"no file {path}: expected a model file, as 'proofwood fit --out' writes it")
    return path


def _cells(labels: pl.Series, *, safe: bool) -> pl.Series:
    """Text labels as cells of CSV; with ``safe``, none of them is a formula to a spreadsheet, else that is told."""
    import polars as pl

    if labels.dtype != pl.String:
        return labels
    if safe:
        return labels.str.replace(r"^([=+\-@\t\r])", "'${1}")
    odd = labels.filter(labels.str.contains(r"^[=+\-@\t\r].") & labels.cast(pl.Float64, strict=False).is_null())
    if len(odd):
        typer.echo(
            f"proofwood: warning: labels such as {odd[0]!r} may be run as formulas by a spreadsheet: add --safe-cells "
            "if the file is for one",
            err=True,
        )
    return labels


def _column(labels: Any) -> pl.Series:
    """Labels as a column of a table; times in a unit that tables know."""
    import polars as pl

    if labels.dtype.kind in "mM":
        import numpy as np

        unit = np.datetime_data(labels.dtype)[0]
        known = {"Y": "D", "M": "D", "W": "D", "D": "D", "us": "us", "ns": "ns"}.get(unit, "ms")
        if labels.dtype.kind == "m" and known == "D":
            known = "ms"
        times = labels.astype(f"{labels.dtype.kind}8[{known}]")
        if np.array_equal(times.astype(labels.dtype), labels) and unit not in ("ps", "fs", "as"):
            return pl.Series(times)
        return pl.Series(labels.astype(str))
    return pl.Series(labels.tolist())


def _require_out(out: Path | None, *inputs: Path, option: str = "--out") -> None:
    """Refuse a file that could not be written in the end, before the work begins; and one that is read."""
    if out is None:
        return
    for path in inputs:
        if same_file(out, path):
            raise DataError(f"{option} {out} is the file that is read: give another name, so that it is not lost")
    with _writing(out):
        require_writable(out)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Errors of the file system, with the name that the user gave."""
    try:
        yield
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}") from error


def _picture(estimator: Any, format: Format) -> bytes:  # noqa: A002
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise DataError("pictures need matplotlib: pip install 'proofwood[plot]'") from error
    buffer = BytesIO()
    figure = estimator.plot().get_figure()
    figure.savefig(buffer, format=str(format), bbox_inches="tight", dpi=150)
    plt.close(figure)
    return buffer.getvalue()
