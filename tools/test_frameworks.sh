#!/usr/bin/env bash
# Record fresh profiles with the frameworks themselves; "make test-frameworks".
#
#   tools/test_frameworks.sh
#
# Makes a virtual environment in build/venv-frameworks, installs onnxruntime,
# onnx and numpy there (torch too, when NEUROLENS_WITH_TORCH=1: gigabytes),
# and runs the tests/fixtures/record_*.py scripts into build/frameworks.  Then
# the newest public JSON Schema validator checks the run documents.
# Needs the network the first time.  Nothing outside build/ is written.
#
#   PYTHON                 the interpreter to make the environment with
#   NEUROLENS_WITH_TORCH   1: install torch and record with it too
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
python=${PYTHON:-python3}
with_torch=${NEUROLENS_WITH_TORCH:-0}
venv=build/venv-frameworks
out=build/frameworks
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf 'test-frameworks: %s\n' "$*"; }

# have MODULE...: can the environment import all of them?
have() {
    local m
    for m in "$@"; do
        "$venv/bin/python" -c "import $m" >/dev/null 2>&1 || return 1
    done
}

command -v "$python" >/dev/null || { say "no $python; set PYTHON" >&2; exit 1; }

if [ -x "$venv/bin/python" ]; then
    say "using $venv"
else
    say "making $venv with $("$python" --version)"
    mkdir -p build
    "$python" -m venv "$venv"
fi

if have numpy onnx onnxruntime; then
    say "numpy, onnx and onnxruntime are installed"
else
    say "installing numpy, onnx and onnxruntime"
    "$venv/bin/python" -m pip install --quiet numpy onnx onnxruntime
fi

if have jsonschema; then
    say "jsonschema is installed"
else
    say "installing jsonschema"
    "$venv/bin/python" -m pip install --quiet jsonschema
fi

if [ "$with_torch" = 1 ]; then
    if have torch; then
        say "torch is installed"
    else
        say "installing torch (large)"
        "$venv/bin/python" -m pip install --quiet torch
    fi
else
    say "leaving torch out; NEUROLENS_WITH_TORCH=1 puts it in"
fi

"$venv/bin/python" -m pip list --format=freeze |
    { grep -Ei '^(numpy|onnx|onnxruntime|torch)==' || true; } |
    while read -r line; do say "  $line"; done

mkdir -p "$out"
say "recording with onnxruntime into $out"
"$venv/bin/python" tests/fixtures/record_ort.py --out "$out"
if [ "$with_torch" = 1 ]; then
    say "recording with torch into $out"
    "$venv/bin/python" tests/fixtures/record_torch.py --out "$out"
fi

say "recorded:"
ls -l "$out"

if [ -x build/neurolens ]; then
    say "run documents under jsonschema $("$venv/bin/python" -c 'import importlib.metadata as m; print(m.version("jsonschema"))')"
    "$venv/bin/python" tests/oracle/rundoc.py
else
    say "build/neurolens is missing: run documents are not checked"
fi
