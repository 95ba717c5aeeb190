# What the scripts of this folder share; sourced, not run. Sets root, work and PYTHON, and leaves the shell in a copy of
# the tree without standard input.
exec </dev/null

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/proofwood-ci.XXXXXX")
leave() {
  for job in $(jobs -p); do kill "$job" 2>/dev/null || true; done
  rm -rf -- "$work"
}
trap leave EXIT
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PYTHONDONTWRITEBYTECODE=1 MPLBACKEND=Agg
# Tools that build and check are pinned, also in the environments that pip builds in. Newer releases of pip take the
# constraints of the latter from a variable of their own.
export PIP_CONSTRAINT=$root/.ci/tools.txt PIP_BUILD_CONSTRAINT=$root/.ci/tools.txt
export CMAKE_BUILD_PARALLEL_LEVEL="${CMAKE_BUILD_PARALLEL_LEVEL:-2}"

started=$SECONDS
step() { printf '\n==> %s  [%d s]\n' "$1" "$((SECONDS - started))"; }

fits() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
if [[ -z "${PYTHON:-}" ]]; then
  for candidate in python3.11 python3.12 python3.13 python3.14 python3 python; do
    if command -v "$candidate" >/dev/null && fits "$candidate"; then PYTHON=$candidate; break; fi
  done
fi
if [[ -z "${PYTHON:-}" ]] || ! fits "$PYTHON"; then
  echo "$0: no Python >= 3.11 with venv found; set PYTHON to one" >&2
  exit 1
fi
# Older releases have no wheels for newer interpreters.
has_lowest() { "$PYTHON" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; }

# Install into a fresh environment as the README says, with warnings of the compiler as errors.
#   fresh NAME REQUIREMENT   e.g. fresh venv ".[test]"; sets wheel to what pip built from the tree
fresh() {
  "$PYTHON" -m venv "$work/$1"
  mkdir "$work/$1-build"
  # Told to keep its temporary files, pip leaves the wheel there: a second environment needs no second build.
  TMPDIR=$work/$1-build PIP_NO_CLEAN=1 PROOFWOOD_WERROR=ON "$work/$1/bin/pip" install --quiet "$2"
  wheel=$(find "$work/$1-build" -name 'proofwood-*.whl')
  if [[ ! -f "$wheel" ]]; then
    echo "$0: expected one wheel of proofwood among pip's temporary files, found: ${wheel:-none}" >&2
    exit 1
  fi
  "$work/$1/bin/pip" list --format=freeze
}

# The same in an environment of the lowest versions, from that wheel.
#   lowest NAME EXTRAS MORE...   e.g. lowest lowest test, and more arguments of pip
lowest() {
  "$PYTHON" -m venv "$work/$1"
  "$work/$1/bin/pip" install --quiet "proofwood[$2] @ file://$wheel" -c tests/lower-bounds.txt "${@:3}"
  "$work/$1/bin/pip" list --format=freeze
}

# Work on a copy of the tracked files (plus new ones that git does not ignore): what builds here builds from a clone,
# and nothing is left in the tree.
step "copy the tree"
copy=$work/tree
mkdir -p "$copy"
if git -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
  (cd "$root" && git ls-files -z --cached --others --exclude-standard \
    | while IFS= read -r -d '' file; do if [[ -e "$file" ]]; then printf '%s\0' "$file"; fi; done \
    | tar --null -T - -cf -) | tar -C "$copy" -xf -
else
  tar -C "$root" --exclude=.venv --exclude=build --exclude='*.so' -cf - . | tar -C "$copy" -xf -
fi
# Benchmarks and paper tests look for data beside the repository; the copy stands elsewhere.
if [[ -z "${PROOFWOOD_DATA:-}" && -d "$root/../shared/data" ]]; then
  PROOFWOOD_DATA=$(cd "$root/../shared/data" && pwd)
  export PROOFWOOD_DATA
fi
cd "$copy"
