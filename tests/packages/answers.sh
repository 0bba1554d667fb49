#!/bin/sh
# Writes what every reading command answers about profiles into a folder: `answers.sh FOLDER PROFILE…`. Two programs that give equal folders
# read, compute and write alike; tools/arm64.py compares those of two machines. A file per answer; its last line is the exit status.
# Dates, places and the machine are no part of an answer: what writes them is left out or asked for a part.
set -u
out=$1
shift
mkdir -p "$out" && cd "$out" || exit 1
HOME=$out/home NEUROLENS_LEDGER=$out/ledger TZ=UTC LANG=C.UTF-8
export HOME NEUROLENS_LEDGER TZ LANG

# keep NAME ARGUMENTS…: what neurolens writes to both streams, and how it ends
keep() {
    name=$1 status=0
    shift
    timeout 300 neurolens "$@" -q >"$name" 2>"$name.err" || status=$?
    cat "$name.err" >>"$name"
    echo "status $status" >>"$name"
    rm -f "$name.err"
}

# plain FILE…: without the ids and dates of runs
plain() {
    for name in "$@"; do
        sed -e 's/[0-9a-f]\{32\}/ID/g' -e 's/^added [0-9a-f]*/added ID/' -e 's/[0-9-]\{10\}T[0-9:]\{8\}Z/DATE/g' "$name" >"$name.plain"
        rm "$name"
    done
}

first=
for profile in "$@"; do
    one=$(echo "${profile##*/profiles/}" | tr / _)
    mkdir -p "$one" && cd "$one" || exit 1
    first=${first:-$profile}
    keep info info "$profile" --format json
    keep text analyze "$profile" --all
    keep analyze.json analyze "$profile" --all --format json
    keep analyze.csv analyze "$profile" --section kernels --format csv
    keep report.html report "$profile" -o page.html
    keep report.md report "$profile" -o page.md
    keep open open "$profile"
    keep sql sql "$profile" 'SELECT count(*), sum(dur), avg(dur), min(ts), max(ts) FROM slices'
    keep groups sql "$profile" 'SELECT name, count(*), avg(dur), sum(dur) / 3.0 FROM slices GROUP BY 1 ORDER BY 4 DESC, 1 LIMIT 50' --format json
    keep kernels sql "$profile" 'SELECT * FROM kernels LIMIT 200' --format csv
    keep diff diff "$profile" "$profile" --format json
    keep other diff "$first" "$profile" --format json
    keep check check "$profile" --baseline "$first" --format json
    keep rule check "$profile" --fail-on 'step.p50 > 1ms' --format json
    keep fingerprint fingerprint "$profile" --format json
    keep rank rank "$first" "$profile" --format json
    keep flame flame "$profile"
    keep svg flame "$profile" -o flame.svg
    for format in perfetto chrome parquet arrow csv speedscope folded pprof callgrind openmetrics tensorboard otlp otlp-traces otlp-metrics \
        nsys-sqlite html run.json; do
        keep "export-$format" export "$profile" --to $format -o "to-$format"
    done
    [ ! -e to-run.json ] || keep validate validate to-run.json
    keep add add "$profile"
    keep similar similar "$profile" --format json
    plain add similar
    cd ..
done
keep metrics schema metrics
keep schema schema run
keep tables schema sql
keep analyses schema analyses
keep man completion man
keep bash completion bash
keep help help
keep trend trend timeline.duration_ns --format csv
keep ls ls --format csv
plain trend ls
keep nothing info no_such_file
rm -rf home ledger # files with dates
