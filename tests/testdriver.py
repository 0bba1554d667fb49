#!/usr/bin/env python3
"""The driver of the tests (tools/test.py): what runs again alone, what counts, and what the summary shows."""
import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Tally  # noqa: E402

FAILS = ["sh", "-c", "echo '    why'; echo 'FAIL x: y'; echo '1 passed, 1 failed, 0 skipped'; exit 1"]


def driver():
    """tools/test.py as a module; it changes into the tree's root, where this runs already."""
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    spec = importlib.util.spec_from_file_location("testdriver_of_tools", os.path.join(ROOT, "tools", "test.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(module, parts, seconds=None):
    """What a whole run prints, and its exit status; `seconds`: as many as it may take."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        all_parts = module.Driver(parts, time.monotonic() + seconds if seconds else None)
        all_parts.run()
        all_parts.run_again_alone()
        status = module.summary(parts, 1.0)
    return said.getvalue(), status


def in_little_time(tally, module):
    """What `make quick` makes of parts that do not end in its time."""
    says = "echo 'ok x: y'; echo 'FAIL x: z'; %s sleep 60"
    half = module.Part("half", ["sh", "-c", says % "echo 'skipped x: w: no v'; true;"], needs=None)
    began = time.monotonic()
    said, status = run(module, [half, *(module.Part("rest %d" % i, ["sleep", "60"], needs=None) for i in range(9))], seconds=1)
    tally.check("what is cut short has passed and failed as far as it came; what was not begun is named", status == 1 and time.monotonic() - began < 30 and
                said.endswith("1 passed, 1 failed, 1 skipped\n") and "not done in this time: 10 of 10 parts (half, rest 0" in said and "again" not in said, said)
    said, status = run(module, [module.Part("short", ["true"], needs=None), module.Part("long", ["sh", "-c", says.replace("FAIL", "ok") % ""], needs=None)], seconds=1)
    tally.check("nothing that failed is no failure", status == 0 and "cut short long: 2 passed" in said and said.endswith("3 passed, 0 failed, 0 skipped\n"), said)
    build, beside = module.Part("build", ["sleep", "2.5"], needs=None, makes="b"), module.Part("beside", ["sleep", "0.8"], needs=None)
    said, status = run(module, [beside, build, module.Part("after", ["true"], needs="b")], seconds=0.5)
    tally.check("a build takes its time, and tests come after it", status == 0 and "ok after" in said and "parts (beside);" in said, said)


# What changed, and parts in the order in which they come.
NEAR = [
    (["src/ingest/nsys/nsysinfo.c"], ["unit test_nsys", "corpus of nsys", "recordings", "corpus", "unit test_diff", "sums"]),
    (["src/ingest/stacks/collapsed.c"], ["unit test_collapsed", "corpus of collapsed", "recordings", "query", "sums"]),
    (["src/ingest/lib/gpurows.c"], ["unit test_gpurows", "recordings", "sums"]),
    (["src/compare/diff.c"], ["unit test_diff", "check", "query", "sums"]),
    (["src/answer/verdictdevice.c"], ["unit test_verdictdevice", "unit test_verdicts", "sums of edges", "lategpus", "query", "sums"]),
    (["src/findings/cause_gc_pause.c"], ["sums of edges", "lategpus", "query", "sums"]),
    (["tests/unit/test_redact.c"], ["unit test_redact", "query", "sums"]),
    (["tests/query/steps.test"], ["query", "corpus", "sums"]),
    (["docs/speed.md"], ["query", "sums"]),
    ([], ["query", "sums"]),
]


def nearest(tally, module):
    """The order of `make quick`."""
    parts, nearness = list(module.all_parts()), module.nearness
    for paths, wanted in NEAR:
        told = io.StringIO()
        nearness.changed = lambda paths=paths: paths
        with contextlib.redirect_stdout(told):
            names = [part.name for part in module.nearest(parts)]
        places = [next((i for i, name in enumerate(names) if name.partition(", ")[0] == each), None) for each in wanted]
        first = next(i for i, name in enumerate(names) if name not in ("lint",) and not name.startswith("build "))
        tally.check("nearest to %s: %s" % (paths[0] if paths else "nothing", wanted[0]), None not in places and places == sorted(places) and (places[0] == first or not paths or "docs" in paths[0]) and
                    {part.name for part in parts if part.check} <= set(names), "%s: %s" % (places, names[:30]))


def without_git(tally, nearness):
    """Nothing is known to have changed: in no clone, and where there is no git."""
    path, here = os.environ["PATH"], os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            no_clone = nearness.changed()
            os.environ["PATH"] = folder
            tally.check("without git nothing has changed", no_clone == nearness.changed() == [])
        finally:
            os.chdir(here)
            os.environ["PATH"] = path


def main():
    tally, module = Tally("testdriver"), driver()
    with tempfile.TemporaryDirectory() as folder:
        mark = os.path.join(folder, "mark")
        once = ["sh", "-c", "[ -e %s ] && { echo 'ok x: y'; echo '2 passed, 0 failed, 0 skipped'; exit 0; }; touch %s; %s" % (mark, mark, FAILS[2])]
        said, status = run(module, [module.Part("noisy", once, needs=None, quiet=True)])
        tally.check("what measures and fails once passes when it passes alone, and is shown", status == 0 and
                    said.endswith("2 passed, 0 failed, 0 skipped\n") and "passed alone:\n    why\nFAIL x: y\n" in said, said)
        os.remove(mark)
        said, status = run(module, [module.Part("firm", once, needs=None)])
        tally.check("what computes and fails once has failed", status == 1 and "again" not in said, said)
        said, status = run(module, [module.Part("broken", FAILS, needs=None, quiet=True)])
        tally.check("what fails twice has failed", status == 1 and said.endswith("1 passed, 1 failed, 0 skipped\n") and
                    "what failed:\n    why\nFAIL x: y\n" in said, said)
        slow = ["sh", "-c", "[ -e %s.2 ] && { echo 'ok x: y'; echo '1 passed, 0 failed, 0 skipped'; exit 0; }; touch %s.2; sleep 60" % (mark, mark)]
        said, status = run(module, [module.Part("late", slow, needs=None, limit=1)])
        tally.check("what was not done in time has a second chance", status == 0 and "FAIL late: not done after 1 s" in said, said)
        killed = ["sh", "-c", "echo 'ok x: y'; kill -9 $$"]
        said, status = run(module, [module.Part("killed", killed, needs=None)])
        tally.check("what was killed before its sums has failed", status == 1 and "FAIL killed: exit -9" in said, said)
        said, status = run(module, [module.Part("silent", ["true"], needs=None)])
        tally.check("what says nothing and ends well counts as one", status == 0 and said.endswith("1 passed, 0 failed, 0 skipped\n"), said)
    in_little_time(tally, module)
    without_git(tally, module.nearness)
    nearest(tally, module)
    tally.finish()


if __name__ == "__main__":
    main()
