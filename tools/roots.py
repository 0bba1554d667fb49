#!/usr/bin/env python3
"""Installs what `make release` makes (or `make wheel`) into clean roots of other systems, and walks all commands there. `make roots-test` calls
it, as root; needs debootstrap and a mirror of Debian, and one of Ubuntu for its root.

    tools/roots.py [NAME…]      the roots to try (all when none is named), in build/roots/, kept for the next time

In each root: the wheel in a fresh virtual environment (no network), the archive with install.sh into a folder of a plain user, and the steps of
the Containerfile. What a root lacks (no Python, no mirror) is a line that says "skipped".
"""
import glob
import os
import re
import shutil
import subprocess
import sys

import dist_info
import relocatable
import wheel_libraries

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOTS = os.path.join(ROOT, "build", "roots")
DEBIAN = os.environ.get("DEBIAN_MIRROR", wheel_libraries.DEBIAN)
UBUNTU = os.environ.get("UBUNTU_MIRROR", "http://archive.ubuntu.com/ubuntu")
TRACE = "made_gpu_train.json.gz"
# name: title, mirror, components; debootstrap's script of every Ubuntu is one file
SYSTEMS = {"bullseye": ("Debian 11, glibc 2.31", DEBIAN, "main"), "focal": ("Ubuntu 20.04, glibc 2.31", UBUNTU, "main,universe"),
           "resolute": ("Ubuntu 26.04, glibc 2.43", UBUNTU, "main,universe")}
sums = {"ok": 0, "FAIL": 0, "skipped": 0}


def say(verdict, text, details=""):
    for line in details.splitlines()[-25:]:
        print("    " + line)
    sums[verdict] += 1
    print("%s roots: %s" % (verdict, text), flush=True)
    return verdict == "ok"


def made(name):
    """The folder of a root, or None when it cannot be made."""
    folder, (title, mirror, components) = os.path.join(ROOTS, name), SYSTEMS[name]
    if os.path.exists(os.path.join(folder, "made")):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(ROOTS, exist_ok=True)
    words = ["debootstrap", "--variant=minbase", "--components=" + components, "--include=python3,python3-venv,ca-certificates"]
    if mirror == UBUNTU:
        keys = wheel_libraries.ubuntu_keys(os.path.join(ROOTS, "keys"))
        if not keys:
            say("skipped", "%s: Ubuntu's keys cannot be fetched" % title)
            return None
        words += ["--keyring=" + keys, name, folder, mirror, "/usr/share/debootstrap/scripts/gutsy"]
    else:
        words += [name, folder, mirror]
    with open(folder + ".log", "w") as log:
        status = subprocess.run(words, stdout=log, stderr=subprocess.STDOUT).returncode
    if status:
        with open(folder + ".log") as log:
            say("skipped", "%s: no such root can be made here (%s)" % (title, log.read().strip().splitlines()[-1]))
        return None
    open(os.path.join(folder, "made"), "w").close()
    return folder


def inside(root, *words, user="0:0"):
    """Runs a command in a root, with a /proc of its own that ends with it; its status and what it wrote."""
    command = ["unshare", "--mount", "--pid", "--fork", "--mount-proc=" + os.path.join(root, "proc"), "chroot", "--userspec=" + user, root,
               "/usr/bin/env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/user", "LANG=C.UTF-8"]
    done = subprocess.run(command + list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900)
    return done.returncode, done.stdout


def walked(root, title, path, python=""):
    status, text = inside(root, "PATH=%s:/usr/bin:/bin" % path, "sh", "/given/walk.sh", "/given/" + TRACE, python, user="1234:1234")
    last = (text.strip().splitlines() or ["nothing was written"])[-1]
    say("FAIL" if status else "ok", "%s: %s" % (title, last), "\n".join(line for line in text.splitlines() if not line.startswith("ok ")) if status else "")


def wheel(root, title, name):
    """A fresh environment, pip without a network, all commands."""
    version = inside(root, "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")[1].strip()
    if version == "3.8":
        say("skipped", title + ": the wheel: its Python is 3.8, and the package needs 3.9")
        return
    status, text = inside(root, "sh", "-ec", "rm -rf /user/venv; python3 -m venv /user/venv; "
                          "/user/venv/bin/pip install --quiet --no-index --no-deps /given/%s" % name, user="1234:1234")
    if status:
        say("FAIL", title + ": pip does not install the wheel", text)
        return
    walked(root, title + ": the wheel", "/user/venv/bin", "/user/venv/bin/python")


def archive(root, title, name):
    """Unpacked and installed by a plain user; removed again without a trace."""
    top = name[:-len(".tar.gz")]
    status, text = inside(root, "sh", "-ec", "cd /user; rm -rf %s tree; tar -xzf /given/%s; %s/install.sh --prefix tree; "
                          "%s/install.sh --prefix tree" % (top, name, top, top), user="1234:1234")
    if status:
        say("FAIL", title + ": install.sh", text)
        return
    walked(root, title + ": the archive in a folder of a user", "/user/tree/bin")
    walked(root, title + ": the archive where it was unpacked", "/user/%s/bin" % top)
    status, text = inside(root, "sh", "-ec", "cd /user; %s/install.sh --uninstall --prefix tree; find tree 2>/dev/null | head; test ! -e tree || "
                          "rmdir tree" % top, user="1234:1234")
    say("FAIL" if status else "ok", title + ": install.sh --uninstall leaves nothing", text if status else "")


def tried(name, given):
    title = SYSTEMS[name][0]
    root = made(name)
    if not root:
        return
    for folder in ("given", "user"):
        shutil.rmtree(os.path.join(root, folder), ignore_errors=True)
        os.makedirs(os.path.join(root, folder))
    os.chown(os.path.join(root, "user"), 1234, 1234)
    if not os.path.exists(os.path.join(root, "dev/null")):
        os.mknod(os.path.join(root, "dev/null"), 0o666 | 0o020000, os.makedev(1, 3))
    for path in given + [os.path.join(ROOT, "tests", "packages", "walk.sh"), os.path.join(ROOT, "tests", "fixtures", TRACE)]:
        shutil.copy(path, os.path.join(root, "given"))
    for path in map(os.path.basename, given):
        (wheel if path.endswith(".whl") else archive)(root, title, path)


def wheels():
    """What `make wheel` left for this machine."""
    return glob.glob(os.path.join(ROOT, "dist", "%s-*_x86_64.whl" % dist_info.DISTRIBUTION))


def main():
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        sys.exit("roots: only root can change the root folder of a process, and debootstrap makes roots; apt-get install debootstrap, then sudo make roots-test")
    unknown = [name for name in sys.argv[1:] if name not in SYSTEMS]
    found = wheels()
    if unknown or len(found) != 1:
        sys.exit("roots: there are %s" % ", ".join(SYSTEMS) if unknown else "roots: no wheel in dist/; make wheel first")
    os.makedirs(ROOTS, exist_ok=True)
    given = [found[0], relocatable.make(found[0], ROOTS, 315532800)]
    for name in sys.argv[1:] or SYSTEMS:
        tried(name, given)
    print("%d passed, %d failed, %d skipped" % (sums["ok"], sums["FAIL"], sums["skipped"]))
    sys.exit(1 if sums["FAIL"] else 0)


if __name__ == "__main__":
    main()
