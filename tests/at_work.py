"""Exports run where people work: R, Java, spreadsheets, engines of decision tables; the others are in ``printed``."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest

from proofwood.data.moments import EPOCH
from tests.printed import Rows, as_text

Answers = tuple[list[Any], list[list[float]]]
"""Predictions, labels as text, and the numbers beside them."""


def needs_program(*names: str) -> Any:
    """Mark of tests that run a program of the machine."""
    missing = [name for name in names if shutil.which(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")


def run(command: Sequence[str], folder: Path) -> str:
    """What a program prints, which has to succeed."""
    done = subprocess.run(command, capture_output=True, cwd=folder, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    return done.stdout.decode()


# -------------------------------------------------------------------------------------------------------------- R

_R_MAIN = """\
source("model.R")
source("rows.R")
answers <- predict_ANSWER(frame)
out <- file("answers.txt", open = "wb")
for (answer in answers) {
  bytes <- if (is.double(answer)) charToRaw(sprintf("%a", answer)) else charToRaw(enc2utf8(as.character(answer)))
  writeLines(paste(bytes, collapse = " "), out)
}
close(out)
"""
_R_BESIDE = 'writeLines(sprintf("%a", t(predict_NUMBERS(frame))), "shares.txt")\n'


def by_r(rows: Rows, program: str, folder: Path, *, texts: bool = False) -> Answers:
    """The predictions of functions in R, and the numbers beside them; dates as they are or as text."""
    columns = list(zip(*rows.plain, strict=True)) if rows.plain else []
    plain = [[as_text(value) for value in column] for column in columns] if texts else columns
    names = [column.name for column in rows.columns]
    lines = [f"frame <- data.frame(row.names = seq_len({len(rows.plain)}))"]
    for name, column in zip(names, plain, strict=True):
        lines.append(f"frame[[{_r_text(name)}]] <- {_r_vector(column)}")
    (folder / "model.R").write_text(program, encoding="ascii")
    (folder / "rows.R").write_text("\n".join(lines) + "\n", encoding="ascii")
    answer, numbers = {"proba": ("class", "shares"), "rewards": ("action", "rewards"), "": ("number", "")}[rows.asked]
    main = _R_MAIN.replace("ANSWER", answer) + (_R_BESIDE.replace("NUMBERS", numbers) if numbers else "")
    (folder / "main.R").write_text(main, encoding="ascii")
    run(["Rscript", "--vanilla", "main.R"], folder)
    answers = [bytes.fromhex(line).decode() for line in (folder / "answers.txt").read_text().splitlines()]
    if not rows.labels:
        return [float.fromhex(answer) for answer in answers], []
    shares = [float.fromhex(line) for line in (folder / "shares.txt").read_text().splitlines()]
    n = len(rows.labels)
    return answers, [shares[at : at + n] for at in range(0, len(shares), n)]


def _r_text(text: str) -> str:
    return '"' + "".join(f"\\U{ord(char):08x}" for char in text) + '"' if text else '""'


def _r_vector(column: Sequence[Any]) -> str:
    sample = next((value for value in column if value is not None), None)
    listed = f"c({', '.join('NA' if value is None else _r_value(value) for value in column)})"
    if isinstance(sample, str):
        return f"factor({listed})" if len(set(column)) < 6 else listed
    if isinstance(sample, datetime):
        zone = "UTC" if sample.tzinfo is None else "America/Caracas"
        return f'structure({listed}, class = c("POSIXct", "POSIXt"), tzone = "{zone}")'
    if isinstance(sample, date):
        return f'structure({listed}, class = "Date")'
    return f'as.difftime({listed}, units = "secs")' if isinstance(sample, (time, timedelta)) else listed


def _r_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return _r_text(value)
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return ((aware - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)).hex()
    if isinstance(value, date):
        return f"{(value - date(1970, 1, 1)).days}"
    if isinstance(value, time):
        value = datetime.combine(EPOCH, value) - EPOCH
    return (value / timedelta(seconds=1) if isinstance(value, timedelta) else float(value)).hex()


# ----------------------------------------------------------------------------------------------------------- Java

_JAVA_MAIN = """
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.time.*;
import java.util.*;

public final class Main# {
    private static Object value(String cell) {
        String text = cell.substring(1);
        switch (cell.charAt(0)) {
            case 'b': return Boolean.valueOf(text);
            case 'i': return Long.valueOf(text);
            case 'd': return Double.valueOf(text);
            case 'D': return LocalDate.parse(text);
            case 'M': return LocalDateTime.parse(text);
            case 'Z': return OffsetDateTime.parse(text);
            case 'T': return LocalTime.parse(text);
            case 'P': return Duration.ofNanos(Long.parseLong(text) * 1000);
            case 's': return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
            default: return null;
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<String> lines = Files.readAllLines(Paths.get("rows#.tsv"));
        String[] names = lines.get(0).split("\\t", -1);
        StringBuilder out = new StringBuilder();
        for (String line : lines.subList(1, lines.size())) {
            String[] cells = line.split("\\t", -1);
            ROW
            for (int i = 0; i < cells.length; i++) PUT;
            String answer = String.valueOf(Model#.predict(row));
            out.append(Base64.getEncoder().encodeToString(answer.getBytes(StandardCharsets.UTF_8)));
            for (double share : BESIDE) out.append(' ').append(share);
            out.append('\\n');
        }
        Files.write(Paths.get("answers#.txt"), out.toString().getBytes(StandardCharsets.US_ASCII));
    }
}
"""
_JAVA_ALL = """
public final class All {
    public static void main(String[] arguments) throws Exception {
        CALLS
    }
}
"""
_BY_NAME = ("Map<String, Object> row = new HashMap<>();", "row.put((String) value(names[i]), value(cells[i]))")
_BY_PLACE = ("List<Object> row = new ArrayList<>();", "row.add(value(cells[i]))")


def by_java(cases: Sequence[tuple[Rows, bool]], folder: Path) -> list[Answers]:
    """The predictions of classes of Java, and the numbers beside them; dates as they are or, where told, as text.

    One compiler and one machine run all of them: each takes a second or two to start.
    """
    for number, (rows, texts) in enumerate(cases):
        _write_java(rows, number, folder, texts=texts)
    calls = "".join(f"Main{number}.main(arguments);" for number in range(len(cases)))
    (folder / "All.java").write_text(_JAVA_ALL.replace("CALLS", calls), encoding="ascii")
    run(["javac", "-Xlint:all", "-Werror", *sorted(path.name for path in folder.glob("*.java"))], folder)
    run(["java", "-cp", ".", "All"], folder)
    return [_java_answers(rows, folder / f"answers{number}.txt") for number, (rows, _) in enumerate(cases)]


def _write_java(rows: Rows, number: int, folder: Path, *, texts: bool) -> None:
    (folder / f"Model{number}.java").write_text(rows.model.to_java(f"Model{number}"), encoding="ascii")
    made, put = _BY_NAME if hasattr(rows.model, "feature_names_in_") else _BY_PLACE
    beside = f"Model#.predict{rows.asked.title()}(row)" if rows.asked else "new double[0]"
    main = _JAVA_MAIN.replace("ROW", made, 1).replace("PUT", put, 1).replace("BESIDE", beside, 1)
    (folder / f"Main{number}.java").write_text(main.replace("#", str(number)), encoding="ascii")
    plain = [[as_text(value) for value in row] for row in rows.plain] if texts else rows.plain
    table = [[column.name for column in rows.columns], *plain]
    (folder / f"rows{number}.tsv").write_text("\n".join("\t".join(map(_cell, row)) for row in table) + "\n")


def _java_answers(rows: Rows, path: Path) -> Answers:
    answers, shares = [], []
    for line in path.read_text(encoding="ascii").splitlines():
        answer, _, rest = line.partition(" ")
        answers.append(base64.b64decode(answer).decode())
        shares.append([float(share) for share in rest.split()])
    return (answers, shares) if rows.labels else ([float(answer) for answer in answers], [])


def _cell(value: Any) -> str:
    if value is None:
        return "n"
    if isinstance(value, bool):
        return f"b{value}"
    if isinstance(value, (int, float)):
        return f"{type(value).__name__[:1].replace('f', 'd')}{value!r}"
    if isinstance(value, datetime):
        return f"{'M' if value.tzinfo is None else 'Z'}{value.isoformat()}"
    if isinstance(value, (date, time)):
        return f"{'D' if isinstance(value, date) else 'T'}{value.isoformat()}"
    if isinstance(value, timedelta):
        return f"P{value // timedelta(microseconds=1)}"
    return "s" + base64.b64encode(value.encode()).decode()


# ---------------------------------------------------------------------------------------------------- spreadsheets

_RECALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""


def by_workbook(rows: Rows, made: bytes, folder: Path) -> list[Any]:
    """The predictions of a workbook after its rows are typed in, recalculated by LibreOffice."""
    from openpyxl import load_workbook

    (folder / "empty.xlsx").write_bytes(made)
    book = load_workbook(folder / "empty.xlsx")
    sheet = book["predict"]
    names = [str(cell.value) for cell in sheet[1]][:-1]
    places = {column.name: j for j, column in enumerate(rows.columns)}
    for at, row in enumerate(rows.plain):
        for column, name in enumerate(names):
            _type_in(sheet.cell(at + 2, column + 1), row[places[name]])
    book.save(folder / "rows.xlsx")
    return calculated(folder, "rows.xlsx", len(names), len(rows.plain))


def by_formula(rows: Rows, formula: str, folder: Path) -> list[Any]:
    """The predictions of a formula for one cell, copied down beside the columns of the rows, by LibreOffice."""
    from openpyxl import Workbook
    from openpyxl.formula.translate import Translator
    from openpyxl.utils import get_column_letter

    book = Workbook()
    sheet, n = book.active, len(rows.columns)
    for at, row in enumerate(rows.plain):
        for column, value in enumerate(row):
            _type_in(sheet.cell(at + 2, column + 1), value)
        copied = Translator(formula, origin=f"{get_column_letter(n + 1)}2")
        sheet.cell(at + 2, n + 1).value = copied.translate_formula(row_delta=at, col_delta=0)
    book.save(folder / "formula.xlsx")
    return calculated(folder, "formula.xlsx", n, len(rows.plain))


def _type_in(cell: Any, value: Any) -> None:
    cell.value = value
    if isinstance(value, str):
        cell.data_type = "s"  # also of a text that begins with =


def calculated(folder: Path, name: str, column: int, n_rows: int) -> list[Any]:
    """The values of a column of the first sheet, below its header, after LibreOffice calculated all formulas."""
    from openpyxl import load_workbook
    from openpyxl.utils.escape import unescape

    profile = folder / "profile"
    (profile / "user").mkdir(parents=True, exist_ok=True)
    (profile / "user" / "registrymodifications.xcu").write_text(_RECALCULATE)
    command = ["soffice", f"-env:UserInstallation={profile.as_uri()}", "--headless", "--convert-to", "xlsx"]
    run([*command, "--outdir", "out", name], folder)
    sheet = load_workbook(folder / "out" / name, data_only=True).worksheets[0]
    found = [sheet.cell(at + 2, column + 1).value for at in range(n_rows)]
    return [unescape(value) if isinstance(value, str) else value for value in found]


# -------------------------------------------------------------------------------------------------- decision tables

_FEEL_MAIN = """
const { DmnModdle } = require("dmn-moddle"), feel = require("feelin"), fs = require("fs");
const rows = JSON.parse(fs.readFileSync("rows.json"));
const moments = { D: feel.date, M: feel.dateAndTime, Z: feel.dateAndTime, T: feel.time, P: feel.duration };
const read = (value) => Array.isArray(value) ? moments[value[0]](value[1]) : value;
const answer = (result) => {
  if (result.warnings.length) throw new Error(JSON.stringify(result.warnings));
  return result.value;
};
(async () => {
  const made = await new DmnModdle().fromXML(fs.readFileSync("model.dmn", "utf8"));
  if (made.warnings.length) throw new Error(JSON.stringify(made.warnings));
  const decision = made.rootElement.drgElement.find((one) => one.$type === "dmn:Decision");
  const names = new Map(made.rootElement.drgElement.filter((one) => one.$type === "dmn:InputData")
    .map((one) => [one.description, one.variable.name]));
  const table = decision.decisionLogic;
  const found = rows.map((row) => {
    const context = Object.fromEntries([...names].map(([own, name]) => [name, read(row[own])]));
    const values = (table.input || []).map((one) => feel.evaluate(one.inputExpression.text, context).value);
    const held = table.rule.filter((rule) => (rule.inputEntry || []).every(
      (entry, i) => answer(feel.unaryTest(entry.text, { ...context, "?": values[i] })) === true));
    return held.map((rule) => answer(feel.evaluate(rule.outputEntry[0].text, {})));
  });
  fs.writeFileSync("answers.json", JSON.stringify(found));
})().catch((error) => { console.error(error); process.exit(1); });
"""


def needs_feel() -> Any:
    """Mark of tests that evaluate FEEL in Node.js."""
    node = shutil.which("node")
    found = (
        node and subprocess.run([node, "-e", "require('feelin');require('dmn-moddle')"], capture_output=True).returncode
    )
    reason = "node with the packages feelin and dmn-moddle of npm (NODE_PATH) is not installed"
    return pytest.mark.skipif(found != 0, reason=reason)


def by_dmn(rows: Rows, document: str, folder: Path) -> list[list[Any]]:
    """The outputs of the rules of a decision table that hold of each row; tests and outputs are evaluated by feelin."""
    (folder / "model.dmn").write_text(document, encoding="utf-8")
    names = [column.name for column in rows.columns]
    given = [dict(zip(names, map(_feel, row), strict=True)) for row in rows.plain]
    (folder / "rows.json").write_text(json.dumps(given))
    (folder / "main.cjs").write_text(_FEEL_MAIN)
    run(["node", "main.cjs"], folder)
    return json.loads((folder / "answers.json").read_text())


def _feel(value: Any) -> Any:
    """A value as JSON; dates and times as their kind and text."""
    if isinstance(value, timedelta):
        return ["P", f"PT{value / timedelta(seconds=1):.6f}S"]
    if isinstance(value, datetime):
        return ["M" if value.tzinfo is None else "Z", value.isoformat()]
    return ["D" if isinstance(value, date) else "T", value.isoformat()] if isinstance(value, (date, time)) else value
