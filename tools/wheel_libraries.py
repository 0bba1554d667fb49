"""Libraries that the wheel needs otherwise than Debian builds them, from Debian's source packages (tools/wheel.py).

Each function gives None, and says why, when the source cannot be had.
"""
import glob
import os
import re
import shutil
import subprocess
import sys


def say(text):
    print("wheel: " + text, flush=True)


def run(words, **more):
    """What a command printed; ends this program where the command fails."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        sys.exit("wheel: %s ended with %d:\n%s" % (" ".join(words)[:300], done.returncode, done.stdout[-3000:]))
    return done.stdout


DEBIAN = "http://deb.debian.org/debian"


def fetched(folder, *commands, release=None, architecture=None, mirror=DEBIAN, keys=None):
    """Runs commands of apt-get in folder with Debian's own sources and lists of its own: what they wrote. None when one fails. release and
    architecture: this machine's when not given; keys: a file of those that sign the mirror, when this machine does not have them."""
    where = os.path.abspath(folder)
    for part in ("lists", os.path.join("cache", "archives")):
        os.makedirs(os.path.join(where, part, "partial"), exist_ok=True)
    if not release:
        found = re.search(r"VERSION_CODENAME=(\w+)", open("/etc/os-release").read())
        release = found.group(1) if found else "stable"
    with open(os.path.join(where, "sources.list"), "w") as file:
        for kind in ("deb", "deb-src"):
            file.write("%s %s%s %s main\n" % (kind, "[signed-by=%s] " % keys if keys else "", mirror, release))
    private = ["-o", "Dir::Etc::sourcelist=%s/sources.list" % where, "-o", "Dir::Etc::sourceparts=-", "-o",
               "Dir::State::lists=%s/lists" % where, "-o", "Dir::Cache=%s/cache" % where]
    if architecture:
        private += ["-o", "APT::Architecture=" + architecture, "-o", "APT::Architectures=" + architecture]
    wrote = []
    for words in (["update"],) + commands:
        done = subprocess.run(["apt-get"] + private + ["-qq"] + words, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        wrote.append(done.stdout.decode("utf-8", "replace"))
        if done.returncode != 0:
            say("%s: %s" % (" ".join(words), wrote[-1].strip()[-300:]))
            return None
    return "".join(wrote) or " "


def ubuntu_keys(folder):
    """The file of Ubuntu's keys, from a package that Debian signs; None when it cannot be had."""
    pattern = os.path.join(folder, "root", "usr", "share", "keyrings", "ubuntu-archive-keyring.gpg")
    if not os.path.exists(pattern) and fetched(folder, ["download", "ubuntu-keyring"], release="trixie"):
        unpacked(folder)
    return os.path.abspath(pattern) if os.path.exists(pattern) else None


def source_in(folder, pattern):
    return [path for path in glob.glob(os.path.join(folder, pattern)) if os.path.isdir(path)][0]


def unpacked(folder):
    """The environment in which the programs of the packages downloaded into folder are found. Nothing is installed."""
    root = os.path.join(os.path.abspath(folder), "root")
    for package in glob.glob(os.path.join(folder, "*.deb")):
        run(["dpkg", "-x", package, root])
    return dict(os.environ, PATH=os.path.join(root, "usr", "bin") + ":" + os.environ["PATH"],
                LD_LIBRARY_PATH=":".join(glob.glob(os.path.join(root, "usr", "lib", "*-linux-gnu"))))


def isal(folder, machine):
    """libisal.a: Debian builds the shared library alone."""
    library = os.path.join(folder, "libisal.a")
    if os.path.exists(library):
        return library
    assembler = [["download", "nasm"]] if machine.name == "x86_64" and not shutil.which("nasm") else []
    if not fetched(folder, ["source", "libisal"], *assembler):
        return None
    nasm = shutil.which("nasm", path=unpacked(folder)["PATH"])
    source = source_in(folder, "*isa*l-*")
    include = [word for part in ("include", "igzip", "crc") for word in ("-I", os.path.join(source, part) + "/")]
    how = {".asm": [nasm, "-f", "elf64", "-D", "AS_FEATURE_LEVEL=10", "-D", "HAVE_AS_KNOWS_AVX512"],
           ".S": machine.cc + ["-D__ASSEMBLY__", "-c"], ".c": machine.cc + ["-O2", "-fPIC", "-c"]}
    objects = []
    for part in ("igzip", "crc"):  # inflate and checksums; not erasure codes and RAID
        lists = [os.path.join(source, part, name) for name in ("Makefile.am", os.path.join(machine.name, "Makefile.am"))]
        text = "\n".join(open(path).read().replace("\\\n", " ") for path in lists if os.path.exists(path))
        for path in " ".join(re.findall(r"^lsrc(?:_%s)?\s*\+=(.*)$" % machine.name, text, re.M)).split():
            out = os.path.join(folder, path.replace("/", "_") + ".o")
            run(how[os.path.splitext(path)[1]] + include + ["-o", out, os.path.join(source, path)])
            objects.append(out)
    run(machine.ar + ["rcsD", library] + objects)
    return library


PKG_CONFIG = """Name: %(name)s
Description: %(name)s of elfutils, for shared libraries
Version: %(version)s
Cflags: -I%(includes)s
Libs: -L%(where)s -l%(short)s
Libs.private: -lz -lzstd
"""


# Debian's source package, its library, name for pkg-config, and what its configure would find on any Linux.
MOVABLE = [("jansson", "jansson", "jansson", ["STDINT_H", "LOCALE_H", "UNISTD_H", "FCNTL_H", "ENDIAN_H", "SCHED_H", "SYS_PARAM_H", "SYS_STAT_H", "SYS_TIME_H",
                                              "SYS_TYPES_H", "CLOSE", "GETPID", "GETTIMEOFDAY", "OPEN", "READ", "SCHED_YIELD", "STRTOLL", "LOCALECONV"]),
           ("libyaml", "yaml", "yaml-0.1", [])]


def movable(folder, machine):
    """libjansson.a and libyaml.a that shared libraries can contain, with pkg-config files in folder: Debian's are compiled for programs alone.
    False when their sources cannot be had."""
    where = os.path.abspath(folder)
    if all(os.path.exists(os.path.join(where, name + ".pc")) for _, _, name, _ in MOVABLE):
        return True
    os.makedirs(where, exist_ok=True)
    if not fetched(folder, ["source"] + [package for package, _, _, _ in MOVABLE]):
        return False
    for package, short, name, has in MOVABLE:
        source = os.path.abspath(source_in(folder, package + "-*"))
        version = source.rsplit("-", 1)[1]
        say("compiling %s for libneurolens" % package)
        words = ["-DHAVE_%s=1" % each for each in has] + ["-DUSE_URANDOM=1", "-DINITIAL_HASHTABLE_ORDER=3"] * bool(has)
        words += ["-DYAML_VERSION_%s=%s" % pair for pair in zip(("MAJOR", "MINOR", "PATCH"), version.split("."))] + ['-DYAML_VERSION_STRING="%s"' % version]
        words.append("-ffile-prefix-map=%s=%s" % (source, package))  # asserts have the name of their file
        open(os.path.join(source, "src", "jansson_private_config.h"), "w").close()  # the words say it
        objects = []
        for path in sorted(glob.glob(os.path.join(source, "src", "*.c"))):
            objects.append(os.path.join(where, short + "_" + os.path.basename(path)[:-2] + ".o"))
            run(machine.cc + ["-O2", "-fPIC", "-c", "-I", os.path.join(source, "src"), "-I", os.path.join(source, "include")] + words + ["-o", objects[-1], path])
        run(machine.ar + ["rcsD", os.path.join(where, "lib%s.a" % short)] + objects)
        with open(os.path.join(where, name + ".pc"), "w") as file:
            file.write("Name: %s\nDescription: %s, for shared libraries\nVersion: %s\nCflags: -I%s\nLibs: -L%s -l%s\n" % (
                name, name, version, machine.includes, where, short))
    return True


def elfutils(folder, machine):
    """The folder of pkg-config files of a libelf.a and a libdw.a that shared libraries can contain.

    Debian's are compiled for programs alone: their thread-local variables have places that only a program can give.
    """
    where = os.path.abspath(folder)
    if os.path.exists(os.path.join(where, "libdw.pc")):
        return where
    os.makedirs(where, exist_ok=True)
    macros = [] if shutil.which("m4") else [["download", "m4", "libsigsegv2"]]
    if not fetched(folder, ["source", "elfutils"], *macros):
        return None
    around = unpacked(folder)
    source = os.path.abspath(source_in(folder, "elfutils-*"))
    say("compiling libelf and libdw for libneurolens")
    run(["./configure", "--disable-debuginfod", "--disable-libdebuginfod", "--disable-nls", "--without-bzlib", "--without-lzma", "CFLAGS=-O2 -g0 -fPIC"] + machine.configure, cwd=source, env=around)
    for part, targets in (("lib", []), ("libelf", ["libelf.a"]), ("libcpu", []), ("backends", []), ("libebl", []), ("libdwelf", []),
                          ("libdwfl", []), ("libdw", ["libdw.a"])):
        run(["make", "-j", str(min(2, os.cpu_count() or 1)), "-C", part] + targets, cwd=source, env=around)
    for name in ("libelf", "libdw"):
        shutil.copy(os.path.join(source, name, name + ".a"), where)
        with open(os.path.join(where, name + ".pc"), "w") as file:
            file.write(PKG_CONFIG % {"name": name, "short": name[3:], "where": where, "includes": machine.includes, "version": source.rsplit("-", 1)[1]})
    return where
