"""What the oracle scripts share: asking neurolens, comparing numbers, and where the answers lie.

The answers of the reference tools lie outside the repository, in ../shared/oracles and their inputs
in ../shared/samples (NEUROLENS_SHARED names another folder). Without them a script says so and
ends with status 0.
"""
import collections
import csv
import gc
import json
import math
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(1, os.path.join(ROOT, "tests"))
import harness  # noqa: E402

SHARED = os.environ.get("NEUROLENS_SHARED", os.path.join(os.path.dirname(ROOT), "shared"))
csv.field_size_limit(1 << 30)
gc.disable()  # documents are large and refer to themselves nowhere: to search them for cycles doubles the time to read one


def shared_or_leave(*parts):
    path = os.path.join(SHARED, *parts)
    if not os.path.exists(path):
        print("skipped: no ../shared (%s)" % os.path.join(*parts))
        print("0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    return path


class Checker:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def ok(self, name):
        self.passed += 1
        print("ok %s" % name, flush=True)

    def fail(self, name, expected, got):
        self.failed += 1
        print("FAIL %s: expected %s got %s" % (name, expected, got), flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print("skipped %s: %s" % (name, why), flush=True)

    def equal(self, name, expected, got):
        self.ok(name) if expected == got else self.fail(name, expected, got)

    def near(self, name, expected, got, within):
        same = got is not None and expected is not None and abs(expected - got) <= within
        self.ok(name) if same or expected is got is None else self.fail(name, expected, got)

    def rows(self, name, expected, got):
        """Dictionaries key -> tuple of numbers: one line for all, or the first differences."""
        wrong = [k for k in sorted(set(expected) | set(got), key=str)
                 if expected.get(k) != got.get(k)]
        if not wrong:
            self.ok("%s (%d rows)" % (name, len(expected)))
        for key in wrong[:5]:
            self.fail("%s %s" % (name, str(key)[:100]), expected.get(key), got.get(key))
        if len(wrong) > 5:
            print("     ... and %d more rows of %s" % (len(wrong) - 5, name))

    def finish(self):
        print("%d passed, %d failed, %d skipped" % (self.passed, self.failed, self.skipped))
        sys.exit(1 if self.failed else 0)


class Ahead:
    """What was asked of a profile, and the answers that are there already, as JSON."""

    def __init__(self):
        self.asked, self.answers = set(), {}


class Neurolens:
    """The program under test, in a home folder of its own."""

    def __init__(self, argv):
        self.program = os.path.abspath(argv[1] if len(argv) > 1
                                       else os.path.join(ROOT, "build", "neurolens"))
        self.home = tempfile.TemporaryDirectory(prefix="neurolens-oracle-")
        self.asked, self.profiles, self.ahead = collections.Counter(), 0, {}
        if not os.path.exists(self.program):
            print("FAIL oracle: no program at %s" % self.program)
            sys.exit(1)

    def answer(self, *words, told=b""):
        """Status and outputs, as bytes. Forked from a program that is loaded already, where that can be: nothing is measured here."""
        environment = {"PATH": os.environ["PATH"], "HOME": self.home.name, "LC_ALL": "C.UTF-8"}
        environment.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        request = harness.fork_request(words, os.getcwd(), environment, told) if self.program == harness.PROGRAM else None
        if request:
            status, out, errors, late = harness.fork_server().run_raw(request, told, 600)
            return "late" if late else status, out, errors
        done = subprocess.run([self.program, *words], env=environment, input=told, capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def output(self, *words, statuses=(0,), told=b""):
        """What the program says to the words, and to what it is told on its standard input."""
        status, out, errors = self.answer(*words, told=told)
        if status not in statuses:
            raise RuntimeError("%s: status %s: %s" % (" ".join(words[:2]), status, errors.decode(errors="replace")[-500:]))
        return out

    def run(self, *words, statuses=(0,)):
        return json.loads(self.output(*words, statuses=statuses))

    def sql(self, profile, query):
        """Rows as lists."""
        ahead = self.asked_ahead(profile)
        self.asked[query] += query not in ahead.asked
        ahead.asked.add(query)
        if query not in ahead.answers:
            return self.run("sql", profile, query, "--format", "json")["result"]["rows"]
        return json.loads(ahead.answers[query])["result"]["rows"]

    def asked_ahead(self, profile):
        """What most profiles are asked is asked of each new one at once: to load it for every query takes far longer."""
        try:
            state = os.stat(profile)
        except OSError:
            return Ahead()  # with a window, perhaps
        key = profile, state.st_ino, state.st_size, state.st_mtime_ns
        if key not in self.ahead:
            queries = [query for query, count in self.asked.items() if count > 1 and 3 * count > self.profiles]
            self.profiles += 1
            self.ahead = dict(list(self.ahead.items())[-1:])  # two are compared, at most
            self.ahead[key] = Ahead()
            self.ask(profile, queries)
        return self.ahead[key]

    def ask(self, profile, queries):
        """Queries that follow, of a profile that is loaded once for them."""
        ahead = self.asked_ahead(profile)
        try:
            ahead.answers.update(zip(queries, self.texts(profile, queries) if len(queries) > 1 else []))
        except RuntimeError:
            pass  # the query that is wrong says so itself

    def texts(self, profile, queries, *words):
        """The answers to queries, for which the profile is loaded once, as JSON."""
        told = self.output("sql", profile, *words, "--format", "json", told=";\n".join(queries).encode()).decode()
        texts = [text + "}" for text in told.split("\n}\n")[:-1]]  # no other line is a bracket alone
        if len(texts) != len(queries):
            raise RuntimeError("%d answers to %d queries" % (len(texts), len(queries)))
        return texts

    def sql_each(self, profile, queries, *words):
        """Rows of each of the queries."""
        return [json.loads(text)["result"]["rows"] for text in self.texts(profile, queries, *words)]

    def first_ns(self, profile):
        """What to add to times in rows to get the file's own."""
        return self.run("sql", profile, "SELECT 1", "--format", "json")["profile"]["first_ns"]

    def analyze(self, profile):
        return self.run("analyze", profile, "--format", "json")["result"]

    def analyze_section(self, profile, name):
        """Rows of one analysis as dictionaries."""
        return self.run("analyze", profile, "--format", "json", "--section", name)["result"][name]


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def quantile(values, q):
    """Linear interpolation between closest ranks, as numpy and pandas do by default."""
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def stddev(values):
    """Of a sample: n - 1."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1))


def union(intervals):
    """Sorted, disjoint, touching ones joined; without empty ones."""
    out = []
    for start, end in sorted(i for i in intervals if i[1] > i[0]):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def length(intervals):
    return sum(end - start for start, end in intervals)


def intersect(a, b):
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        start, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if start < end:
            out.append([start, end])
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return out
