#!/bin/sh
# Installs NeuroLens from the unpacked archive in which this file lies, or removes it again. It also runs where it lies: bin/neurolens.
#
#   ./install.sh                      into /usr/local as root, else into ~/.local
#   ./install.sh --prefix FOLDER
#   ./install.sh --uninstall [--prefix FOLDER]
#
# Nothing outside the folder is changed; share/neurolens/installed there lists what was put in. A second installation replaces the first.
set -eu
umask 022 # what root installs is for everyone
here=$(cd "$(dirname "$0")" && pwd)
if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=${HOME:?HOME is not set; name a folder with --prefix}/.local; fi
remove=0

fail() {
    echo "install.sh: $1" >&2
    exit "$2"
}
while [ $# -gt 0 ]; do
    case "$1" in
    --prefix)
        [ $# -gt 1 ] || fail "--prefix wants a folder" 2
        prefix=$2
        shift
        ;;
    --prefix=*) prefix=${1#--prefix=} ;;
    --uninstall) remove=1 ;;
    -h | --help)
        sed -n '2,8s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) fail "unknown option '$1'; ./install.sh --help lists them" 2 ;;
    esac
    shift
done
[ -n "$prefix" ] || fail "the folder of --prefix is empty" 2
case "$prefix" in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
case "$prefix" in
*[[:space:]:]*) fail "'$prefix' has a space or a colon: programs that are recorded could not load the library from there; name another folder" 2 ;;
esac
list=$prefix/share/neurolens/installed

# Files that the list names and the new one does not, then folders that they leave empty. A list names files below the prefix alone.
take_away() {
    while IFS= read -r file; do
        case "/$file/" in */../* | //*) continue ;; esac
        if [ -n "$1" ] && grep -qxF -e "$file" "$1"; then continue; fi
        rm -f "$prefix/$file" "$prefix/$file.new"
        folder=$(dirname "$file")
        while [ "$folder" != . ] && rmdir "$prefix/$folder" 2>/dev/null; do folder=$(dirname "$folder"); done
    done <"$list"
}

if [ $remove = 1 ]; then
    [ -f "$list" ] || fail "nothing of NeuroLens is installed in $prefix; name another folder with --prefix" 5
    take_away ""
    rm -f "$list" "$list.new"
    rmdir "$prefix/share/neurolens" "$prefix/share" 2>/dev/null || true
    echo "removed NeuroLens from $prefix"
    exit 0
fi

[ -f "$here/files" ] || fail "the list of files is missing beside this script; unpack the whole archive again" 5
mkdir -p "$prefix/share/neurolens" || fail "$prefix cannot be written; name another folder with --prefix, or use sudo" 5
# Before anything is copied, the old list and the new one: --uninstall then finds what an interrupted installation put in.
{ [ ! -f "$list" ] || cat "$list"; cat "$here/files"; } >"$list.new" || fail "$prefix cannot be written; name another folder with --prefix, or use sudo" 5
mv -f "$list.new" "$list"
while IFS= read -r file; do
    mkdir -p "$prefix/$(dirname "$file")"
    rm -f "$prefix/$file.new"
    cp -P "$here/$file" "$prefix/$file.new" || fail "$prefix/$file cannot be written" 5
    mv -f "$prefix/$file.new" "$prefix/$file" # programs that run keep the old one
done <"$here/files"
take_away "$here/files"
cp "$here/files" "$list.new"
mv -f "$list.new" "$list"
"$prefix/bin/neurolens" version >/dev/null || fail "bin/neurolens does not start: it needs Linux with glibc 2.28 or newer, and this processor" 5
echo "installed $("$prefix/bin/neurolens" version | head -n 1) in $prefix"
case ":$PATH:" in
*":$prefix/bin:"*) ;;
*) echo "add it to your path: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
