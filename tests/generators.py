#!/usr/bin/env python3
"""What tools/new-analysis, new-format and new-cause make: does it compile without a warning, keep the rules of the
house, and stand in every table?

    tests/generators.py          the new files alone, by lint and the compiler's front end; some seconds
    tests/generators.py --all    `make check` on the product, untouched; minutes

The generators run in a copy of the tree, one after the other.
"""
import os
import shutil
import subprocess
import sys
import tempfile

from harness import ROOT, Tally

FLAGS = ["-std=gnu17", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wvla", "-Wstrict-prototypes", "-Wmissing-prototypes",
         "-Wconversion", "-Wno-sign-conversion", "-Werror", "-D_FILE_OFFSET_BITS=64", '-DNL_VERSION="test"', '-DCHECK_FOLDER="tests"',
         "-Isrc", "-Iinclude", "-Itests/unit"]
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
      ("docs/findings.md", "| `made_up_waste` |"))),
)


def copy_tree(folder):
    """The tree as it is here, with a repository of its own: the generators and lint ask git for the files."""
    names = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    for name in names.decode().split("\0"):
        source = os.path.join(ROOT, name)
        if name and os.path.isfile(source):
            os.makedirs(os.path.dirname(os.path.join(folder, name)) or folder, exist_ok=True)
            shutil.copy2(source, os.path.join(folder, name))
    subprocess.run("git init -q && git add -A", shell=True, cwd=folder, check=True)


def read(path):
    """The text of a file, "" when it is not there."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def command(folder, *words, **more):
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, **more))
    return done.returncode, done.stdout.decode("utf-8", "replace")


def main():
    tally, everything = Tally("generators"), "--all" in sys.argv
    folder = tempfile.mkdtemp(prefix="neurolens-new-")
    more = {} if everything else {"NEW_WITHOUT_BUILD": "1"}
    try:
        copy_tree(folder)
        for tool, name, files, rows in PRODUCTS:
            status, text = command(folder, "tools/" + tool, name, **more)
            lacks = [row for path, row in rows if row not in read(os.path.join(folder, path))]
            tally.check("%s: files and rows" % tool, status == 0 and not lacks, "    exit %d; without %s\n%s" % (status, lacks, text[-2000:]))
            for path in files:
                status, text = command(folder, os.environ.get("CC_GCC", "gcc"), *FLAGS, path)
                tally.check("%s: %s compiles without a warning" % (tool, path), status == 0, text[-2000:])
            again, text = command(folder, "tools/" + tool, name, **more)
            tally.check("%s: a name that is taken is refused" % tool, again != 0 and "exists already" in text, text[-500:])
        command(folder, "git", "add", "-A")
        status, text = command(folder, "python3", "tools/lint.py")
        tally.check("lint of the products", status == 0, "\n".join(line for line in text.splitlines() if not line.startswith("ok"))[-3000:])
        if everything:
            status, text = command(folder, "tools/test.py", "--check")
            tally.check("make check of the products", status == 0, text[-4000:])
    finally:
        shutil.rmtree(folder, True)
    tally.finish()


main()
