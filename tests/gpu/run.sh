#!/usr/bin/env bash
# Recording on a machine with an NVIDIA GPU: builds, records small programs, and checks what was recorded against what
# the programs and PyTorch's own profiler say; measures what recording costs. At most 10 minutes.
#
#   tests/gpu/run.sh        results go to $OUT (default: a folder it names): results.json, log.txt, small recordings
#
# Exit status: 0 all is well, 1 a check failed, 5 there is no GPU here.
#
#   NEUROLENS   the program, when it is built already (default: build/neurolens, built if need be)
#   PYTHON      a Python that has PyTorch (default: python3)
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ] && [ ! -e /proc/driver/nvidia/version ]; then
    echo "no GPU here: no NVIDIA driver (neither /dev/nvidiactl nor /dev/dxg nor /proc/driver/nvidia/version)" >&2
    exit 5
fi

OUT=${OUT:-$(mktemp -d "${TMPDIR:-/tmp}/neurolens-gpu.XXXXXX")}
mkdir -p "$OUT"
exec > >(tee "$OUT/log.txt") 2>&1
echo "results in $OUT"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv || echo "no nvidia-smi"

if [ -z "${NEUROLENS:-}" ]; then
    NEUROLENS=$PWD/build/neurolens
    if [ ! -x "$NEUROLENS" ]; then
        timeout 240 make >"$OUT/build.txt" 2>&1 || {
            tail -30 "$OUT/build.txt"
            echo "FAIL gpu: cannot build (tools/setup.sh build installs what is missing)"
            exit 1
        }
    fi
fi
export NEUROLENS OUT

launches=""
for folder in "" /usr/local/cuda/bin/ /opt/cuda/bin/; do
    if command -v "${folder}nvcc" >/dev/null; then
        if timeout 120 "${folder}nvcc" -O2 -std=c++14 -o "$OUT/launches" tests/gpu/launches.cu -lcuda; then
            launches=$OUT/launches
        fi
        break
    fi
done
[ -n "$launches" ] || echo "skipped gpu: launches.cu: no nvcc"
timeout 420 "${PYTHON:-python3}" tests/gpu/check.py "$launches"
status=$?
rm -f "$OUT/launches"
exit $status
