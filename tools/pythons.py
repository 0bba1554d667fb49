#!/usr/bin/env python3
"""Compiles CPython 3.14 with and without the GIL into build/pythons/, for tests/wheel.py: no package of Debian 12 has them. `make pythons` calls it;
takes minutes, and needs what CPython needs (zlib, libssl and libffi for pip and ctypes).

    tools/pythons.py [3.14] [3.14t]     both when none is named; the source is that of Debian's newest release, or Ubuntu 26.04's
"""
import hashlib
import os
import re
import shutil
import sys
import urllib.request

from wheel_libraries import fetched, run, say, ubuntu_keys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTHONS = os.path.join(ROOT, "build", "pythons")


def source():
    """The archive of the source; its digest is that of a signed list."""
    keys = ubuntu_keys(os.path.join(PYTHONS, "keys"))
    for name, more in (("debian", dict(release="sid")), ("ubuntu", dict(release="resolute", mirror="http://archive.ubuntu.com/ubuntu", keys=keys))):
        wrote = fetched(os.path.join(PYTHONS, name), ["--print-uris", "source", "python3.14"], **more) if keys or name == "debian" else None
        found = re.search(r"^'(\S+)' (\S+orig\.tar\.xz) \d+ SHA(256|512):(\w+)", wrote or "", re.M)
        try:
            content = urllib.request.urlopen(found.group(1), timeout=300).read() if found else b""
        except OSError as wrong:
            say("%s: %s" % (found.group(1), wrong))
            continue
        if found and hashlib.new("sha" + found.group(3), content).hexdigest() == found.group(4):
            path = os.path.join(PYTHONS, found.group(2))
            with open(path, "wb") as file:
                file.write(content)
            return path
    sys.exit("pythons: no mirror here has the source of python3.14")


def compiled(name, archive):
    folder, work = os.path.join(PYTHONS, name), os.path.join(PYTHONS, "work-" + name)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    run(["tar", "-xf", archive, "-C", work, "--strip-components=1"])
    say("compiling CPython " + name)
    run(["./configure", "-q", "--prefix=" + folder, "--disable-test-modules", "CFLAGS=-O1 -g0"] + ["--disable-gil"] * name.endswith("t"), cwd=work)
    run(["make", "-s", "-j", str(min(2, os.cpu_count() or 1))], cwd=work)
    run(["make", "-s", "install"], cwd=work)
    shutil.rmtree(work)
    say(run([os.path.join(folder, "bin", "python3"), "-VV"]).strip())


def main():
    names = sys.argv[1:] or ["3.14", "3.14t"]
    if set(names) - {"3.14", "3.14t"}:
        sys.exit(__doc__)
    missing = [name for name in names if not os.path.exists(os.path.join(PYTHONS, name, "bin", "python3"))]
    if missing:
        os.makedirs(PYTHONS, exist_ok=True)
        archive = source()
        for name in missing:
            compiled(name, archive)


if __name__ == "__main__":
    main()
