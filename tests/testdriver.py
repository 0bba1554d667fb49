#!/usr/bin/env python3
"""The driver of the tests (tools/test.py): what runs again alone, what counts, and what the summary shows."""
import contextlib
import importlib.util
import io
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Tally  # noqa: E402

FAILS = ["sh", "-c", "echo '    why'; echo 'FAIL x: y'; echo '1 passed, 1 failed, 0 skipped'; exit 1"]


def driver():
    """tools/test.py as a module; it changes into the tree's root, where this runs already."""
    spec = importlib.util.spec_from_file_location("testdriver_of_tools", os.path.join(ROOT, "tools", "test.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(module, parts):
    """What a whole run prints, and its exit status."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        all_parts = module.Driver(parts)
        all_parts.run()
        all_parts.run_again_alone()
        status = module.summary(parts, 1.0)
    return said.getvalue(), status


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
    tally.finish()


if __name__ == "__main__":
    main()
