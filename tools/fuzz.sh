#!/usr/bin/env bash
# Runs every fuzz target for a while on its seeds.
#
#   tools/fuzz.sh BUILD SECONDS [NAME...]  run BUILD/fuzz/fuzz_NAME (default: all) for SECONDS each
#   tools/fuzz.sh flags           the meson flags that build the targets, or nothing without libFuzzer
#
# New inputs go to BUILD/fuzz/corpus/TARGET, findings to BUILD/fuzz/found/TARGET. One line per
# target, and a last line with the sum.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
runtime=$(clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a" 2>/dev/null || true)

if [ "${1:-}" = flags ]; then
    [ -e "$runtime" ] && echo "-Dfuzz=true"
    exit 0
fi

build=$1
seconds=$2
shift 2
passed=0
failed=0
skipped=0

# seeds TARGET: files and folders to start from
seeds() {
    local name=${1#fuzz_}
    for folder in "fuzz/seeds/$name" "tests/corpus/$name" "tests/reject/$name" "tests/corpus"; do
        [ -d "$folder" ] && echo "$folder"
    done
    return 0
}

run() {
    local target=$1 name
    name=$(basename "$target")
    local own="$build/fuzz/corpus/$name" found="$build/fuzz/found/$name" log="$build/fuzz/$name.log"
    mkdir -p "$own" "$found"
    local status=0
    # shellcheck disable=SC2046
    "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
        -print_final_stats=1 -artifact_prefix="$found/" "$own" $(seeds "$name") \
        >"$log" 2>&1 </dev/null || status=$?
    if [ $status -eq 0 ]; then
        echo "ok fuzz: $name, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs"
        passed=$((passed + 1))
    else
        tail -40 "$log" | sed 's/^/    /'
        echo "FAIL fuzz: $name (exit $status); see $found"
        failed=$((failed + 1))
    fi
}

if [ $# -gt 0 ]; then
    targets=$(printf "$build/fuzz/fuzz_%s\n" "$@")
else
    targets=$(find "$build/fuzz" -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x 2>/dev/null | sort)
fi
if [ -z "$targets" ]; then
    echo "skipped fuzz: no targets in $build (clang's libFuzzer is needed)"
    skipped=1
fi
for target in $targets; do
    run "$target"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
