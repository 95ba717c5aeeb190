"""The command ``proofwood fit``: learn a provably optimal model from a table, and print it with its proof."""

# Imports inside functions are of modules that load numpy and polars, so that --help starts at once.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from proofwood.cli.answers import TEXT, AsJson, nullable, print_answer, register
from proofwood.cli.choosing import SIZE, choose_size, require_scoring, size_answer
from proofwood.cli.completion import learners
from proofwood.cli.corrections import one_of
from proofwood.cli.errors import INTERRUPTED, NO_ANSWER, WRONG_INPUT, fail
from proofwood.cli.files import require_out, say_saved, writing
from proofwood.cli.labelled import require_apart, with_target
from proofwood.cli.learners import OPTIONS, chosen, settings_from_table, settings_of
from proofwood.cli.learners.assembled import LearnersCommand, with_learner_options
from proofwood.cli.learners.option import Predicts
from proofwood.cli.learning import learn
from proofwood.cli.options import (
    TABLE_HELP,
    Bands,
    ByLeaves,
    Card,
    Categorical,
    ClassWeights,
    Drop,
    DropMissingTarget,
    Groups,
    Jobs,
    Language,
    MemoryLimit,
    Missing,
    NearOptimal,
    Scoring,
    Sheet,
    Targets,
    TimeLimit,
    WrittenAs,
    amount_of_memory,
    bands_asked,
    missing_values,
    seconds,
    slack_asked,
    written_as,
)
from proofwood.cli.pictures import Plot, require_picture, save_picture
from proofwood.cli.report import FITTED, fitted_answer, print_report
from proofwood.cli.targets import Target, learner_meant, read_target
from proofwood.cli.weights import as_settings, class_weight
from proofwood.estimators.registry import LEARNERS, learner
from proofwood.exceptions import DataError
from proofwood.files import require_page
from proofwood.hints import parameter
from proofwood.language import ENGLISH, require_language

EXAMPLES = """
proofwood data iris --out iris.csv
proofwood fit iris.csv --target species --max-depth 2 --out tree.json --plot tree.pdf
proofwood fit iris.csv --target species --cv 5 --out tree.json
proofwood fit iris.csv --target species --model minimal --minimize nodes
proofwood fit iris.csv --target species --model bdd --max-features 3 --time-limit 10
proofwood fit iris.csv --target species --model diagram --widths 1,2 --alpha 0.02 --time-limit 10
proofwood fit iris.csv --target species --class-weight virginica=2 --json
proofwood fit iris.csv --target "petal length (cm)" --max-depth 2 --out lengths.json
"""
CLASS = LearnersCommand
UNSEEN = ("majority", "error")
THRESHOLD_RULES = ("shortest", "midpoint")

register(
    "fit",
    "A model, its proof, and facts about the training rows.",
    {
        **FITTED,
        "cross_validation": SIZE,
        "saved": nullable(TEXT, "the model file"),
        "plot": nullable(TEXT, "the file with the picture"),
        "report": nullable(TEXT, "the file with the report"),
    },
)


@with_learner_options
def fit(
    data: Annotated[Path, typer.Argument(help=f"{TABLE_HELP}, with a header.")],
    target: Targets,
    # Eager, so that a later --help can use its value.
    model: Annotated[
        str | None,
        typer.Option(
            is_eager=True,
            help=f"What to learn: {', '.join(LEARNERS)}; by default a tree, of numbers (regressor) if the target holds "
            "numbers, of actions (policy) if there are several targets.",
            autocompletion=learners,
        ),
    ] = None,
    time_limit: TimeLimit = "60",
    memory_limit: MemoryLimit = None,
    n_jobs: Jobs = 1,
    drop: Drop = [],  # noqa: B006 - typer copies it
    categorical: Categorical = [],  # noqa: B006 - typer copies it
    missing: Missing = [],  # noqa: B006 - typer copies it
    written: WrittenAs = [],  # noqa: B006 - typer copies it
    bands: Bands = None,
    drop_missing: DropMissingTarget = False,
    class_weights: ClassWeights = [],  # noqa: B006 - typer copies it
    unseen: Annotated[
        str,
        typer.Option(
            help="How to predict rows with unknown levels: majority (the side of most training rows) or error.",
            autocompletion=lambda: list(UNSEEN),
        ),
    ] = "majority",
    threshold_rule: Annotated[
        str,
        typer.Option(
            help="Threshold between two values: shortest (the number of fewest digits) or midpoint.",
            autocompletion=lambda: list(THRESHOLD_RULES),
        ),
    ] = "shortest",
    scoring: Scoring = None,
    groups: Groups = None,
    sheet: Sheet = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the model here (JSON).")] = None,
    plot: Plot = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write a report here (HTML), with the proof of this run."),
    ] = None,
    card: Card = None,
    near: NearOptimal = None,
    by_leaves: ByLeaves = None,
    language: Language = ENGLISH,
    as_json: AsJson = False,
    **own: Any,
) -> None:
    """Learn a provably optimal model from a table; print its proof.

    Each model has further options; 'fit --model diagram --help' lists those of one model.
    """
    from proofwood.data.tables import drop_columns, read_cells, require_columns
    from proofwood.estimators.parameters import need_folds

    require_out(out, data)
    require_out(plot, data, option="--plot")
    require_picture(plot)
    parts: dict[str, Any] = {"near_optimal": slack_asked(near), "by_leaves": by_leaves}
    told = _asked_of_report(report, data, card, language, parts)
    given = chosen(own)
    model = learner_meant(model, target, given, {"--bands": bands, "--class-weight": class_weights})
    require_scoring(scoring, of_times=model is not None and OPTIONS[model].predicts is Predicts.TIMES)
    need_folds(given.get("cv"), scoring=scoring, groups=groups)
    _require_checkpoint(given, data, (out, "--out"), (plot, "--plot"), (report, "--report"))
    if model is not None:  # a mistake is told before the table is read
        settings_of(model, given)
    settings: dict[str, Any] = {
        "time_limit": seconds(time_limit),
        "memory_limit": amount_of_memory(memory_limit),
        "n_jobs": n_jobs,
        "unseen": one_of(unseen, UNSEEN, parameter("unseen", unseen)),
        "threshold_rule": one_of(threshold_rule, THRESHOLD_RULES, parameter("threshold_rule", threshold_rule)),
    }
    cells = read_cells(data, sheet=sheet)
    table = (with_target(cells, *target) if drop_missing else cells).frame
    require_columns(table.columns, [*target, *drop, *categorical, *([] if groups is None else [groups])])
    require_apart(target, drop, groups)
    aim = read_target(table, target, model)
    model, features, labels = aim.model, aim.features, aim.values
    named, of_classes, of_rows = _of_classes(aim, bands, class_weights)
    more = settings_from_table(model, given, features, named)
    drop = [
        *drop,
        *([groups] if groups is not None and groups not in drop else []),
        *(column for column in more.drop if column not in drop),
    ]
    require_apart(target, drop, None)  # a learner that drops columns of its own
    features = drop_columns(features, drop)
    require_columns(features.columns, categorical)
    if told is not None:  # before the search, which a mistake in the card should not cost
        told.checked(sorted({str(label) for label in named}), features.columns)
    settings |= {
        **settings_of(model, given),
        "categorical_features": categorical or None,
        "missing_values": missing_values(missing, features.columns),
        "written_as": written_as(written, features.columns),
        **of_classes,
        **more.settings,
    }
    given_rows = {**more.fit, **of_rows}
    folds = settings.pop("cv", None)
    if folds is None:
        _require_parts(model, settings, parts)
        fitted = learn(model, settings, features, labels, **given_rows)
    else:
        of_folds = {} if groups is None else {"groups": table.get_column(groups).to_numpy()}
        fitted = choose_size(model, folds, {**settings, "scoring": scoring}, features, labels, **given_rows, **of_folds)
    tree = fitted if folds is None else fitted.best_estimator_
    for model_of_file in {id(fitted): fitted, id(tree): tree}.values():
        model_of_file.hints_ = (*cells.hints, *model_of_file.hints_)
    if len(target) == 1:
        tree.target_name_ = target[0]  # the labels of a file are an array, which has no name
    if out is not None:
        # Save before printing, so that the model is not lost if the pipe is closed.
        with writing(out):
            fitted.save(out)
    without: tuple[str, int] | None = None
    try:
        if plot is not None:
            save_picture(fitted.plot, plot)
        if report is not None:
            from proofwood.report import write_report

            parts, without = _parts(tree, features, labels, parts, given_rows.get("sample_weight"))
            with writing(report):
                write_report(
                    tree,
                    report,
                    features,
                    labels,
                    card=told,
                    source=data,
                    language=language,
                    **parts,
                    **given_rows,
                )
    except BaseException:  # what was learned is told in any case
        if not as_json:
            _print(fitted, features, labels, [out], **given_rows)
        raise
    if as_json:
        scores = None if folds is None else size_answer(fitted)
        print_answer(
            "fit",
            **fitted_answer(tree, features, labels, **given_rows),
            cross_validation=scores,
            saved=out,
            plot=plot,
            report=report,
        )
    else:
        _print(fitted, features, labels, [out, plot, report], **given_rows)
    if without is not None:
        fail(*without)


def _print(fitted: Any, features: Any, labels: Any, saved: Sequence[Path | None], **given_rows: Any) -> None:
    """Print the model with its proof, and the files that were written; the first is that of the model."""
    print_report(fitted, features, labels, **given_rows)
    for place, path in enumerate(saved):
        if path is not None:
            say_saved(path, "" if place else "\n")


def _of_classes(aim: Target, bands: str | None, class_weights: list[str]) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The classes of the rows, parameters of the learner and arguments of its fit; all empty if it has no classes."""
    if aim.predicts is not Predicts.CLASSES:
        return (), {}, {}
    from proofwood.data.targets import banded

    asked = bands_asked(bands)
    named = banded(aim.values, asked)[0]
    weight = class_weight(class_weights, sorted(set(named.tolist())))
    weights, of_rows = as_settings(learner(aim.model).estimator(), weight, named)
    return named, {"bands": asked, **weights}, of_rows


def _asked_of_report(
    report: Path | None, data: Path, card: Path | None, language: str, parts: Mapping[str, Any]
) -> Any:
    """What people say of the model; what a report needs is checked before the search, which a mistake would cost."""
    require_out(report, data, *([] if card is None else [card]), option="--report")
    require_language(language)
    if report is None:
        asked = {"card": card, "language": None if language == ENGLISH else language, **parts}
        for name, given in asked.items():
            if given is not None:
                raise DataError(f"--{name.replace('_', '-')} needs --report FILE, which shows it")
        return None
    require_page(report)
    if card is None:
        return None
    from proofwood.report.card import Card

    return Card.of(card)


def _parts(
    tree: Any, features: Any, labels: Any, asked: Mapping[str, Any], sample_weight: Any
) -> tuple[dict[str, Any], tuple[str, int] | None]:
    """The parts of the report that are found, and if one is not, a message and an exit code.

    What other trees do is known after a second search only, and so is whether it fits the model.
    """
    from proofwood.report.write import near_part, path_part

    found: dict[str, Any] = {}
    missing, code = [], 0
    for name, part in (("near_optimal", near_part), ("by_leaves", path_part)):
        try:
            found[name] = part(tree, features, labels, asked[name], sample_weight)
        except KeyboardInterrupt:
            missing.append(f"{parameter(name)}: Ctrl-C ended its search")
            code = INTERRUPTED
        except (ValueError, OverflowError, TimeoutError, MemoryError) as error:
            missing.append(f"{parameter(name)}: {error}")
            code = NO_ANSWER if isinstance(error, TimeoutError | MemoryError) else WRONG_INPUT
    return found, (f"the report is written without {'; without '.join(missing)}", code) if missing else None


def _require_parts(model: str, settings: Mapping[str, Any], parts: Mapping[str, Any]) -> None:
    """Raise ValueError, before the search, if a report cannot have a part that is asked for with these parameters."""
    if parts["near_optimal"] is not None:
        from proofwood.near_optimal.of_tree import require_counted

        require_counted(learner(model).estimator()(**settings))
    if parts["by_leaves"] is not None:
        from proofwood.estimators.path_of_tree import require_path

        require_path(learner(model).estimator()(**settings), parts["by_leaves"])


def _require_checkpoint(given: Mapping[str, Any], data: Path, *others: tuple[Path | None, str]) -> None:
    """Raise an error if the checkpoint cannot be written, is another output file too, or would be for many fits."""
    checkpoint = given.get("checkpoint")
    if checkpoint is None:
        return
    require_out(Path(checkpoint), data, option="--checkpoint")
    if "cv" in given:
        raise DataError("--checkpoint is for one fit, but --cv makes many on other rows: leave out one of them")
    for path, option in others:
        if path is not None and path.resolve() == Path(checkpoint).resolve():
            raise DataError(f"{option} and --checkpoint are the same file, {path}: pass different names")
