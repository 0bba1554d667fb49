#!/usr/bin/env python3
"""What the compiler and the linker put around the code, looked for in every program and library of the build, and of the wheel in dist/.

    tests/hardening.py [FILE...]     those alone; a .whl is unpacked (`make wheel` does so)
"""
import glob
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile

from harness import PROGRAM, ROOT, Tally, scratch

tally = Tally("hardening")
BUILD = os.path.dirname(PROGRAM)
# Of a wheel; without the source of elfutils tools/wheel.py leaves libneurolens out, and says so.
WHEEL = ["_capture.abi3.so", "libneurolens-capture.so", "libneurolens.so.0", "neurolens"]
# `mov %fs:40, …` and `sub` or `cmp` with it: the canary is taken and compared. The linker of the wheel keeps the name of what is
# called then to itself.
CANARY = re.compile(rb"\x64[\x48\x4c][\x2b\x3b\x8b].\x25\x28\0\0\0", re.S)
# `subs x1, x1, x2` and `mov x2, 0`: the canary is compared, and what was read of it is wiped.
ARM_CANARY = re.compile(rb"..([\0-\x1e])\xeb\1\0\x80\xd2", re.S)
# `paciasp` and `bti c`, with which functions of arm64 begin that can be called through a pointer.
LANDINGS = re.compile(rb"\x3f\x23\x03\xd5|\x5f\x24\x03\xd5")


def ask(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace").stdout


def built():
    """The program, the libraries, the C extensions; the wheel where `make wheel` left one."""
    return [PROGRAM] + glob.glob(os.path.join(BUILD, "src", "capture", "*.so")) + glob.glob(os.path.join(BUILD, "src", "engine", "*.so.?.?.?")) + \
        glob.glob(os.path.join(BUILD, "python", "nlens", "*.so")) + glob.glob(os.path.join(ROOT, "dist", "*.whl"))


def unpacked(wheel):
    """What of a wheel the machine runs."""
    folder, paths = os.path.join(scratch(), "hardening-wheel", os.path.basename(wheel)), []
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if archive.open(name).read(4) == b"\x7fELF":
                paths.append(archive.extract(name, folder))
    return paths


def canaries(path, arm):
    with open(path, "rb") as file:
        return len((ARM_CANARY if arm else CANARY).findall(file.read()))


def missing(path):
    """What of it a file does not have."""
    segments, dynamic, symbols = ask("readelf", "-lW", path), ask("readelf", "-dW", path), ask("readelf", "--dyn-syms", "-W", path)
    head = ask("readelf", "-hW", path)
    wheel, arm = "hardening-wheel" in path, "AArch64" in head
    stack = re.search(r"GNU_STACK.*\s(RWE?)\s+(?:0x)?\d+$", segments, re.M)
    found = {
        "position independent": "DYN" in head,
        "stack that cannot be executed": stack is not None and stack.group(1) == "RW",
        "RELRO": "GNU_RELRO" in segments,
        "BIND_NOW": "BIND_NOW" in dynamic or re.search(r"FLAGS_1.*\bNOW\b", dynamic) is not None,
        "no segment to write and execute": re.search(r"LOAD.*\bRWE\b", segments) is None,
        "no text relocations": "TEXTREL" not in dynamic,
        "stack protector": "__stack_chk_fail" in symbols or wheel and canaries(path, arm) > 20,
        "FORTIFY": re.search(r"__\w+_chk\b(?<!__stack_chk)", symbols.replace("__stack_chk_fail", "")) is not None,
        "no RPATH": "RPATH" not in dynamic and "RUNPATH" not in dynamic or wheel,
    }
    if arm:
        with open(path, "rb") as file:
            found["paciasp and bti"] = len(LANDINGS.findall(file.read())) > 10
        # The linker's own canary is the same in every process: tools/wheel.py adds what makes it random.
        found["random canary"] = "getauxval" in symbols or "__stack_chk_guard" in symbols
    elif platform.machine() == "x86_64" and shutil.which("objdump"):
        # Every function that can be called through a pointer begins with it.
        entry = ask("objdump", "-d", "--no-show-raw-insn", "-j", ".text", path) if os.path.getsize(path) < 1 << 20 else ""
        if entry:
            found["endbr64 (CET)"] = entry.count("endbr64") > 10
    return [name for name, there in found.items() if not there]


def flags():
    """How the files of the build are compiled, since a linked file shows only that some of it is."""
    path = os.path.join(BUILD, "compile_commands.json")
    if not os.path.exists(path):
        tally.skip("compiler", "no compile_commands.json")
        return
    with open(path) as file:
        commands = re.findall(r'"command": "(.*?)",\n', file.read())
    wanted = ["-fstack-protector-strong", "-fstack-clash-protection", "_FORTIFY_SOURCE="]
    wanted += ["-fcf-protection"] if platform.machine() == "x86_64" else []
    for flag in wanted:
        without = [command.split()[-1] for command in commands if flag not in command]
        tally.check("all %d files are compiled with %s" % (len(commands), flag), commands and not without, without[:5])


def main():
    if not shutil.which("readelf"):
        tally.skip("hardening", "no readelf")
        tally.finish()
    content = b""
    if not sys.argv[1:]:
        with open(PROGRAM, "rb") as file:
            content = file.read()
    if b"__asan_init" in content or b"__tsan_init" in content:
        tally.skip("hardening", "a build with sanitizers")
        tally.finish()
    for path in sys.argv[1:] or built():
        found = unpacked(path) if path.endswith(".whl") else [path]
        if path.endswith(".whl"):
            tally.check("the programs and libraries of %s" % os.path.basename(path),
                        sorted(os.path.basename(name) for name in found) in (WHEEL, [name for name in WHEEL if name != "libneurolens.so.0"]), found)
        for one in found:
            lacks = missing(one)
            tally.check(os.path.relpath(one, ROOT).split("hardening-wheel/")[-1], not lacks, "without " + ", ".join(lacks))
    if not sys.argv[1:]:
        flags()
    tally.finish()


if __name__ == "__main__":
    main()
