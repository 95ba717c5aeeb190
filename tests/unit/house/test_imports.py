"""Where imports stand: at the top, but for packages that are optional or slow to load, each for its reason."""

import ast
from pathlib import Path

import proofwood

ROOT = Path(proofwood.__file__).parent
SLOW = {"sklearn", "scipy", "polars", "matplotlib", "rich", "joblib", "importlib", "concurrent", "narwhals"}
OPTIONAL = {
    "fastexcel", "pandas", "xgboost", "lightgbm", "catboost", "distributed", "onnx", "onnxruntime", "google",
    "duckdb", "yaml", "zstandard",
}  # fmt: skip
ONLY_SOME_SYSTEMS = {"fcntl", "msvcrt", "resource"}
COMMANDS = "cli"  # its functions import what they use: --help answers at once


def inner_imports(path: Path) -> list[tuple[int, str]]:
    """Line and module of the imports inside functions."""
    found = []
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    found += [(node.lineno, alias.name) for alias in node.names]
                elif isinstance(node, ast.ImportFrom):
                    found.append((node.lineno, node.module or ""))
    return found


def test_imports_inside_functions_have_a_reason() -> None:
    allowed = SLOW | OPTIONAL | ONLY_SOME_SYSTEMS
    looked, without = 0, []
    for path in ROOT.rglob("*.py"):
        if path.is_relative_to(ROOT / COMMANDS):
            continue
        lines = path.read_text().splitlines()
        for line, module in inner_imports(path):
            looked += 1
            before = "\n".join(lines[max(0, line - 3) : line])
            if module.split(".")[0] not in allowed and "start-up time" not in before.lower():
                without.append(f"{path.relative_to(ROOT)}:{line}: {module}")
    assert looked > 20
    assert not without, "imports inside functions without a reason (a comment that names the start-up time)"


BY_NAME = {"__init__.py", "cli/__init__.py", "show/__init__.py", "estimators/registry.py"}
"""Files with lists of names that are imported when they are first used: their own, or of rooms below."""


def test_own_modules_are_imported_by_a_string_from_lists_alone() -> None:
    """Else the contracts would not see such an import, nor a circle that it closes."""
    found = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                text = ast.unparse(node.args[0])
                if "proofwood" in text or not isinstance(node.args[0], ast.Constant):
                    found.add(path.relative_to(ROOT).as_posix())
    assert found - BY_NAME == {"ensembles/readers/native_files.py"}  # of libraries that wrote a file
    assert found >= BY_NAME
