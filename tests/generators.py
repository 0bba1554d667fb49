#!/usr/bin/env python3
"""What tools/new-analysis, new-format and new-cause make passes `make check` untouched: it compiles without a warning, keeps the rules of
the house, stands in every table, and changes no kept answer.

    tests/generators.py          lint, the new unit tests, and of the tests that keep answers what a new analysis, cause or format can
                                 change: about half a minute
    tests/generators.py --all    all of `make check`; minutes

The generators run in a copy of the tree and its build, one after the other, so that only what they change is compiled.
"""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

from harness import PROGRAM, ROOT, Tally

FLAGS = ["-std=gnu17", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wvla", "-Wstrict-prototypes", "-Wmissing-prototypes",
         "-Wconversion", "-Wno-sign-conversion", "-Werror", "-D_FILE_OFFSET_BITS=64", '-DNL_VERSION="test"', '-DCHECK_FOLDER="tests"',
         "-Isrc", "-Iinclude", "-Itests/unit"]
# What is built, in place of all unit tests: the program, and what keeps answers.
BUILD = "ninja -C build neurolens tests/unit/readeach tests/unit/edgesays tests/unit/libforkserver.so"
# Of `make check`: what lists analyses, causes and formats, and of kept answers some of each kind.
TESTS_OF_PRODUCTS = (("cli/run.py", "help", "section", "folder", "completion", "info", "json"), ("golden_run/run.py",),
                     ("corpus_expect/run.py", "/nsys", "/collapsed", "made_up"), ("sums/run.py", "edges", "corpus"), ("altered/run.py", "roc", "made_up"))
UNIT_TESTS = ("test_made_up_gaps", "test_findings", "test_remedies", "test_edges", "test_analyze")
# generator, name, files to compile, (table, what stands in it)
PRODUCTS = (
    ("new-analysis", "made_up_gaps", ("src/tables/made_up_gaps.c", "tests/unit/test_made_up_gaps.c"),
     (("src/tables/analyses.def", "NL_ANALYSIS(made_up_gaps)"), ("src/tables/meson.build", "'made_up_gaps.c'"))),
    ("new-format", "made_up_rows", ("src/ingest/made_up_rows/made_up_rows.c",),
     (("src/ingest/formats.def", "NL_FORMAT_ROW(made_up_rows)"), ("src/ingest/meson.build", "'made_up_rows/made_up_rows.c'"),
      ("fuzz/meson.build", "'made_up_rows'"), ("docs/formats/made_up_rows.md", "made_up_rows_start_ns"))),
    ("new-cause", "made_up_waste", ("src/findings/cause_made_up_waste.c", "tests/unit/test_findings.c", "tests/unit/test_remedies.c"),
     (("src/findings/causes.def", "NL_CAUSE(made_up_waste, 1, "), ("src/findings/remedies.def", 'NL_REMEDY("made_up_waste"'),
      ("src/findings/meson.build", "'cause_made_up_waste.c'"), ("tests/unit/plantedcauses.def", "made_up_waste_little"),
      ("docs/findings.md", "### `made_up_waste`"))),
)


def copy_tree(folder):
    """The tree as it is here, with a repository (the generators and lint ask git for the files) and its build, if there is one."""
    names = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    for name in names.decode().split("\0"):
        source = os.path.join(ROOT, name)
        if name and os.path.isfile(source):
            os.makedirs(os.path.dirname(os.path.join(folder, name)) or folder, exist_ok=True)
            shutil.copy2(source, os.path.join(folder, name))
    subprocess.run("git init -q && git add -A", shell=True, cwd=folder, check=True)
    build = os.path.dirname(PROGRAM)
    if os.path.exists(os.path.join(build, "build.ninja")):
        shutil.copytree(build, os.path.join(folder, "build"), symlinks=True)
    command(folder, "meson", "setup", *(["--reconfigure"] if os.path.isdir(os.path.join(folder, "build")) else []), "build", ".")


def read(path):
    """The text of a file, "" when it is not there."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def command(folder, *words, **more):
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, NEUROLENS=os.path.join(os.path.abspath(folder), "build", "neurolens"), **more))
    return done.returncode, done.stdout.decode("utf-8", "replace")


def unit_tests(tally, folder):
    """The tests that say something about new files, linked alone: all of them take a minute of the compiler's time."""
    build = os.path.join(folder, "build")
    _, text = command(build, "ninja", "-t", "commands", "tests/unit/edgesays")
    link = [word for word in shlex.split(text.strip().split("\n")[-1]) if not word.startswith("tests/unit/edgesays")]
    link.remove("-o")
    sources = ["../tests/unit/%s.c" % name for name in ("alltests",) + UNIT_TESTS]
    flags = [flag for flag in FLAGS if flag[:2] in ("-s", "-D")] + ['-DCHECK_FOLDER="%s/tests"' % folder, "-I../src", "-I../include", "-I../tests/unit"]
    status, text = command(build, *link[:1], *flags, *sources, *link[1:], "-o", "chosentests")
    if tally.check("unit tests are linked", status == 0, text[-2000:]):
        for name in UNIT_TESTS:
            status, text = command(folder, "build/chosentests", name)
            tally.check("products: %s" % name, status == 0, text[-2000:])


def kept_answers(tally, folder):
    for words in TESTS_OF_PRODUCTS:
        status, text = command(folder, sys.executable, "tests/" + words[0], *words[1:])
        bad = [line for line in text.splitlines() if line.startswith("FAIL")]
        tally.check("products: %s" % " ".join(words), status == 0, "\n".join(bad[:10]) + text[-1500:])


def main():
    tally, everything = Tally("generators"), "--all" in sys.argv
    folder = tempfile.mkdtemp(prefix="neurolens-new-")
    more = {} if everything else {"NEW_BUILD": BUILD}
    try:
        copy_tree(folder)
        for tool, name, files, rows in PRODUCTS:
            status, text = command(folder, "tools/" + tool, name, **more)
            lacks = [row for path, row in rows if row not in read(os.path.join(folder, path))]
            tally.check("%s: files and rows" % tool, status == 0 and not lacks, "    exit %d; without %s\n%s" % (status, lacks, text[-2000:]))
            tally.check("%s: says little, and what comes next" % tool, "\nNext: " in text and len(text.splitlines()) < 25, text[-2000:])
            for path in files:
                status, text = command(folder, os.environ.get("CC_GCC", "gcc"), *FLAGS, path)
                tally.check("%s: %s compiles without a warning" % (tool, path), status == 0, text[-2000:])
            again, text = command(folder, "tools/" + tool, name, **more)
            tally.check("%s: a name that is taken is refused" % tool, again != 0 and "exists already" in text, text[-500:])
            for wrong in "Stream-Gaps", "a b":
                status, text = command(folder, "tools/" + tool, wrong, **more)
                tally.check("%s: the name '%s' is refused with the reason" % (tool, wrong), status == 1 and "letter first" in text, text[-500:])
        command(folder, "git", "add", "-A")
        status, text = command(folder, "python3", "tools/lint.py")
        tally.check("lint of the products", status == 0, "\n".join(line for line in text.splitlines() if not line.startswith("ok"))[-3000:])
        if everything:
            status, text = command(folder, "tools/test.py", "--check")
            tally.check("make check of the products", status == 0, text[-4000:])
        else:
            unit_tests(tally, folder)
            kept_answers(tally, folder)
    finally:
        shutil.rmtree(folder, True)
    tally.finish()


main()
