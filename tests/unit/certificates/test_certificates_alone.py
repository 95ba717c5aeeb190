"""The check of certificates runs by NumPy and the standard library alone, and loads nothing of what makes them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from proofwood import Explainer

ALONE = """
import sys
from importlib.abc import MetaPathFinder


class Nothing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        room = name.split(".")[0]
        if room in ("numpy", "_distutils_hack") or room in sys.stdlib_module_names:
            return None
        if name == "proofwood" or name.startswith(("proofwood.certificates", "proofwood.files")):
            return None
        raise ImportError(f"{name} is not here")


sys.meta_path.insert(0, Nothing())
from proofwood.certificates.check import check_certificate

for path in sys.argv[1:]:
    print(all(one.passed for one in check_certificate(path)))
loaded = {name.split(".")[0] for name in sys.modules}
assert not loaded & {"sklearn", "scipy", "pysat", "polars", "pandas"}, loaded
assert "proofwood._native" not in sys.modules
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A certificate of each kind that an explanation has."""
    X, y = load_iris(return_X_y=True)
    folder = tmp_path_factory.mktemp("certificates")
    explainer = Explainer(RandomForestClassifier(5, random_state=0).fit(X, y), X=X)
    row = X[60:61]
    made = {
        "abductive": explainer.abductive(row, certificate=True),
        "smallest": explainer.abductive(row, smallest=True, certificate=True),
        "contrastive": explainer.contrastive(row, certificate=True),
        "l1": explainer.counterfactual(row, certificate=True),
        "linf": explainer.robustness(row, certificate=True),
    }
    for name, found in made.items():
        (folder / f"{name}.json").write_text(json.dumps(found.certificate), encoding="utf-8")
    return sorted(folder.glob("*.json"))


def test_files_are_checked_where_nothing_else_is_installed(files: list[Path]) -> None:
    ran = subprocess.run([sys.executable, "-c", ALONE, *files], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["True"] * 5


def test_a_changed_file_is_refused_there(files: list[Path], tmp_path: Path) -> None:
    content = json.loads(files[0].read_text(encoding="utf-8"))
    content["label"] = (content["label"] + 1) % 3
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(content), encoding="utf-8")
    ran = subprocess.run([sys.executable, "-c", ALONE, changed], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["False"]
