#!/usr/bin/env python3
"""Collects everything that a release hands out in build/release/ (docs/packages.md). `make release` calls it, with build/neurolens made.

    tools/release.py                all of it; refuses a tree that has changes
    tools/release.py --allow-dirty  to try it: the names then end in +dirty, and source archives have the newest commit
    tools/release.py --no-debs      leaves out the packages for Debian

There are: the source (neurolens-VERSION.tar.gz, as git has it), the sdist and wheels of the Python distribution, the relocatable archives, the
packages for Debian, the bill of materials (CycloneDX), and SHA256SUMS of all. The version is meson.build's, dates are those of the commit, and
the same commit, tools and libraries give the same bytes.
"""
import argparse
import glob
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys

import dist_info
import relocatable
import wheel
import wheel_machine
from wheel_libraries import run

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RELEASE = os.path.join("build", "release")


def say(text):
    print("release: " + text, flush=True)


def changes():
    """What git calls changed or unknown."""
    return run(["git", "status", "--porcelain"]).strip()


def wrong_versions():
    """Files that say another version than meson.build; those that can ask it do not stand here."""
    version = dist_info.version()
    places = {"debian/changelog": r"^neurolens \(([^)]+)\)", "include/neurolens-engine.h": r'^/\* "([^"]+)": of the library'}
    found = {path: re.search(pattern, dist_info.text_of(path), re.M) for path, pattern in places.items()}
    return ["%s says %s" % (path, match.group(1) if match else "none") for path, match in found.items() if not match or match.group(1) != version]


def source(top):
    """As git has it; gzip without a date."""
    path = os.path.join(RELEASE, top + ".tar.gz")
    archive = subprocess.run(["git", "archive", "--format=tar", "--prefix=%s/" % top, "HEAD"], stdout=subprocess.PIPE, check=True).stdout
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
        packed.write(archive)


def sdist():
    python = wheel.tools(["build"])
    run([python, "-m", "build", "--sdist", "--outdir", RELEASE, "."])


def wheels():
    """The wheels of all architectures that can be made here, and an archive of each."""
    for name in wheel_machine.DEBIAN_NAMES:
        if name == os.uname().machine or wheel_machine.machine(name).made():
            run([sys.executable, os.path.join("tools", "wheel.py"), "--machine", name])
        else:
            say("no wheel for %s: its compiler and libraries cannot be had" % name)
    for path in sorted(glob.glob("dist/%s-*.whl" % dist_info.DISTRIBUTION)):
        shutil.copy(path, RELEASE)
        relocatable.make(path, RELEASE, int(os.environ["SOURCE_DATE_EPOCH"]))


def debs():
    if not shutil.which("dpkg-buildpackage") or not shutil.which("dh"):
        say("no packages for Debian: debhelper and dpkg-dev are missing")
        return
    run(["bash", os.path.join("tools", "deb.sh")])
    for path in sorted(glob.glob("dist/*.deb")):
        shutil.copy(path, RELEASE)


def sums():
    """In the form of sha256sum -c."""
    lines = []
    for name in sorted(os.listdir(RELEASE)):
        if name != "SHA256SUMS":
            with open(os.path.join(RELEASE, name), "rb") as file:
                lines.append("%s  %s\n" % (hashlib.sha256(file.read()).hexdigest(), name))
    with open(os.path.join(RELEASE, "SHA256SUMS"), "w") as file:
        file.write("".join(lines))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--allow-dirty", action="store_true", help="although git sees changes")
    parser.add_argument("--no-debs", action="store_true", help="without packages for Debian")
    options = parser.parse_args()
    os.chdir(ROOT)
    changed, wrong = changes(), wrong_versions()
    if changed and not options.allow_dirty:
        sys.exit("release: this tree differs from its commit; commit or remove:\n" + changed[:2000])
    if wrong:
        sys.exit("release: meson.build has version %s, but %s; make them equal" % (dist_info.version(), ", ".join(wrong)))
    top = "neurolens-" + dist_info.version() + ("+dirty" if changed else "")
    os.environ["SOURCE_DATE_EPOCH"] = run(["git", "log", "-1", "--format=%ct"]).strip()
    shutil.rmtree(RELEASE, ignore_errors=True)
    os.makedirs(RELEASE)
    source(top)
    sdist()
    wheels()
    if not options.no_debs:
        debs()
    with open(os.path.join(RELEASE, top + ".cdx.json"), "w") as file:
        file.write(wheel.bill(dist_info.version(), wheel_machine.Here()))
    for line in sums():
        name = line.split()[1]
        say("%s, %.2f MB" % (name, os.path.getsize(os.path.join(RELEASE, name)) / 1e6))
    say("%s/SHA256SUMS has the digests" % RELEASE)


if __name__ == "__main__":
    main()
