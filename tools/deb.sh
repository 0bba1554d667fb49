#!/usr/bin/env bash
# Makes Debian packages in dist/ from the files of this tree, in build/deb/. `make deb` calls it; needs debhelper
# and what tools/setup.sh build installs.
set -euo pipefail
cd "$(dirname "$0")/.."

for program in dh dpkg-buildpackage dh_python3; do
    command -v $program >/dev/null || {
        echo "deb: $program is missing; apt-get install debhelper dpkg-dev dh-python" >&2
        exit 5
    }
done
rm -rf build/deb
mkdir -p build/deb/neurolens dist
git ls-files -z --cached --others --exclude-standard | tar --null --no-recursion -T - -cf - | tar -xf - -C build/deb/neurolens
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
log=build/deb/log
(cd build/deb/neurolens && DEB_BUILD_OPTIONS="parallel=2 noautodbgsym" dpkg-buildpackage -us -uc -b) >$log 2>&1 || {
    tail -30 $log >&2
    exit 1
}
rm -f dist/*.deb
cp build/deb/*.deb dist/
ls -l dist/*.deb | awk '{ printf "deb: %s, %.2f MB\n", $9, $5 / 1e6 }'
