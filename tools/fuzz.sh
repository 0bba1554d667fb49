#!/usr/bin/env bash
# Runs fuzz targets on their seeds.
#
#   tools/fuzz.sh BUILD fixed [NAME...]    what a change is judged by: the kept inputs and FUZZ_MADE others, which
#                                          their bytes alone decide (fuzz/fixed.c); at most FUZZ_MOST_SECONDS a target
#   tools/fuzz.sh BUILD SECONDS [NAME...]  libFuzzer for SECONDS each, from a seed by chance
#   tools/fuzz.sh flags                    the meson flags that build the targets, or nothing without libFuzzer
#   tools/fuzz.sh seeds NAME               the folders of inputs that a target begins with
#
# Without a name: all targets. New inputs go to BUILD/fuzz/corpus/TARGET, findings to BUILD/fuzz/found/TARGET. One
# line per target, and a last line with the sum.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
runtime=$(clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a" 2>/dev/null || true)

# The seeds of a target, and the files of its format.
seeds() {
    local name=$1 format folder
    case $name in
        ncurep | ncucsv | ncujoin) format=ncu ;;
        perfrecord) format=perf ;;
        trt) format=tensorrt ;;
        *) format=$name ;;
    esac
    for folder in "fuzz/seeds/$name" "tests/corpus/$format" "tests/reject/$format"; do
        [ -d "$folder" ] && echo "$folder"
    done
    return 0
}

case ${1:-} in
    flags)
        [ -e "$runtime" ] && echo "-Dfuzz=true"
        exit 0
        ;;
    seeds)
        seeds "$2"
        exit 0
        ;;
esac

build=$1
seconds=$2
shift 2
passed=0
failed=0
skipped=0
# Without the second a fault of undefined behaviour is a line among others.
export FUZZ_DEEP=1
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}

# fixed TARGET NAME FOUND LOG
fixed() {
    # shellcheck disable=SC2046
    "$1" --fixed="${FUZZ_MADE:-150}" --seconds="${FUZZ_MOST_SECONDS:-0}" --found="$3" \
        $(seeds "$2") >"$4" 2>&1 </dev/null
}

# guided TARGET NAME FOUND LOG
guided() {
    local own=$build/fuzz/corpus/fuzz_$2
    mkdir -p "$own"
    # shellcheck disable=SC2046
    "$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
        -print_final_stats=1 -artifact_prefix="$3/" "$own" $(seeds "$2") tests/corpus \
        >"$4" 2>&1 </dev/null
}

run() {
    local target=$1 how=guided name found log status=0
    name=$(basename "$target")
    found=$build/fuzz/found/$name
    log=$build/fuzz/$name.log
    mkdir -p "$found"
    [ "$seconds" = fixed ] && how=fixed
    $how "$target" "${name#fuzz_}" "$found" "$log" || status=$?
    if [ $status -eq 0 ]; then
        echo "ok fuzz: $name, $(sed -n -e 's/^stat::number_of_executed_units: *\(.*\)/\1 runs/p' -e 's/^fixed: //p' "$log")"
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
