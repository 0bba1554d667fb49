#!/usr/bin/env python3
"""What a release says of itself, without making one: one version everywhere, no release of a changed tree, an archive that install.sh puts into
any folder and takes out again. `make release` and `make roots-test` do the rest; what `make release` left in build/release/ is tried here, too.

    tests/release.py
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

from harness import FIXTURES, PROGRAM, ROOT, Tally, neurolens, scratch

sys.path.insert(0, os.path.join(ROOT, "tools"))
import dist_info  # noqa: E402
import relocatable  # noqa: E402
import release  # noqa: E402

RELEASE = os.path.join(ROOT, "build", "release")
tally = Tally("release")


def run(*words, cwd=None, env=None):
    done = subprocess.run(words, cwd=cwd or scratch(), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def versions():
    """One version; what pip reads of the source is what the wheel says."""
    tally.check("every file has the version of meson.build", release.wrong_versions() == [], release.wrong_versions())
    tally.check("so does the program", neurolens(["version"]).stdout.startswith("neurolens " + dist_info.version()), neurolens(["version"]).stdout)
    with open(os.path.join(ROOT, "pyproject.toml")) as file:
        text = file.read()
    told = dist_info.metadata([])
    said = {"name": "Name", "description": "Summary", "requires-python": "Requires-Python", "license": "License-Expression"}
    wrong = [key for key, word in said.items()
             if re.search(r'^%s = "(.*)"$' % key, text, re.M).group(1) != re.search("^%s: (.*)$" % word, told, re.M).group(1)]
    plug_in = dict(re.findall(r'^\[project.entry-points.pytest11\]\nnlens = "(.*)"$()', text, re.M))
    tally.check("pyproject.toml says what the wheel says", not wrong and dist_info.ENTRY_POINTS == "[pytest11]\nnlens = %s\n" % "".join(plug_in) and
                'dynamic = ["version"]' in text, (wrong, plug_in))


def refused():
    """A copy of the script in a tree of its own, with and without a change."""
    tree = os.path.join(scratch(), "tree")
    os.makedirs(os.path.join(tree, "tools"))
    for name in ("release.py", "wheel.py", "wheel_libraries.py", "wheel_machine.py", "relocatable.py", "dist_info.py"):
        shutil.copy(os.path.join(ROOT, "tools", name), os.path.join(tree, "tools"))
    for name in ("meson.build", "debian/changelog", "include/neurolens-engine.h"):
        os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), os.path.join(tree, name))
    env = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null", PYTHONDONTWRITEBYTECODE="1")
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "-qm", "all"]):
        run("git", *words, cwd=tree, env=env)
    with open(os.path.join(tree, "new"), "w"):
        pass
    status, text = run(sys.executable, "tools/release.py", cwd=tree, env=env)
    tally.check("no release of a tree with changes", status == 1 and "?? new" in text and not os.path.exists(os.path.join(tree, "build")), text)
    os.remove(os.path.join(tree, "new"))
    with open(os.path.join(tree, "debian", "changelog"), "r+") as file:
        file.write("neurolens (9.9.9) ")
    status, text = run(sys.executable, "tools/release.py", "--allow-dirty", cwd=tree, env=env)
    tally.check("no release with two versions", status == 1 and "debian/changelog says 9.9.9" in text, text)


def stand_in():
    """A wheel that has this build's program and recorder: what `make wheel` compiles for a minute."""
    path = os.path.join(scratch(), "stand_in_x86_64.whl")
    build = os.path.dirname(PROGRAM)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, place in ((PROGRAM, "n.data/scripts/neurolens"), (os.path.join(build, "src/capture/libneurolens-capture.so"), "nlens/libneurolens-capture.so"),
                            (os.path.join(build, "src/engine/libneurolens.so.0"), "nlens/libneurolens.so.0"),
                            (os.path.join(ROOT, "include/neurolens-engine.h"), "nlens/include/neurolens-engine.h")):
            entry = zipfile.ZipInfo(place)
            entry.external_attr = 0o100755 << 16
            with open(name, "rb") as file:
                archive.writestr(entry, file.read())
    return path


def installs():
    """install.sh: into a folder, over an older version, out again; the folder's other files stay."""
    relocatable.PROGRAM = PROGRAM
    wheel, folder = stand_in(), os.path.join(scratch(), "archives")
    for name in ("a", "b"):
        os.makedirs(os.path.join(folder, name))
    paths = [relocatable.make(wheel, os.path.join(folder, name), 1000000000, 1) for name in ("a", "b")]
    contents = []
    for path in paths:
        with open(path, "rb") as file:
            contents.append(file.read())
    tally.check("two archives of one wheel are equal", contents[0] == contents[1] and len(contents[0]) > 1000000)
    with tarfile.open(paths[0]) as archive:
        top = archive.getnames()[0].split("/")[0]
        archive.extractall(folder)
    unpacked, prefix = os.path.join(folder, top), os.path.join(folder, "prefix")
    os.makedirs(os.path.join(prefix, "bin"))
    with open(os.path.join(prefix, "bin", "theirs"), "w"):
        pass
    script = os.path.join(unpacked, "install.sh")
    status, text = run(script, "--prefix", prefix)
    command = os.path.join(prefix, "bin", "neurolens")
    good = status == 0 and "add it to your path" in text and run(command, "version")[0] == 0
    out = os.path.join(folder, "t.nlt")
    status, text = run(command, "run", "-q", "-o", out, "--native", "off", "--", "true")
    tally.check("install.sh into a folder; the program records there", good and status == 0 and os.path.exists(out), text)
    if shutil.which("pkg-config") and shutil.which("cc"):
        flags = run("pkg-config", "--cflags", "--libs", "neurolens-engine", env=dict(os.environ, PKG_CONFIG_PATH=os.path.join(prefix, "lib", "pkgconfig")))[1]
        status, text = run("sh", "-c", 'cc -o read "$0" %s -Wl,-rpath,"$1/lib" && ./read "$2"' % flags.strip(), os.path.join(ROOT, "examples", "c", "read.c"), prefix,
                           os.path.join(FIXTURES, "ort_cpu_mlp.json.gz"))
        tally.check("a program finds the library there by pkg-config", status == 0 and " ms " in text, flags + text)
    with open(os.path.join(unpacked, "files")) as file:
        kept = [line for line in file.read().splitlines() if "zsh" not in line]
    with open(os.path.join(unpacked, "files"), "w") as file:
        file.write("".join(line + "\n" for line in kept))
    status, text = run(script, "--prefix=" + prefix)
    tally.check("a newer version takes what it has no more", status == 0 and not os.path.exists(os.path.join(prefix, "share", "zsh")) and
                os.path.exists(os.path.join(prefix, "share", "fish")), text)
    status, text = run(script, "--uninstall", "--prefix", prefix)
    left = [os.path.join(place, name) for place, _, names in os.walk(prefix) for name in names]
    tally.check("--uninstall leaves other files alone, and nothing of ours", status == 0 and left == [os.path.join(prefix, "bin", "theirs")], (text, left))
    with open(os.path.join(unpacked, "files"), "w") as file:
        file.write("".join(line + "\n" for line in kept + ["share/nothing"]))
    status, text = run("sh", "-c", 'umask 077; exec "$0" --prefix "$1"', script, prefix)
    closed = [path for path in (command, os.path.join(prefix, "share"), os.path.join(prefix, "share", "fish")) if os.stat(path).st_mode & 0o055 != 0o055]
    tally.check("an installation that ends early; others may use it whatever root's umask", status == 5 and not closed, (text, closed))
    status, text = run(script, "--uninstall", "--prefix", prefix)
    left = [os.path.join(place, name) for place, _, names in os.walk(prefix) for name in names]
    tally.check("--uninstall takes out what it put in", status == 0 and left == [os.path.join(prefix, "bin", "theirs")], (text, left))
    told = {"no such option": run(script, "--what"), "not installed": run(script, "--uninstall", "--prefix", folder)}
    told["a space"] = run(script, "--prefix", prefix + " of mine")
    tally.check("errors say what to do next", told["no such option"][0] == 2 and "--help lists" in told["no such option"][1] and
                told["not installed"][0] == 5 and "--prefix" in told["not installed"][1] and
                told["a space"][0] == 2 and "space" in told["a space"][1], told)


def collected():
    """What make release left."""
    listed = os.path.join(RELEASE, "SHA256SUMS")
    if not os.path.exists(listed):
        tally.skip("build/release", "no release was made here; make release")
        return
    with open(listed) as file:
        sums = dict(reversed(line.split()) for line in file)
    version = re.escape(dist_info.version())
    if not any(re.match(r"neurolens(_profiler)?-%s(?!\.?\d)" % version, name) for name in sums):
        tally.skip("build/release", "what lies there has no file of version %s; make release" % dist_info.version())
        return
    wrong = []
    for name, digest in sums.items():
        with open(os.path.join(RELEASE, name), "rb") as file:
            wrong += [] if hashlib.sha256(file.read()).hexdigest() == digest else [name]
    wanted = [r"neurolens-%s(\+dirty)?\.tar\.gz" % version, r"neurolens_profiler-%s\.tar\.gz" % version, r"neurolens_profiler-%s-.*x86_64\.whl" % version,
              r"neurolens-%s-linux-x86_64\.tar\.gz" % version, r"neurolens-%s(\+dirty)?\.cdx\.json" % version]
    missing = [pattern for pattern in wanted if not any(re.fullmatch(pattern, name) for name in sums)]
    tally.check("build/release: every digest, every kind of file", not wrong and not missing and
                sorted(sums) == sorted(set(os.listdir(RELEASE)) - {"SHA256SUMS"}), (wrong, missing))
    with tarfile.open(glob.glob(RELEASE + "/neurolens_profiler-*.tar.gz")[0]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
        told = archive.extractfile([name for name in archive.getnames() if name.endswith("/PKG-INFO") and name.count("/") == 1][0]).read().decode()
    tally.check("the sdist has what it is built from, and says what the wheel says", {"meson.build", "src/engine/engine.map", "python/nlens/__init__.py"} <= names and
                "\nName: neurolens-profiler\nVersion: %s\n" % dist_info.version() in told, told[:300])


versions()
refused()
if "build-asan" in PROGRAM:
    tally.skip("the archive", "a sanitizer's library cannot be loaded by other programs")
else:
    installs()
collected()
tally.finish()
