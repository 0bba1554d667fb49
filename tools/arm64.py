#!/usr/bin/env python3
"""Tries the wheel for arm64 on an x86-64 machine: qemu runs its programs in a clean root of Debian 11 for arm64. `make arm64-test` calls it, as root.

    tools/arm64.py [PROFILE…]      profiles to compare on (files below tests/fixtures and ../shared/samples when none is named)

The wheel is installed there into a fresh virtual environment, all commands are walked (tests/packages/walk.sh), the C extension is loaded, and what
every reading command answers is compared with what the x86-64 wheel answers, byte for byte (tests/packages/answers.sh; compressed files unpacked).
Recording with native events needs a real machine: the emulator has none. Nothing is installed, and the emulator is known to the kernel in a namespace of its own alone, which
ends with this program (Linux 6.7).
"""
import glob
import gzip
import os
import shutil
import subprocess
import sys

import roots
import wheel_libraries
from roots import say

ROOT, ROOTS = roots.ROOT, roots.ROOTS
RELEASE = "bullseye"
# A program of arm64, as its first bytes say it (F: the emulator is opened now, so that it is found in any root).
BINFMT = (r":qemu-aarch64:M::\x7f\x45\x4c\x46\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:"
          r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:%s:OF")
START = """set -e
mount -t binfmt_misc binfmt /proc/sys/fs/binfmt_misc
printf %%s '%(binfmt)s' >/proc/sys/fs/binfmt_misc/register
mount -t proc proc %(root)s/proc
mount --bind /dev/null %(root)s/dev/null
mount --bind /dev/urandom %(root)s/dev/urandom
exec chroot %(root)s /usr/bin/env -i HOME=/user LANG=C.UTF-8 "$@"
"""
SAMPLES = ["made_gpu_train.json.gz", "jax_cpu.xplane.pb", "ort_cpu_mlp.json.gz", "torch_cpu_stack.json.gz", "torch_cpu_train.json.gz"]
MAX_BYTES = 1 << 20  # of a shared sample: the emulator takes ten times as long


def emulator():
    """qemu-aarch64-static: the installed one, or Debian's, unpacked."""
    folder = os.path.join(ROOTS, "qemu")
    found = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64-static", path=os.path.join(folder, "root", "usr", "bin"))
    if not found and wheel_libraries.fetched(folder, ["download", "qemu-user-static"]):
        found = shutil.which("qemu-aarch64-static", path=wheel_libraries.unpacked(folder)["PATH"])
    return found


def made():
    """The folder of the root: debootstrap's first part, and the other packages unpacked; none of their scripts runs."""
    folder = os.path.join(ROOTS, RELEASE + "-arm64")
    if os.path.exists(os.path.join(folder, "made")):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(ROOTS, exist_ok=True)
    with open(folder + ".log", "w") as log:
        status = subprocess.run(["debootstrap", "--foreign", "--arch=arm64", "--variant=minbase", "--include=python3,python3-venv",
                                 RELEASE, folder, roots.DEBIAN], stdout=log, stderr=subprocess.STDOUT).returncode
    if status:
        return None
    for path in glob.glob(folder + "/var/cache/apt/archives/*.deb"):
        wheel_libraries.run(["dpkg", "-x", path, folder])
    for name in ("null", "urandom"):
        open(os.path.join(folder, "dev", name), "a").close()
    open(os.path.join(folder, "made"), "w").close()
    return folder


def inside(root, qemu, *words):
    """Runs a program of arm64 in the root; its status and what it wrote."""
    start = START % {"binfmt": BINFMT % qemu, "root": root}
    done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-c", start, "sh"] + list(words),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=3000)
    return done.returncode, done.stdout


def profiles(named):
    """The named files, or fixtures and the smaller shared samples of each format."""
    if named:
        return named
    found = [os.path.join(ROOT, "tests", "fixtures", name) for name in SAMPLES]
    shared = os.path.join(ROOT, "..", "shared", "samples")
    if not os.path.isdir(shared):
        say("skipped", "shared samples: no ../shared")
        return found
    for folder in sorted(os.listdir(shared)):
        files = [path for path in glob.glob(os.path.join(shared, folder, "**"), recursive=True) if os.path.isfile(path) and
                 2000 < os.path.getsize(path) < MAX_BYTES and not path.endswith((".md", ".txt", ".py", ".tsv"))]
        found += sorted(files, key=lambda path: (-os.path.getsize(path), path))[:1]
    return found


def given(root, wheels, files):
    """Puts into a root what is tried there, under the same names in each."""
    for folder in ("given", "user", "answers"):
        shutil.rmtree(os.path.join(root, folder), ignore_errors=True)
    os.makedirs(os.path.join(root, "given", "profiles"))
    os.makedirs(os.path.join(root, "user"))
    for path in files:
        shutil.copy2(path, os.path.join(root, "given", "profiles", "%s_%s" % (os.path.basename(os.path.dirname(path)), os.path.basename(path))))
    here = os.path.join(ROOT, "tests")
    for path in wheels + [os.path.join(here, "packages", name) for name in ("walk.sh", "answers.sh")] + [os.path.join(here, "fixtures", roots.TRACE)]:
        shutil.copy(path, os.path.join(root, "given"))


def answered(run, root):
    names = sorted(os.listdir(os.path.join(root, "given", "profiles")))
    status, text = run(root, "PATH=/user/venv/bin:/usr/bin:/bin", "sh", "/given/answers.sh", "/answers", *["/given/profiles/" + name for name in names])
    return status == 0, text


def content_of(path):
    """The bytes of a file, unpacked when they are compressed: libisal finds other matches on other processors."""
    with open(path, "rb") as file:
        content = file.read()
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


def unequal(first, second):
    """Names of answers that differ or that only one has, and how many there are."""
    def names(folder):
        return {os.path.relpath(os.path.join(where, name), folder) for where, _, files in os.walk(folder) for name in files}
    both = names(first) & names(second)
    wrong = [name for name in both if content_of(os.path.join(first, name)) != content_of(os.path.join(second, name))]
    return sorted(wrong) + sorted(names(first) ^ names(second)), len(both)


EXTENSION = """
import sys, nlens
from nlens import _native
assert nlens._capture.__name__ == "nlens._capture", nlens._capture
assert _native.find() is not None
profile = nlens.open("/given/%s")
print(nlens._capture.__file__, profile.answer["class"], len(profile.sql("SELECT * FROM kernels")))
@nlens.profile_function
def f(): return 3
with nlens.step(), nlens.layer("x"): f()
""" % roots.TRACE


def tried(root, qemu, x86, wheels, files):
    def emulated(where, *words):
        return inside(where, qemu, *words)
    given(root, wheels, files)
    given(x86, wheels, files)
    name = [os.path.basename(path) for path in wheels if "aarch64" in path][0]
    install = "python3 -m venv /user/venv && /user/venv/bin/pip install --quiet --no-index --no-deps /given/%s"
    status, text = inside(root, qemu, "PATH=/usr/bin:/bin", "sh", "-ec", install % name)
    if status:
        say("FAIL", "arm64: pip does not install the wheel", text)
        return
    say("ok", "arm64: pip installs %s" % name)
    status, text = inside(root, qemu, "/user/venv/bin/python", "-c", EXTENSION)
    say("FAIL" if status or "compute" not in text else "ok", "arm64: the C extension and libneurolens on CPython 3.9", text)
    roots.inside(x86, "sh", "-ec", install % [os.path.basename(path) for path in wheels if "x86_64" in path][0])
    status, text = inside(root, qemu, "PATH=/user/venv/bin:/usr/bin:/bin", "sh", "/given/walk.sh", "/given/" + roots.TRACE, "/user/venv/bin/python")
    say("FAIL" if status else "ok", "arm64: all commands: %s" % (text.strip().splitlines() or ["nothing"])[-1],
        "\n".join(line for line in text.splitlines() if not line.startswith("ok ")) if status else "")
    for run, where in ((emulated, root), (roots.inside, x86)):
        good, text = answered(run, where)
        if not good:
            say("FAIL", "arm64: answers.sh in " + os.path.basename(where), text)
            return
    wrong, count = unequal(os.path.join(root, "answers"), os.path.join(x86, "answers"))
    say("FAIL" if wrong or count < 40 * len(files) else "ok", "arm64: %d answers about %d profiles, equal to those of x86-64" % (count, len(files)), "\n".join(wrong))


def main():
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        sys.exit("arm64: only root can change the root folder of a process, and debootstrap makes roots; apt-get install debootstrap, then sudo make arm64-test")
    wheels = [path for machine in ("aarch64", "x86_64") for path in glob.glob(os.path.join(ROOT, "dist", "*manylinux*_%s.whl" % machine))]
    if len(wheels) != 2:
        sys.exit("arm64: dist/ lacks a wheel; make wheel, and make wheel MACHINE=aarch64, first")
    root, qemu, x86 = made(), emulator(), roots.made(RELEASE)
    if not root or not qemu or not x86:
        say("skipped", "arm64: no root or no emulator can be had here")
    elif "aarch64" not in inside(root, qemu, "/bin/uname", "-m")[1]:
        say("skipped", "arm64: this kernel has no binfmt_misc for namespaces (Linux 6.7)")
    else:
        tried(root, qemu, x86, wheels, profiles(sys.argv[1:]))
    print("%d passed, %d failed, %d skipped" % (roots.sums["ok"], roots.sums["FAIL"], roots.sums["skipped"]))
    sys.exit(1 if roots.sums["FAIL"] else 0)


if __name__ == "__main__":
    main()
