#!/usr/bin/env python3
"""Carries out the steps of Containerfile in a clean root of the system that it names, since images cannot be had everywhere: `make container-test`,
as root. Where podman or docker can pull the image, building it is the better test.

    tools/container.py          needs debootstrap, a wheel in dist/, and overlay mounts
"""
import os
import re
import shlex
import shutil
import subprocess
import sys

import relocatable
import roots

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KNOWN = ("FROM", "COPY", "RUN", "USER", "ENV", "WORKDIR", "ENTRYPOINT", "CMD")


def steps(text=None):
    """[(instruction, words)] of Containerfile. Raises ValueError for what nobody should build."""
    if text is None:
        with open(os.path.join(ROOT, "Containerfile"), encoding="utf-8") as file:
            text = file.read()
    found = [tuple(line.split(" ", 1)) for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip() and not line.startswith("#")]
    names = [name for name, _ in found]
    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        raise ValueError("unknown: %s" % unknown)
    last = dict(found)
    if names[0] != "FROM" or ":" not in last["FROM"] or last["FROM"].endswith(":latest"):
        raise ValueError("the system has no version: %s" % last.get("FROM"))
    if last.get("USER", "0") in ("0", "root") or names.index("USER") < max(i for i, name in enumerate(names) if name == "RUN"):
        raise ValueError("the program would run as root")
    if not last["ENTRYPOINT"].startswith("["):
        raise ValueError("a shell would be the first process: write ENTRYPOINT as a list")
    return found


def script(root, given):
    """A shell script for a mount namespace of its own: the root stays as it is."""
    work = os.path.join(roots.ROOTS, "container")
    shutil.rmtree(work, ignore_errors=True)
    for part in ("upper", "work", "all"):
        os.makedirs(os.path.join(work, part))
    place, user, folder, variables, entry = os.path.join(work, "all"), "0:0", "/", {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, []
    lines = ["set -eu", "mount -t tmpfs tmpfs %s" % shlex.quote(os.path.dirname(place)), "cd %s" % shlex.quote(os.path.dirname(place)), "mkdir upper work all",
             "mount -t overlay overlay -o lowerdir=%s,upperdir=upper,workdir=work all" % root, "mount -t proc proc all/proc"]

    def inside(words):
        env = " ".join("%s=%s" % (key, shlex.quote(value)) for key, value in variables.items())
        return "chroot --userspec=%s all /usr/bin/env -i %s /bin/sh -c %s" % (
            user, env, shlex.quote("cd %s && %s" % (folder, words)))
    for name, words in steps():
        if name == "COPY":
            lines.append("cp %s all%s" % (shlex.quote(given), words.split()[1]))
        elif name == "RUN":
            lines.append(inside(words))
        elif name == "USER":
            user = "%s:%s" % (words, words)
        elif name == "ENV":
            key, value = words.split("=", 1)
            variables[key] = value
        elif name == "WORKDIR":
            folder = words
            lines.append("mkdir -p all%s" % words)
        elif name == "ENTRYPOINT":
            entry = re.findall(r'"([^"]*)"', words)
    lines.append("cp %s all%s" % (shlex.quote(os.path.join(ROOT, "tests", "fixtures", roots.TRACE)), folder))
    for arguments in ("version", "analyze " + roots.TRACE, "run -q -o $HOME/t.nlt -- true", "doctor"):
        lines.append(inside(" ".join(entry) + " " + arguments) + " >out 2>&1 || { cat out; echo FAIL container; exit 1; }")
        lines.append("echo " + shlex.quote("ok container: " + arguments))
    lines.append(inside("id -u") + " | grep -qx 10001")
    lines.append("! %s 2>/dev/null" % inside("touch /usr/local/bin/neurolens"))
    lines.append("echo ok container: its user has number 10001 and cannot change the program")
    return "\n".join(lines)


def main():
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        sys.exit("container: only root can change the root folder of a process, and debootstrap makes roots")
    wheels = roots.wheels()
    if len(wheels) != 1:
        sys.exit("container: no wheel in dist/; make wheel first")
    name = re.match(r"debian:(\w+)", dict(steps())["FROM"]).group(1)
    roots.SYSTEMS.setdefault(name, ("Debian " + name, roots.DEBIAN, "main"))
    root = roots.made(name)
    if not root:
        sys.exit(5)
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script(root, relocatable.make(wheels[0], roots.ROOTS, 315532800, 1))])
    print("%d passed, %d failed, 0 skipped" % ((5, 0) if done.returncode == 0 else (0, 1)))
    sys.exit(1 if done.returncode else 0)


if __name__ == "__main__":
    main()
