#!/usr/bin/env bash
# Record fresh profiles with the frameworks themselves; "make test-frameworks".
#
#   tools/test_frameworks.sh
#
# Makes a virtual environment in build/venv-frameworks, installs onnxruntime,
# onnx and numpy there (torch too, when NEUROLENS_WITH_TORCH=1: gigabytes),
# and runs the tests/fixtures/record_*.py scripts into build/frameworks.  Then
# the newest public JSON Schema validator checks the run documents, and
# tests/profile.py runs models under several releases of ONNX Runtime, which
# are put into build/onnxruntime (from npm where the wheels hold no library);
# tests/profile_oracle.py compares the times with those that the Python
# packages of these releases (build/onnxruntime-python) tell: 10 to 30 minutes.
# Needs the network the first time.  Nothing outside build/ is written.
#
#   PYTHON                 the interpreter to make the environment with
#   PYTHONS                more of them, for old packages (default: python3.10
#                          python3.9, where they are)
#   NEUROLENS_WITH_TORCH   1: install torch and record with it too
#   NEUROLENS_WITH_KERAS   1: install keras and jax, for tests/python/run.py
#   NEUROLENS_WITH_TENSORFLOW  1: install tensorflow and keras into an
#                          environment of their own, for the same
#   NEUROLENS_WITH_INTEGRATIONS  1: install what nlens works inside of (torch,
#                          lightning, transformers, keras, pytest, mlflow …)
#                          into an environment of its own, for
#                          tests/integrations.py
#   NEUROLENS_WITH_SKLEARN 1: install scikit-learn, for make bench-overhead
#   NEUROLENS_WITH_TRACELENS  what pip installs AMD's TraceLens from, such as
#                          git+https://github.com/AMD-AGI/TraceLens (the
#                          package of that name on PyPI is another one): its
#                          answers for samples are compared with ours
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

if [ "${NEUROLENS_WITH_SKLEARN:-0}" = 1 ] && ! have sklearn; then
    say "installing scikit-learn"
    "$venv/bin/python" -m pip install --quiet scikit-learn
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

if [ "${NEUROLENS_WITH_KERAS:-0}" = 1 ] && ! have keras jax; then
    say "installing keras and jax"
    "$venv/bin/python" -m pip install --quiet keras jax
fi

"$venv/bin/python" -m pip list --format=freeze |
    { grep -Ei '^(numpy|onnx|onnxruntime|torch|keras|jax)==' || true; } |
    while read -r line; do say "  $line"; done

mkdir -p "$out"
say "recording with onnxruntime into $out"
"$venv/bin/python" tests/fixtures/record_ort.py --out "$out"
if [ "$with_torch" = 1 ]; then
    say "recording with torch into $out"
    "$venv/bin/python" tests/fixtures/record_torch.py --out "$out"
fi

if have jax; then
    say "recording with jax into $out"
    "$venv/bin/python" tests/fixtures/record_jax.py --out "$out"
fi

# tracelens FROM: its reports for some samples of torch, into build/tracelens.
tracelens() {
    local samples=${NEUROLENS_SHARED:-../shared}/samples/torch answers=build/tracelens file
    if [ ! -x "$venv/bin/TraceLens_generate_perf_report_pytorch" ]; then
        say "installing TraceLens from $1"
        "$venv/bin/python" -m pip install --quiet "$1"
    fi
    rm -rf "$answers"
    for file in "$samples"/AMD-AGI+TraceLens/tests/traces/torch_compile_triton/*.json.gz \
        "$samples"/harryjmoss+particle_transformer/*.json \
        "$samples"/sidnb13+torch-profiling-tutorial/log/transformer/*.json; do
        [ -e "$file" ] || continue
        local into
        into=$answers/$(basename "$file")
        mkdir -p "$into"
        "$venv/bin/TraceLens_generate_perf_report_pytorch" --profile_json_path "$file" \
            --output_csvs_dir "$into" >/dev/null
        printf '%s\n' "$(realpath "$file")" >"$into/trace.txt"
    done
    python3 tests/oracle/tracelens.py build/neurolens "$answers"
}
if [ -n "${NEUROLENS_WITH_TRACELENS:-}" ]; then
    tracelens "$NEUROLENS_WITH_TRACELENS"
fi

say "recorded:"
ls -l "$out"

# wheel VERSION: the library of a Python wheel (1.19 and newer have one of their own)
wheel() {
    [ ! -e "build/onnxruntime/$1" ] || return 0
    "$venv/bin/python" -m pip install --quiet --no-deps --target "build/onnxruntime/$1.part" "onnxruntime==$1"
    mv "build/onnxruntime/$1.part" "build/onnxruntime/$1"
}

# npm_package VERSION: the library of the npm package (needs npm)
npm_package() {
    [ ! -e "build/onnxruntime/$1" ] || return 0
    local machine=x64
    [ "$(uname -m)" != aarch64 ] || machine=arm64
    mkdir -p "build/onnxruntime/$1.part"
    (cd "build/onnxruntime/$1.part" && npm pack --silent "onnxruntime-node@$1" >/dev/null &&
        tar -xzf ./*.tgz --wildcards "*/linux/$machine/libonnxruntime.so*" && rm ./*.tgz)
    mv "build/onnxruntime/$1.part" "build/onnxruntime/$1"
}

# package VERSION: the Python package with all it needs, by the first interpreter that it is made for
package() {
    local into=build/onnxruntime-python/$1 numpy=numpy each
    [ ! -e "$into" ] || return 0
    case $1 in 1.1[4-8].*) numpy='numpy<2' ;; esac
    for each in "$python" ${PYTHONS-python3.10 python3.9 "$HOME"/.pyenv/versions/3.10.*/bin/python}; do
        rm -rf "$into.part"
        if "$each" -m venv "$into.part" 2>/dev/null && "$into.part/bin/python" -m pip install --quiet \
            --only-binary :all: "onnxruntime==$1" "$numpy" 2>/dev/null; then
            mv "$into.part" "$into"
            return 0
        fi
    done
    rm -rf "$into.part"
    say "no interpreter here has a package of onnxruntime $1; PYTHONS names more" >&2
}

newest=$("$venv/bin/python" -c 'import onnxruntime; print(onnxruntime.__version__)')
say "libraries of ONNX Runtime into build/onnxruntime"
mkdir -p build/onnxruntime build/onnxruntime-python
npm_package 1.14.0
npm_package 1.17.3
wheel 1.20.1
wheel "$newest"
for version in 1.14.0 1.17.3 1.20.1 "$newest"; do package "$version"; done

if [ "${NEUROLENS_WITH_INTEGRATIONS:-0}" = 1 ]; then
    [ -x build/venv-integrations/bin/python ] || "$python" -m venv build/venv-integrations
    build/venv-integrations/bin/python -m pip install --quiet torch lightning transformers accelerate keras jax pytest \
        pytest-xdist mypy tensorboard mlflow-skinny wandb prometheus_client
fi

if [ -x build/neurolens ]; then
    python3 tests/integrations.py
    python3 tests/profile.py
    python3 tests/profile_oracle.py
    TORCH_PYTHON=$venv/bin/python python3 tests/profile_torch.py real
    say "run documents under jsonschema $("$venv/bin/python" -c 'import importlib.metadata as m; print(m.version("jsonschema"))')"
    "$venv/bin/python" tests/oracle/rundoc.py
    say "recording with neurolens run"
    if [ "${NEUROLENS_WITH_TENSORFLOW:-0}" = 1 ]; then
        [ -x build/venv-tensorflow/bin/python ] || "$python" -m venv build/venv-tensorflow
        build/venv-tensorflow/bin/python -m pip install --quiet tensorflow keras
    fi
    TORCH_PYTHON=$venv/bin/python KERAS_PYTHON=$venv/bin/python TENSORFLOW_PYTHON=build/venv-tensorflow/bin/python \
        python3 tests/python/run.py torch keras tensorflow
    say "exports as their consumers read them"
    [ -x build/venv-exports/bin/python ] || "$python" -m venv build/venv-exports
    build/venv-exports/bin/python -m pip install --quiet pyarrow pandas polars duckdb perfetto protobuf \
        opentelemetry-proto prometheus_client tensorboard viztracer
    [ -x build/venv-hta/bin/python ] || "$python" -m venv build/venv-hta # it wants an older pandas
    build/venv-hta/bin/python -m pip install --quiet HolisticTraceAnalysis
    if command -v npm >/dev/null; then
        npm install --silent --no-audit --no-fund --prefix build/node-exports speedscope playwright-core
    fi
    python3 tests/exports_real.py
    python3 tests/open_real.py
    say "sampling every Python that is here"
    NEUROLENS_EVERY_PYTHON=1 python3 tests/pysample/run.py
else
    say "build/neurolens is missing: neither run documents nor recording are checked"
fi
