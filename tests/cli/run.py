#!/usr/bin/env python3
"""Golden tests of the command line.

A case is a folder tests/cli/NAME with
    cmd      a bash script; `neurolens` is on its PATH, $FIXTURES and $TESTS are set, it runs in an
             empty folder that is also its home
    stdout, stderr, status   what must come out (absent: nothing, nothing, 0)
    mask     optional: lines "REGEX => TEXT" applied to both outputs before comparing

    tests/cli/run.py [NAME...]            run all, or those whose name contains NAME
    tests/cli/run.py --accept [NAME...]   write what came out as what is expected
"""
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import FIXTURES, ROOT, TESTS, Tally, environment, meant  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PARTS = ("stdout", "stderr", "status")


def read(case, part, default=""):
    try:
        with open(os.path.join(HERE, case, part), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return default


def masks(case, folder):
    pairs = [(re.escape(folder), "$HOME"), (re.escape(FIXTURES), "$FIXTURES"),
             (re.escape(TESTS), "$TESTS"), (re.escape(ROOT), "$ROOT")]
    for line in read(case, "mask").splitlines():
        if " => " in line:
            pairs.append(tuple(line.split(" => ", 1)))
    return pairs


def run(case):
    folder = os.path.realpath(tempfile.mkdtemp(prefix="neurolens-cli-"))
    try:
        script = os.path.join(HERE, case, "cmd")
        try:
            done = subprocess.run(["bash", script], cwd=folder, env=environment(folder),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=60)
        except subprocess.TimeoutExpired:
            return {"stdout": "", "stderr": "timed out\n", "status": "none\n"}
        got = {"stdout": done.stdout.decode("utf-8", "replace"),
               "stderr": done.stderr.decode("utf-8", "replace"),
               "status": "%d\n" % done.returncode}
        for part in ("stdout", "stderr"):
            for pattern, text in masks(case, folder):
                got[part] = re.sub(pattern, text, got[part], flags=re.M)
        return got
    finally:
        shutil.rmtree(folder, True)


def accept(case, got):
    for part in PARTS:
        path = os.path.join(HERE, case, part)
        if got[part] in ("", "0\n") and not (part == "status" and got[part] == ""):
            if os.path.exists(path):
                os.unlink(path)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(got[part])


def main():
    words = sys.argv[1:]
    accepting = "--accept" in words
    wanted = [w for w in words if not w.startswith("--")]
    tally = Tally("cli")
    for case in sorted(os.listdir(HERE)):
        if not os.path.exists(os.path.join(HERE, case, "cmd")):
            continue
        if wanted and not any(w in case for w in wanted):
            continue
        got = run(case)
        if accepting:
            accept(case, got)
        details = ""
        for part in PARTS:
            want = read(case, part, "0\n" if part == "status" else "")
            if want != got[part]:
                details += "".join(difflib.unified_diff(
                    want.splitlines(True), got[part].splitlines(True),
                    "%s/%s expected" % (case, part), "got"))
        tally.check(case, not details, meant("tests/cli/run.py --accept " + case, details))
    tally.finish()


main()
