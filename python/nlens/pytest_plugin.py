"""pytest plug-in: tests that must not get slower.

    @pytest.mark.nlens("step.p50 > +3%", captures=5)
    def test_training(): ...

``pytest`` runs such tests as any other. ``pytest --nlens-update`` records each of them, several times, each in a process of its own under
``neurolens run``, and keeps these captures as the baseline of its name; ``pytest --nlens`` records them anew and compares them with it
(``neurolens check``). docs/integrations.md has the rules, the options and what goes into JUnit's XML.
"""
import glob
import hashlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, Generator, List, Optional, Tuple

import pytest

from . import start, step, stop
from ._engine import NeuroLensError, program, run_to_end
from ._profile import CheckAnswer, check

_INSIDE = "NLENS_PYTEST_OUTCOME"  # set in the process that is recorded: the file for what became of the test
_CAPTURES = 3
# Options that are not for the recorded process, and whether a word follows: it runs one test and writes nothing of its own.
_OUTSIDE = {"--nlens": 0, "--nlens-update": 0, "--nlens-captures": 1, "--junitxml": 1, "--junit-xml": 1, "--junit-prefix": 1, "--junitprefix": 1, "-n": 1,
            "--numprocesses": 1, "--dist": 1, "--maxprocesses": 1, "--lf": 0, "--last-failed": 0, "--ff": 0, "--failed-first": 0, "--nf": 0,
            "--new-first": 0, "--sw": 0, "--stepwise": 0, "--cache-clear": 0, "--cov": 1, "--cov-report": 1, "--html": 1, "--report-log": 1,
            "--durations": 1, "--pdb": 0, "--basetemp": 1, "-x": 0, "--exitfirst": 0, "-v": 0, "-vv": 0, "-q": 0, "-s": 0}


class Marker:
    """What ``@pytest.mark.nlens`` says of a test."""

    def __init__(self, item: pytest.Item, mark: pytest.Mark) -> None:
        known = {"captures", "repeat", "baseline", "allow", "run"}
        if set(mark.kwargs) - known:
            raise pytest.UsageError("%s: nlens(%s=…) is unknown; there are %s" %
                                    (item.nodeid, sorted(set(mark.kwargs) - known)[0], ", ".join(sorted(known))))
        given = item.config.getoption("nlens_captures") or mark.kwargs.get("captures") or int(item.config.getini("nlens_captures") or _CAPTURES)
        self.rules: List[str] = [str(rule) for rule in mark.args] or list(item.config.getini("nlens_rules"))
        self.captures = int(given)
        self.repeat = int(mark.kwargs.get("repeat", 1))
        self.baseline: Optional[str] = mark.kwargs.get("baseline")
        self.allow: List[str] = list(mark.kwargs.get("allow", ()))
        self.run: List[str] = list(mark.kwargs.get("run", ())) + list(item.config.getini("nlens_run"))
        if self.captures < 1 or self.repeat < 1:
            raise pytest.UsageError("%s: nlens: captures and repeat are 1 or more" % item.nodeid)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("nlens", "tests that must not get slower (NeuroLens)")
    group.addoption("--nlens", dest="nlens_mode", action="store_const", const="check", default=None,
                    help="record tests marked nlens and compare them with their baselines")
    group.addoption("--nlens-update", dest="nlens_mode", action="store_const", const="update", help="record tests marked nlens as their new baselines")
    group.addoption("--nlens-captures", type=int, default=None, help="captures of each test (default: the marker's, or 3)")
    parser.addini("nlens_folder", "where captures are kept, from the root folder (default: .nlens)", default=".nlens")
    parser.addini("nlens_captures", "captures of each test whose marker does not say", default="")
    parser.addini("nlens_rules", "rules of tests whose marker has none, such as: step.p50 > +3%", type="linelist", default=[])
    parser.addini("nlens_inconclusive", "what a test is whose captures do not decide: fail, skip or pass", default="fail")
    parser.addini("nlens_run", "more options of neurolens run", type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "nlens(*rules, captures=3, repeat=1, baseline=None, allow=(), run=()): with --nlens this test must not "
                            "get slower; a rule is 'step.p50 > +3%', 'run.duration > 2s', … (docs/check.md)")
    if not config.getoption("nlens_mode") or _INSIDE in os.environ:
        return
    if hasattr(config, "workerinput") or getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--nlens measures time: run it without pytest-xdist (-n 0), and functional tests in a call of their own")
    if config.getini("nlens_inconclusive") not in ("fail", "skip", "pass"):
        raise pytest.UsageError("nlens_inconclusive is fail, skip or pass")
    try:
        program()
    except NeuroLensError as wrong:
        raise pytest.UsageError(str(wrong)) from wrong
    config.pluginmanager.register(Gate(config), "nlens-gate")


# ---- in the process that is recorded ----

@pytest.hookimpl(hookwrapper=True, tryfirst=True)  # `wrapper` is unknown to pluggy before 1.2
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, None]:
    """Only the body of the test is recorded, without what pytest and fixtures do before and after."""
    mark = pyfuncitem.get_closest_marker("nlens")
    if mark is None or _INSIDE not in os.environ:
        yield
        return
    marker = Marker(pyfuncitem, mark)
    start()
    try:
        if marker.repeat == 1:
            yield
            return
        arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
        for number in range(marker.repeat - 1):
            with step(number):
                pyfuncitem.obj(**arguments)
        with step(marker.repeat - 1):
            yield
    finally:
        stop()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """What became of the test, for the process outside."""
    path = os.environ.get(_INSIDE)
    if path and (report.when == "call" or report.outcome != "passed"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"outcome": report.outcome, "text": reason}, file)


# ---- outside ----

class Gate:
    """Records the marked tests and judges them; registered with --nlens and --nlens-update."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.update = config.getoption("nlens_mode") == "update"
        self.folder = os.path.join(str(config.rootpath), str(config.getini("nlens_folder")))
        self.lines: List[Tuple[str, str]] = []

    def pytest_collection_modifyitems(self, items: List[pytest.Item]) -> None:
        for item in items:
            if item.get_closest_marker("nlens") is None:
                continue
            owner = getattr(item, "cls", None)
            if not isinstance(item, pytest.Function) or owner is not None and issubclass(owner, unittest.TestCase):
                raise pytest.UsageError("%s: nlens marks functions and methods of plain classes" % item.nodeid)
            if inspect.iscoroutinefunction(item.obj) and Marker(item, item.get_closest_marker("nlens")).repeat > 1:  # type: ignore[arg-type]
                raise pytest.UsageError("%s: repeat is not for coroutines; mark steps with nlens.step() inside" % item.nodeid)
            item.fixturenames = []  # the recorded process has them

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Optional[bool]:
        mark = pyfuncitem.get_closest_marker("nlens")
        if mark is None:
            return None
        try:
            self.judge(pyfuncitem, Marker(pyfuncitem, mark))
        except NeuroLensError as wrong:
            pytest.fail("nlens: %s" % wrong, pytrace=False)
        return True

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.lines:
            terminalreporter.section("nlens")
            for test, text in self.lines:
                terminalreporter.write_line("%s: %s" % (test, text))

    # -- recording --

    def place(self, kind: str, item: pytest.Item) -> str:
        name = re.sub(r"[^\w.=-]+", "_", item.nodeid)[-100:]
        return os.path.join(self.folder, kind, "%s-%s" % (name, hashlib.sha256(item.nodeid.encode()).hexdigest()[:8]))

    def words(self) -> List[str]:
        """The words that pytest was called with, for one test in a process of its own."""
        kept: List[str] = []
        left = list(self.config.invocation_params.args)
        positional = {str(word) for word in self.config.args}
        while left:
            word = str(left.pop(0))
            if word in positional:
                continue
            name = word.split("=")[0]
            if name not in _OUTSIDE:
                kept.append(word)
                if name in ("-p", "-c", "-o", "-W", "-k", "-m", "--rootdir", "--confcutdir", "--import-mode") and "=" not in word and left:
                    kept.append(str(left.pop(0)))
            elif _OUTSIDE[name] and "=" not in word and left:
                left.pop(0)
        if self.config.inipath and not any(word.startswith(("-c", "--config-file")) for word in kept):
            kept += ["-c", str(self.config.inipath)]
        if not any(word.startswith("--rootdir") for word in kept):
            kept += ["--rootdir", str(self.config.rootpath)]
        return kept

    def record(self, item: pytest.Item, marker: Marker, folder: str) -> List[str]:
        """So many captures of the test. A test that fails, fails here; one that skips, skips."""
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        inside = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:nlens-gate"] + self.words() + [item.nodeid]
        paths = []
        for number in range(1, marker.captures + 1):
            path = os.path.join(folder, "%d.nlt" % number)
            with tempfile.TemporaryDirectory(prefix="nlens-pytest-") as scratch:
                outcome = os.path.join(scratch, "outcome.json")
                command = [program(), "run", "--quiet", "--paused"] + marker.run + ["-o", path, "--"] + inside
                status, said = run_to_end(command, dict(os.environ, **{_INSIDE: outcome}), str(self.config.invocation_params.dir))
                became = _read(outcome)
            if became.get("outcome") == "skipped":
                pytest.skip(became["text"])
            if became.get("outcome") != "passed" or status != 0 or not os.path.exists(path):
                pytest.fail("the test failed while it was recorded (capture %d):\n%s" % (number, became.get("text") or said[-4000:]), pytrace=False)
            paths.append(path)
        return paths

    # -- judging --

    def judge(self, item: pytest.Function, marker: Marker) -> None:
        if self.update:
            paths = self.record(item, marker, self.place("baseline", item))
            self.say(item, "updated", "baseline of %d captures" % len(paths))
            return
        base: Any = marker.baseline or sorted(glob.glob(os.path.join(glob.escape(self.place("baseline", item)), "*.nlt")))
        if not base and (not marker.rules or any(re.search(r"[<>]\s*[+-]", rule) for rule in marker.rules)):
            self.undecided(item, "no baseline of this test; record one with --nlens-update")
            return
        paths = self.record(item, marker, self.place("new", item))
        answer = check(paths, baseline=base or None, fail_on=marker.rules, allow=marker.allow)
        self.tell(item, answer)
        text = "\n".join(answer.result["headline"])
        if answer.regressed:
            self.say(item, "regression", text)
            pytest.fail("nlens: %s\nnext: neurolens diff %s %s" % (text, _joined(base), ",".join(paths)), pytrace=False)
        if answer.inconclusive:
            self.undecided(item, text)
            return
        self.say(item, "pass", text)

    def say(self, item: pytest.Item, verdict: str, text: str) -> None:
        item.user_properties.append(("nlens.verdict", verdict))
        self.lines.append((item.nodeid, text.splitlines()[0]))

    def undecided(self, item: pytest.Item, text: str) -> None:
        self.say(item, "inconclusive", text)
        what = self.config.getini("nlens_inconclusive")
        if what == "fail":
            pytest.fail("nlens: %s" % text, pytrace=False)
        if what == "skip":
            pytest.skip("nlens: %s" % text)

    def tell(self, item: pytest.Item, answer: CheckAnswer) -> None:
        """The numbers of each rule, as properties of the test case in JUnit's XML."""
        for row in answer.result["rules"]:
            for key in ("base", "new", "unit", "change_share", "limit"):
                if row.get(key) is not None:
                    item.user_properties.append(("nlens.%s.%s" % (row["metric"], key), row[key]))


def _joined(base: Any) -> str:
    return base if isinstance(base, str) else ",".join(base)


def _read(path: str) -> Dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            found: Dict[str, Any] = json.load(file)
            return found
    except (OSError, ValueError):
        return {}
