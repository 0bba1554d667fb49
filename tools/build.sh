#!/usr/bin/env bash
# Configures a build folder where needed and compiles it; quiet when all is well, else the first errors.
#
#   tools/build.sh FOLDER COMPILER JOBS FLAGS...
#
#   TARGETS    what to compile (default: everything)
set -uo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export CCACHE_SLOPPINESS=pch_defines,time_macros # without which ccache keeps nothing that reads headers read before (meson.build)
folder=$1
compiler=$2
jobs=$3
shift 3
again=()
[ ! -f "$folder/build.ninja" ] || again=(--reconfigure)
text=$(CC=$compiler meson setup "${again[@]}" "$folder" "$@" 2>&1 && ninja -C "$folder" -j "$jobs" ${TARGETS:-} 2>&1) || {
    status=$?
    printf '%s\n' "$text" | grep -E ' error: | warning: |undefined reference|multiple definition|ERROR:' | head -30 | sed 's/^/    /'
    exit $status
}
