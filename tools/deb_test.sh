#!/usr/bin/env bash
# Installs dist/*.deb into a clean root of this Debian and runs debian/tests there. `make deb-test` calls it, as root; needs debootstrap.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v debootstrap >/dev/null || { echo "deb-test: debootstrap is missing; apt-get install debootstrap" >&2; exit 5; }
[ "$(id -u)" = 0 ] || { echo "deb-test: only root can change the root folder of a process; sudo make deb-test" >&2; exit 5; }
ls dist/*.deb >/dev/null 2>&1 || { echo "deb-test: no packages in dist/; make deb first" >&2; exit 2; }
root=$PWD/build/deb-root
. /etc/os-release
if [ ! -e "$root/usr/bin/dpkg" ]; then
    rm -rf "$root"
    debootstrap --variant=minbase "$VERSION_CODENAME" "$root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >build/deb-root.log
fi
in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
mkdir -p "$root/packages" "$root/tests"
rm -f "$root"/packages/* "$root"/tests/*
cp dist/*.deb "$root/packages/"
cp debian/tests/* "$root/tests/"
[ -e "$root/proc/self" ] || mount -t proc proc "$root/proc"
trap 'umount "$root/proc" 2>/dev/null || true' EXIT
in_root apt-get purge -qq -y 'neurolens*' 'libneurolens*' python3-nlens >/dev/null 2>&1 || true
in_root sh -c 'apt-get install -qq -y --no-install-recommends /packages/*.deb gcc libc6-dev pkg-config python3' >build/deb-root.log 2>&1 || {
    tail -20 build/deb-root.log >&2
    exit 1
}
failed=0
for test in command python library; do
    if in_root sh "/tests/$test" >build/deb-root.log 2>&1; then
        echo "ok deb: $test"
    else
        tail -20 build/deb-root.log
        echo "FAIL deb: $test"
        failed=$((failed + 1))
    fi
done
in_root dpkg --purge python3-nlens neurolens libneurolens-dev libneurolens0 >/dev/null 2>&1
left=$(in_root sh -c 'find /usr /etc /var -name "*neurolens*" -o -name "*nlens*" | grep -v ^/var/log | head')
if [ -z "$left" ]; then
    echo "ok deb: nothing is left when they are removed"
else
    echo "FAIL deb: left behind: $left"
    failed=$((failed + 1))
fi
echo "$((4 - failed)) passed, $failed failed, 0 skipped"
[ $failed = 0 ]
