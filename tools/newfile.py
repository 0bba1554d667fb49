"""What tools/new-* share: templates, rows of tables, and checks of names. Run from anywhere."""
import os
import re
import subprocess
import sys

import wrapcomments

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def wanted_name(usage, prefix=""):
    """The one argument, a name in lower case; says what is wrong with it and stops otherwise. The file will be called
    `prefix` and the name."""
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(usage.strip())
    if not re.fullmatch(r"[a-z][a-z0-9_]{2,30}", sys.argv[1]):
        sys.exit("the name '%s' is not 3 to 31 of a-z, 0-9 and _ with a letter first; for example %s" %
                 (sys.argv[1], (re.sub(r"[^a-z0-9]+", "_", sys.argv[1].lower()).strip("_0123456789") + "_rows")[-31:].strip("_0123456789")))
    os.chdir(ROOT)
    taken = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "src"], stdout=subprocess.PIPE, check=True).stdout.decode().split()
    for path in taken:
        if os.path.splitext(os.path.basename(path))[0] == prefix + sys.argv[1]:
            sys.exit("%s exists already; file names are unique in src" % path)
    return sys.argv[1]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "x", encoding="utf-8") as file:
        file.write(wrapcomments.wrap(text) if path.endswith((".c", ".h")) else text)
    if path.endswith((".c", ".h")):
        subprocess.run(["clang-format", "-i", path], check=True)
    print("made    %s" % path)


def insert(path, row, after):
    """Puts `row` behind the last line that matches `after`."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    places = [i for i, line in enumerate(lines) if re.search(after, line)]
    if not places:
        sys.exit("%s: nothing like %s" % (path, after))
    lines.insert(places[-1] + 1, row)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    print("row in  %s: %s" % (path, row.strip()))


def insert_sorted(path, row, like):
    """Puts `row` among the lines that match `like`, in order."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    places = [i for i, line in enumerate(lines) if re.search(like, line)]
    at = next((i for i in places if lines[i] > row), places[-1] + 1)
    lines.insert(at, row)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    print("row in  %s: %s" % (path, row.strip()))


def run(*command):
    """A step that builds or needs what was built, quiet when all is well; tests/generators.py leaves it out where it compiles the new files alone."""
    if os.environ.get("NEW_WITHOUT_BUILD"):
        print("without %s" % " ".join(command))
        return
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(done.stdout.decode("utf-8", "replace") + "failed: %s" % " ".join(command))
    print("done    %s" % " ".join(command), flush=True)


def build(*targets):
    """Compiles (NEW_BUILD says how, when it is not `make`), then makes what needs the program, such as `docs`."""
    run(*os.environ.get("NEW_BUILD", "make --quiet all").split())
    for target in targets:
        run("make", "--quiet", "--old-file=all", target)


def finish(next_steps):
    print("\n" + next_steps.strip() + "\nWhen it does what you want, say what users see in CHANGELOG.md.")
