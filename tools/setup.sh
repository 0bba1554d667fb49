#!/usr/bin/env bash
# Installs what building and testing need, and only what is missing.
#
#   tools/setup.sh          what `make test` needs
#   tools/setup.sh build    what `make` needs
#   tools/setup.sh web      what tests of pages in a browser need, too; then `npm ci` in web/
#
# On Debian and Ubuntu the packages come from apt (through sudo when not root). On other systems it
# lists what to install and exits with 5. When nothing is missing it does nothing.
set -euo pipefail

level=${1:-test}
packages=()

say() { printf 'setup: %s\n' "$*"; }

# need LEVEL PACKAGE CHECK...: note PACKAGE as missing when CHECK fails
need() {
    local wanted=$1 package=$2
    shift 2
    if [ "$wanted" = test ] && [ "$level" = build ]; then
        return
    fi
    "$@" >/dev/null 2>&1 || packages+=("$package")
}

has() { command -v "$1" >/dev/null 2>&1; }
library() { has pkg-config && pkg-config --exists "$1"; }
c_header() { has gcc && echo "#include <$1>" | gcc -E -x c - ; }
# Where meson is still missing, it brings Python along.
python_headers() {
    if has /usr/bin/python3; then
        [ -e "$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]
    else
        has meson
    fi
}
clang_major() { clang -dumpversion 2>/dev/null | cut -d. -f1; }
# One that knows draft 2020-12 (4.0 and later).
schema_validator() { python3 -c 'from jsonschema import Draft202012Validator'; }
clang_runtime() {
    has clang && [ -e "$(clang -print-file-name=libclang_rt.fuzzer-$(uname -m).a)" ]
}

need build gcc has gcc
need build libc6-dev c_header stdio.h
need build meson has meson
need build ninja-build has ninja
need build pkg-config has pkg-config
need build libisal-dev library libisal
need build libzstd-dev library libzstd
need build libsqlite3-dev library sqlite3
need build libedit-dev library libedit
need build libncurses-dev library ncursesw
need build libjansson-dev library jansson
need build libssl-dev library libcrypto
need build libyaml-dev library yaml-0.1
need build zlib1g-dev library zlib
need build libelf-dev library libelf
need build libdw-dev library libdw
need build libiberty-dev c_header libiberty/demangle.h
need build python3-dev python_headers
need test clang has clang
need test python3 has python3
need test python3-jsonschema schema_validator
need test clang-format has clang-format
need test pmccabe has pmccabe
need test mypy has mypy
if [ "$level" = web ]; then
    need test chromium has chromium
    need test nodejs has node
    need test npm has npm
fi
if has clang; then
    need test "libclang-rt-$(clang_major)-dev" clang_runtime
fi

if [ ${#packages[@]} -eq 0 ]; then
    exit 0
fi

if ! has apt-get; then
    say "missing here (by their Debian names): ${packages[*]}"
    say "install them with your system's package manager, then run this again"
    exit 5
fi

root=()
if [ "$(id -u)" != 0 ]; then
    if ! has sudo; then
        say "missing: ${packages[*]}"
        say "run as root: apt-get install ${packages[*]}"
        exit 5
    fi
    root=(sudo)
    [ -t 0 ] || root=(sudo -n)
fi

export DEBIAN_FRONTEND=noninteractive
say "installing: ${packages[*]}"
"${root[@]}" apt-get update -qq
"${root[@]}" apt-get install -y -qq --no-install-recommends "${packages[@]}"

# clang's run-time libraries are a package of its own version, known only now.
if [ "$level" = test ] && has clang && ! clang_runtime; then
    package=libclang-rt-$(clang_major)-dev
    say "installing: $package"
    "${root[@]}" apt-get install -y -qq --no-install-recommends "$package" ||
        say "no $package here: the fuzz targets will be skipped"
fi
