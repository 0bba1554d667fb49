#!/usr/bin/env bash
# Loads and keeps profiles with four workers; for a program built with ThreadSanitizer.
#
#   tools/four_threads.sh PROGRAM
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
program=$1
for file in tests/fixtures/*.json.gz; do
    "$program" analyze --no-cache --threads 4 --format json "$file" >/dev/null || exit 1
    "$program" analyze --no-cache --threads 4 "$file" >/dev/null || exit 1
done
"$program" analyze --no-cache --threads 4 --format json 'tests/fixtures/torch_cpu_ddp_rank?.json.gz' >/dev/null || exit 1
ledger=$(mktemp -d)
"$program" add --ledger "$ledger" --threads 4 tests/fixtures/*.json.gz >/dev/null
status=$?
rm -rf "$ledger"
exit $status
