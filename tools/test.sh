#!/usr/bin/env bash
# Everything that must hold, in one run; `make test`.
#
#   tools/test.sh            all parts
#   tools/test.sh WORD...    the parts whose name contains a WORD
#
# A part is a program that prints one line per test (`ok …`, `FAIL …`, `skipped …: reason`, details
# indented above a FAIL) and ends with `N passed, N failed, N skipped`. The last line here is the sum
# over the parts in the same form; the exit status is 1 when anything failed.
#
#   CC_GCC, CC_CLANG   the compilers (gcc, clang)
#   WERROR             true (default) or false: warnings are errors
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
gcc=${CC_GCC:-gcc}
clang=${CC_CLANG:-clang}
werror=${WERROR:-true}
wanted=("$@")
passed=0
failed=0
skipped=0
slow=() # parts that took 10 s and more, with their seconds
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export PYTHONDONTWRITEBYTECODE=1
started=$SECONDS

# wants NAME: was this part asked for?
wants() {
    local word
    [ ${#wanted[@]} -gt 0 ] || return 0
    for word in "${wanted[@]}"; do
        case $1 in *"$word"*) return 0 ;; esac
    done
    return 1
}

# part NAME SECONDS COMMAND...: run it, show its lines, add its sums; false when it failed
part() {
    local name=$1 limit=$2 status=0 began=$SECONDS sums
    shift 2
    wants "$name" || return 0
    timeout --kill-after=10 "$limit" "$@" >"$log" 2>&1 </dev/null || status=$?
    [ $((SECONDS - began)) -lt 10 ] || slow+=("$((SECONDS - began)) s $name")
    sums=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -1)
    grep -vE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log"
    if [ -n "$sums" ]; then
        # shellcheck disable=SC2086
        set -- $sums
        passed=$((passed + $1))
        failed=$((failed + $3))
        skipped=$((skipped + $5))
        if [ "$3" -gt 0 ] || [ $status -eq 0 ]; then
            [ $status -eq 0 ]
            return
        fi
    fi
    if [ $status -eq 124 ] || [ $status -eq 137 ]; then
        echo "FAIL $name: not done after $limit s"
        failed=$((failed + 1))
    elif [ $status -ne 0 ]; then
        echo "FAIL $name: exit $status"
        failed=$((failed + 1))
    else
        echo "ok $name"
        passed=$((passed + 1))
    fi
    [ $status -eq 0 ]
}

skip() {
    wants "$1" || return 0
    echo "skipped $1: $2"
    skipped=$((skipped + 1))
}

# build FOLDER COMPILER FLAGS...: configure when needed, compile; quiet when all is well
build() {
    local folder=$1 compiler=$2
    shift 2
    local again=()
    [ ! -f "$folder/build.ninja" ] || again=(--reconfigure)
    CC=$compiler meson setup "${again[@]}" "$folder" "$@" || return 1
    ninja -C "$folder"
}

# quiet COMMAND...: its output only when it fails
quiet() {
    local text
    text=$("$@" 2>&1) || {
        local status=$?
        printf '%s\n' "$text" | grep -E ' error: | warning: |undefined reference|multiple definition|ERROR:' | head -30 |
            sed 's/^/    /'
        return $status
    }
}

# units FOLDER: every test program of a build; one that dies counts as one failure
units() {
    local program name status total_ok=0 total_bad=0 total_skipped=0 sums
    for program in "$1"/tests/unit/test_*; do
        [ -f "$program" ] && [ -x "$program" ] || continue
        name=$(basename "$program")
        status=0
        timeout 240 "$program" >"$log.unit" 2>&1 </dev/null || status=$?
        sums=$(grep -E '^[0-9]+ passed, ' "$log.unit" | tail -1)
        grep -vE '^[0-9]+ passed, ' "$log.unit"
        if [ -z "$sums" ]; then
            echo "FAIL $name: ended with $status before its sums"
            sums="0 passed, 1 failed, 0 skipped"
        elif [ $status -ne 0 ] && [ "${sums#*passed, 0 failed}" != "$sums" ]; then
            echo "FAIL $name: exit $status"
            sums="0 passed, 1 failed, 0 skipped"
        fi
        # shellcheck disable=SC2086
        set -- "$1" $sums
        total_ok=$((total_ok + $2))
        total_bad=$((total_bad + $4))
        total_skipped=$((total_skipped + $6))
    done
    rm -f "$log.unit"
    echo "$total_ok passed, $total_bad failed, $total_skipped skipped"
    [ $total_bad -eq 0 ]
}

# four_threads PROGRAM: loads under TSan with four workers
four_threads() {
    local file
    for file in tests/fixtures/*.json.gz; do
        "$1" analyze --no-cache --threads 4 --format json "$file" >/dev/null || return 1
    done
    "$1" analyze --no-cache --threads 4 --format json 'tests/fixtures/torch_cpu_ddp_rank?.json.gz' \
        >/dev/null || return 1
    local ledger status=0
    ledger=$(mktemp -d)
    "$1" add --ledger "$ledger" --threads 4 tests/fixtures/*.json.gz >/dev/null || status=1
    rm -rf "$ledger"
    return $status
}

export -f build quiet units four_threads
export log

part setup 600 tools/setup.sh

export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:allocator_may_return_null=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1
asan_flags=(--buildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false)
asan_compiler=$gcc
if [ -n "$(tools/fuzz.sh flags)" ]; then
    asan_flags+=(-Dfuzz=true)
    asan_compiler=$clang
fi

tests_of_the_program() {
    local oracle
    part "unit tests" 300 bash -c 'units build'
    part "query tests" 300 python3 tests/query/run.py
    part "cli tests" 300 python3 tests/cli/run.py
    part "golden runs" 300 python3 tests/golden_run/run.py
    part corpus 300 python3 tests/corpus.py
    part recordings 120 python3 tests/recordings.py
    part robust 300 python3 tests/robust.py
    part "bad input" 300 python3 tests/badinput.py
    part shell 120 python3 tests/shell.py
    part cache 300 python3 tests/cache.py
    part reopen 600 python3 tests/reopen.py
    part record 300 python3 tests/record.py
    part record_gpu 200 python3 tests/record_gpu.py
    part native 300 python3 tests/native.py
    part record_rocm 120 python3 tests/record_rocm.py
    part top 300 python3 tests/top.py
    part python 600 python3 tests/python.py
    part pysample 600 python3 tests/pysample.py
    part ledger 600 python3 tests/ledger.py
    part profile 600 python3 tests/profile.py
    part profile_tensorrt 200 python3 tests/profile_tensorrt.py
    part profile_torch 300 python3 tests/profile_torch.py
    part parity 120 python3 tests/parity.py
    part compare 300 python3 tests/compare.py
    part invariants 300 python3 tests/invariants.py
    for oracle in tests/oracle/*.py; do
        case $(basename "$oracle") in
        oracle.py | protowire.py | _*) ;; # what they share
        *) part "oracle $(basename "$oracle" .py)" 600 python3 "$oracle" ;;
        esac
    done
}

tests_under_sanitizers() {
    export NEUROLENS=$PWD/build-asan/neurolens
    part "sanitizers: unit tests" 600 bash -c 'units build-asan'
    part "sanitizers: corpus" 300 python3 tests/corpus.py
    part "sanitizers: recordings" 120 python3 tests/recordings.py
    part "sanitizers: robust" 300 env ROBUST_LIMIT_S=20 python3 tests/robust.py --flips 100 --cuts 4
    part "sanitizers: fuzz targets" 600 tools/fuzz.sh build-asan 5
}

part lint 120 python3 tools/lint.py
export NEUROLENS=$PWD/build/neurolens
if part "build with gcc" 600 bash -c 'quiet build build "$@"' - "$gcc" -Dwerror="$werror"; then
    tests_of_the_program
else
    skip "tests of the program" "it was not built"
fi

part "build with clang" 600 bash -c 'quiet build build-clang "$@"' - "$clang" -Dwerror="$werror"

if part "sanitizers: build" 600 bash -c 'quiet build build-asan "$@"' - "$asan_compiler" \
    "${asan_flags[@]}"; then
    tests_under_sanitizers
else
    skip "sanitizers" "not built"
fi

if part "threads: build" 600 bash -c 'quiet build build-tsan "$@"' - "$gcc" \
    --buildtype=debugoptimized -Db_sanitize=thread; then
    part "threads: four workers" 300 bash -c 'four_threads build-tsan/neurolens'
else
    skip "threads" "not built"
fi

[ ${#slow[@]} -eq 0 ] || printf '%s\n' "${slow[@]}" | sort -rn | paste -sd, - | sed 's/,/, /g; s/^/slowest: /'
echo "took $((SECONDS - started)) s"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
