#!/usr/bin/env python3
"""Pages of `report` and `flame`: whole without a network, the same answer as the command line, deaf to hostile names.

Structure is checked without a browser, always. With node, web/dist is built anew and compared. With Chromium and
web/node_modules (npm ci in web/), web/test/browser.mjs opens pages of every family of samples at widths from 400 to
2560, dark and light: no message on the console, no accessibility fault that axe-core calls serious, keys and
search work, and names full of markup and script stay text.

    tests/page.py [PART...]      bundle markdown flames site pages xss templates compared
"""
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from harness import FIXTURES, PROGRAM, ROOT, Tally, environment

tally = Tally("page")
WEB = os.path.join(ROOT, "web")
SAMPLES = os.path.normpath(os.path.join(ROOT, "..", "shared", "samples"))
MAX_BYTES = 3 << 20
MAX_GZIP = 60 << 10

# One of each family, as small as shows something.
FAMILIES = {
    "kineto": ["torch/facebookresearch+HolisticTraceAnalysis/tests/data/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz"],
    "ranks": ["torch/facebookresearch+HolisticTraceAnalysis/tests/data/trace_filter/sampled_rank-0.json.gz",
              "torch/facebookresearch+HolisticTraceAnalysis/tests/data/trace_filter/sampled_rank-1.json.gz"],
    "nsys": ["nsys/GindaChen+nsys-ai__tests__fixtures__mfu_2gpu_before.sqlite"],
    "cpu": ["torch/facebookresearch+HolisticTraceAnalysis/tests/data/rank_non_gpu/rank_non_gpu.json.gz"],
    "memory": ["torch_mem/silmont2000+assignment2-systems/769df2d4__memory_forward_fp32_128.pickle"],
    "perf": ["perf/jrfonseca+gprof2dot/tests/perf/xwax.perf"],
    "ort": ["ort/recorded_by_us/py1.23_cpu_mnist_2026-11-20_04-54-43.json"],
    "xplane": ["xplane/AMD-AGI+TraceLens/tests/traces/mi300/jax_conv_minimal_08/tw003.xplane.pb"],
    "ncu": ["ncu/MgMap+Hyper-Spec-M/4cbb0cd9__profile.ncu-rep"],
    "rocprof": ["rocprof/AMD-AGI+TraceLens/tests/rocprof/908_results.json.gz"],
    "tensorrt": ["tensorrt/NVIDIA+TensorRT/tools/experimental/trt-engine-explorer/examples/pytorch/resnet/A100/fp32/a8480d31__resnet.onnx.engine.timing.json"],
    "collapsed": ["collapsed/jlfwong+speedscope/sample/profiles/stackcollapse/perf-vertx-stacks-01-collapsed-all.txt"],
}

HOSTILE = [
    "<script>window.hacked=1</script>", "</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>",
    "\"><svg onload=window.hacked=1>", "javascript:window.hacked=1", "<!--<script>", "]]><script>window.hacked=1</script>",
    "' onmouseover='window.hacked=1", "<iframe srcdoc='<script>parent.hacked=1</script>'>", "{{constructor.constructor('window.hacked=1')()}}",
    "\u202egnirts\u2066", "</style><script>window.hacked=1</script>", "&lt;script&gt;window.hacked=1&lt;/script&gt;", "\u2028window.hacked=1\u2029",
    "</title><script>window.hacked=1</script>", "\\u003cscript>window.hacked=1",
]


def run(words, home, timeout=120):
    done = subprocess.run([PROGRAM] + words, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, stdin=subprocess.DEVNULL)
    return done


def document(page, name):
    found = re.search(r'<script type="application/json" id="%s">(.*?)</script>' % name, page, re.S)
    return json.loads(found.group(1)) if found else None


def hash_of(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def structure(name, page):
    """What must hold of any page."""
    faults = []
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    styles = re.findall(r"<style>(.*?)</style>", page, re.S)
    if not policy:
        faults.append("no Content-Security-Policy")
        return faults
    rules = dict(rule.strip().split(" ", 1) for rule in policy.group(1).split(";"))
    if rules.get("default-src") != "'none'" or "unsafe" in policy.group(1) or "http" in policy.group(1):
        faults.append("policy is open: " + policy.group(1))
    if len(scripts) != 1 or rules.get("script-src") != "'%s'" % hash_of(scripts[0]):
        faults.append("%d scripts, or not the one that the policy names" % len(scripts))
    if len(styles) != 1 or rules.get("style-src") != "'%s'" % hash_of(styles[0]):
        faults.append("%d styles, or not the one that the policy names" % len(styles))
    bare = page
    for text in scripts + styles:
        bare = bare.replace(text, "")
    bare = re.sub(r'(<script type="application/json" id="\w+">)(.*?)(</script>)',
                  lambda m: m.group(1) + ("BAD" if "<" in m.group(2) else "") + m.group(3), bare, flags=re.S)
    if "BAD" in re.findall(r'id="\w+">(BAD)?</script>', bare):
        faults.append("markup inside a JSON document")
    for pattern in (r"<(?:img|iframe|object|embed|svg|base|form|video|audio)\b", r"\son\w+\s*=\s*[\"']", r"<[^>]*\bsrc\s*=",
                    r"href=\"(?!data:,)[^#\"]", r"@import", r"url\("):
        for text in [bare] + styles:
            hit = re.search(pattern, text)
            if hit:
                faults.append("%s: …%s…" % (pattern, text[max(0, hit.start() - 40):hit.end() + 40]))
    if len(page.encode()) > MAX_BYTES:
        faults.append("%d bytes" % len(page.encode()))
    for tag in ("<html lang=", "<title>", 'name="viewport"', "<h1>", "<noscript>"):
        if tag not in page:
            faults.append("no " + tag)
    return faults


def same_answer(page, told):
    """The page's answer against that of `analyze --format json`: equal, but for cut tables and folded names."""
    answer, faults = document(page, "answer"), []
    for key in ("schema", "profile", "coverage"):
        if answer[key] != told[key]:
            faults.append("%s differs" % key)
    for key in ("headline", "answer", "findings", "abstained", "breakdown", "account", "kernels", "steps", "copies", "idle", "step_summary"):
        here, there = answer["result"].get(key), told["result"].get(key)
        if isinstance(there, list) and isinstance(here, list) and key not in ("headline", "findings", "abstained"):
            there = there[:len(here)] if len(there) > 200 else there
        if here != there:
            faults.append("%s differs" % key)
    missing = [key for key in told["result"] if key not in answer["result"] and key != "truncated"]
    if missing:
        faults.append("tables that are not there: %s" % missing)
    return faults


def pages(home):
    """A page of every family; returns {name: path}."""
    made = {}
    for name, samples in FAMILIES.items():
        paths = [os.path.join(SAMPLES, sample) for sample in samples]
        if not all(os.path.exists(path) for path in paths):
            tally.skip(name, "no ../shared")
            continue
        out = os.path.join(home, name + ".html")
        done = run(["report", "-q", "--no-cache"] + paths + ["-o", out], home)
        if done.returncode != 0:
            tally.fail(name, done.stderr.decode())
            continue
        page = open(out, encoding="utf-8").read()
        faults = structure(name, page)
        told = run(["analyze", "-q", "--no-cache", "--format", "json"] + paths, home)
        faults += same_answer(page, json.loads(told.stdout))
        tally.check("%s: one file, one script, the same answer (%d KiB)" % (name, len(page) >> 10), not faults, "\n".join(faults))
        made[name] = out
        if name == "ranks" and document(page, "page")["title"] != "sampled_rank-*.json.gz (2 files)":
            tally.fail("ranks: the title has what the names share", document(page, "page")["title"])
        if name == "memory":  # thousands of allocations and one annotation: no profile of one event
            asked = run(["sql", "-q", "--no-cache", "--format", "csv", paths[0], "SELECT count(*), max(ts) - min(ts) FROM memory"], home)
            rows, span = map(int, asked.stdout.decode().splitlines()[1].split(","))
            contents = document(page, "page")["contents"]
            told = run(["info", "-q", "--no-cache"] + paths, home).stdout.decode().splitlines()[0]
            tally.check("memory: %d memory events, not one event" % rows, contents["count"] == rows > 1000 and contents["span_ns"] >= span > 0 and
                        told.startswith("%s memory events over " % format(rows, ",")), "%s %s %s" % (contents, span, told))
    return made


def hostile_trace(path):
    """A small trace whose every text is markup."""
    events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": HOSTILE[0]}},
              {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": HOSTILE[1]}}]
    for i in range(200):
        name = HOSTILE[i % len(HOSTILE)]
        events.append({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": i * 100, "dur": 90, "args": {"External id": i + 1, name: name}})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": i * 100 + 5, "dur": 5, "args": {"correlation": i + 1, "External id": i + 1}})
        events.append({"ph": "X", "cat": "kernel", "name": name + str(i % 3), "pid": 0, "tid": 7, "ts": i * 100 + 20, "dur": 60,
                       "args": {"device": 0, "stream": 7, "correlation": i + 1, "External id": i + 1}})
        events.append({"ph": "C", "name": name, "pid": 1, "ts": i * 100, "args": {name: i}})
    for step in range(10):
        events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 1, "tid": 1, "ts": step * 2000, "dur": 1999})
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": HOSTILE[3]}], "traceName": HOSTILE[2], "traceEvents": events}))


def xss(home):
    """Names full of markup: data in the page, never markup."""
    folder = os.path.join(home, "<img src=x onerror=hacked=1>")
    os.mkdir(folder)
    trace = os.path.join(folder, "'\"><script>hacked=1.json")
    hostile_trace(trace)
    made = {}
    for name, words in {"hostile": ["report", trace], "hostile_flame": ["flame", trace], "hostile_diff": ["diff", trace, trace]}.items():
        out = os.path.join(home, name + ".html")
        done = run(words + ["-q", "--no-cache", "-o", out], home)
        if done.returncode not in (0, 3) or not os.path.exists(out):
            tally.fail(name, done.stderr.decode())
            continue
        page = open(out, encoding="utf-8").read()
        faults = structure(name, page)
        texts = json.dumps([document(page, "answer"), document(page, "page")])
        if name != "hostile_diff" and "onerror" not in texts:
            faults.append("the hostile names are not in the data: the test tests nothing")
        tally.check("%s names are data" % name, not faults, "\n".join(faults))
        made[name] = out
    svg = os.path.join(home, "hostile.svg")
    done = run(["flame", trace, "-q", "--no-cache", "-o", svg], home)
    text = open(svg, encoding="utf-8").read() if done.returncode == 0 else ""
    import xml.dom.minidom
    good = text and not re.search(r"<script|<img|onerror=\"|<foreignObject", text)
    try:
        xml.dom.minidom.parseString(text.encode())
    except Exception as fault:  # noqa: BLE001 - whatever is wrong with it
        good = False
        text = str(fault)
    tally.check("flame as SVG is well-formed and has no markup of names", good, text[:2000])
    return made


def flames(home):
    """Folded lines: sums against SQL, and what --base adds."""
    trace = os.path.join(SAMPLES, FAMILIES["nsys"][0])
    if not os.path.exists(trace):
        tally.skip("flame", "no ../shared")
        return
    folded = run(["flame", trace, "-q", "--no-cache"], home).stdout.decode()
    total = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())
    want = run(["sql", "-q", "--no-cache", "--format", "csv", trace,
                "SELECT (SELECT sum(dur) FROM kernels) + coalesce((SELECT sum(dur) FROM copies), 0) + coalesce((SELECT sum(dur) FROM memsets), 0)"], home)
    want = int(want.stdout.decode().splitlines()[1])
    tally.check("flame by device has all device time", total == want, "%d, SQL has %d" % (total, want))
    host = run(["flame", trace, "--by", "host", "-q", "--no-cache"], home).stdout.decode()
    total = sum(int(line.rsplit(" ", 1)[1]) for line in host.splitlines())
    roots = run(["sql", "-q", "--no-cache", "--format", "csv", trace,
                 "SELECT sum(dur) FROM slices JOIN lanes ON lanes.id = slices.lane WHERE parent IS NULL AND lanes.device IS NULL "
                 "AND lanes.kind IN ('thread', 'annotation', 'python', 'nvtx', 'process', 'generic')"], home)
    lines = roots.stdout.decode().splitlines()
    tally.check("flame by host has the time of outermost slices", len(lines) > 1 and total == int(lines[1]), "%d, SQL: %s %s" % (total, lines, roots.stderr.decode()))
    both = run(["flame", trace, "--base", trace, "-q", "--no-cache"], home).stdout.decode()
    same = all(line.rsplit(" ", 2)[1] == line.rsplit(" ", 2)[2] for line in both.splitlines())
    tally.check("a profile against itself has not changed", both and same, both[:500])
    none = run(["flame", trace, "--by", "samples", "-q", "--no-cache"], home)
    tally.check("what was not recorded is named", none.returncode == 3 and b"samples" in none.stderr, none.stderr.decode())
    samples = os.path.join(SAMPLES, FAMILIES["collapsed"][0])
    given = {}
    for line in open(samples, encoding="utf-8"):
        stack, _, weight = line.rstrip("\n").rpartition(" ")
        stack = stack.rstrip("; ")  # one ends in a frame that is a blank
        given[stack] = given.get(stack, 0) + int(weight)
    read = {}
    for line in run(["flame", samples, "--by", "samples", "-q", "--no-cache"], home).stdout.decode().splitlines():
        stack, _, weight = line.rpartition(" ")
        read[stack] = read.get(stack, 0) + int(weight)
    tally.check("folded stacks come back as they were (%d)" % len(given), read == given,
                "%d stacks of %d, weights %d of %d" % (len(read), len(given), sum(read.values()), sum(given.values())))


def markdown(home):
    trace = os.path.join(FIXTURES, "torch_cpu_train.json.gz")
    out = os.path.join(home, "r.md")
    done = run(["report", trace, "-q", "--no-cache", "-o", out], home)
    text = open(out, encoding="utf-8").read() if done.returncode == 0 else done.stderr.decode()
    tally.check("Markdown has the answer, plots and tables", text.startswith("# ") and "```text" in text and "\n|---" in text
                and text.count("```") % 2 == 0, text[:1500])
    plain = run(["report", trace, "-q", "--no-cache", "-o", os.path.join(home, "r.json")], home)
    told = run(["analyze", trace, "-q", "--no-cache", "--format", "json"], home)
    same = plain.returncode == 0 and open(os.path.join(home, "r.json"), "rb").read() == told.stdout
    tally.check("F.json is what analyze prints", same)
    for words, why in ((["report", trace], b"-o report.html"), (["report", trace, "-o", "x.pdf"], b".html, .md or .json"),
                       (["flame", trace, "-o", "x.png"], b".svg"), (["flame", trace, "--by", "smell"], b"smell")):
        done = run(words + ["--no-cache"], home)
        tally.check("usage: %s" % " ".join(words[0:1] + words[2:]), done.returncode == 2 and why in done.stderr, done.stderr.decode())


TEMPLATE = """title: Nightly <b>runs</b>
logo: logo.svg
front: |
  First <script>window.hacked=1</script> paragraph.

  Second paragraph.
sections:
  - title: Kernels <i>by kind</i>
    text: What the kernels do.
    draw: bars
    sql: >
      SELECT coalesce(category, 'other') AS kind, sum(dur) AS total_ns, count(*) AS count FROM kernels GROUP BY 1 ORDER BY 2 DESC
  - title: Nothing here
    sql: SELECT name FROM kernels WHERE dur < 0
  - title: Three of ours
    text: Chosen by us.
    analysis: kernels
    rows: 3
    draw: bars
hide: [flame, roofline]
"""
LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 2" onload="window.hacked=1"><rect width="8" height="2"/><script>window.hacked=1</script></svg>'

WRONG_TEMPLATES = [
    ("titel: x\n", "line 1, column 1: expected title, logo, front, sections or hide"),
    ("sections:\n  - title: x\n", "line 2, column 5: expected title: and sql: or analysis: in this section"),
    ("sections:\n  - title: x\n    analysis: kernel\n", "line 3, column 15: no analysis of that name; `neurolens help sections`"),
    ("sections:\n  - title: x\n    analysis: kernels\n    rows: 0\n", "line 4, column 11: expected a number of rows"),
    ("sections:\n  - title: x\n    analysis: kernels\n    sql: SELECT 1\n", "line 2, column 5: expected sql: or analysis: in this section, not both"),
    ("sections:\n  - title: x\n    sql: SELECT 1\n    rows: 2\n", "line 2, column 5: rows: is for analysis:; SQL has LIMIT"),
    ("sections:\n  - title: x\n    sql: SELECT 1\n    draw: pie\n", "line 4, column 11: expected table or bars"),
    ("hide: [flames]\n", "line 1, column 8: expected findings, time"),
    ("title: [a]\n", "line 1, column 8: expected a text"),
    ("sections: {}\n", "line 1, column 11: expected a list"),
    ("- a\n", "line 1, column 1: expected title, logo"),
    ("", "line 1, column 1: expected title:"),
    ("title: \"a\n", "line 2, column 1: "),
    ("sections:\n  - title: x\n    sql: SELECT absent FROM kernels\n", "line 3: the SQL of 'x': no such column: absent"),
    ("sections:\n  - title: x\n    sql: DELETE FROM kernels\n", "line 3: the SQL of 'x': "),
    ("logo: logo.exe\n", "logo: 'logo.exe' ends in none of"),
    ("logo: absent.svg\n", "absent.svg"),
]


def templates(home):
    """What a user adds stands in the page as text, its numbers are those of `sql`, and what is hidden is gone."""
    trace = os.path.join(FIXTURES, "made_gpu_train.json.gz")
    path, out = os.path.join(home, "own.yaml"), os.path.join(home, "own.html")
    for name, text in (("own.yaml", TEMPLATE), ("logo.svg", LOGO), ("logo.exe", "")):
        with open(os.path.join(home, name), "w", encoding="utf-8") as file:
            file.write(text)
    done = run(["report", trace, "-q", "--no-cache", "--template", path, "-o", out], home)
    if done.returncode != 0:
        tally.fail("a template", done.stderr.decode())
        return {}
    page = open(out, encoding="utf-8").read()
    faults = structure("own", page)
    answer, own = document(page, "answer"), document(page, "page")["own"]
    if base64.b64decode(own["logo"].split(",", 1)[1]).decode() != LOGO or not own["logo"].startswith("data:image/svg+xml;base64,"):
        faults.append("logo: " + own["logo"][:100])
    if own["hide"] != ["flame", "roofline"] or [one["draw"] for one in own["sections"]] != ["bars", "table", "bars"]:
        faults.append(str(own))
    want = run(["sql", trace, "SELECT coalesce(category, 'other') AS kind, sum(dur) AS total_ns, count(*) AS count FROM kernels "
                "GROUP BY 1 ORDER BY 2 DESC", "--format", "json", "-q", "--no-cache"], home)
    rows = [list(row.values()) for row in answer["result"]["section_1"]]
    if rows != json.loads(want.stdout)["result"]["rows"] or len(rows) < 2:
        faults.append("section_1: %s" % answer["result"].get("section_1"))
    if answer["result"]["section_2"] != []:
        faults.append("section_2: %s" % answer["result"].get("section_2"))
    ours = run(["analyze", trace, "--section", "kernels", "-n", "3", "--format", "json", "-q", "--no-cache"], home)
    ours = json.loads(ours.stdout)["result"]["kernels"]
    if [row["name"] for row in answer["result"]["section_3"]] != [row["name"] for row in ours] or len(ours) != 3:
        faults.append("section_3: %s" % answer["result"].get("section_3"))
    tally.check("a template's title, logo, front page and sections are in the page", not faults, "\n".join(faults))
    text = os.path.join(home, "own.md")
    run(["report", trace, "-q", "--no-cache", "--template", path, "-o", text], home)
    text = open(text, encoding="utf-8").read()
    first = answer["result"]["section_1"][0]["kind"]
    tally.check("… and in Markdown", text.startswith("# Nightly") and "Second paragraph." in text and "What the kernels do." in text
                and re.search(r"^%s .*█" % re.escape(first), text, re.M) and "| " + first in text, text[:3000])
    for words, why in WRONG_TEMPLATES:
        with open(path, "w", encoding="utf-8") as file:
            file.write(words)
        wrong = run(["report", trace, "-q", "--no-cache", "--template", path, "-o", os.path.join(home, "no.html")], home)
        tally.check("refused: %r" % words[:40], wrong.returncode in (2, 4) and why in wrong.stderr.decode()
                    and not os.path.exists(os.path.join(home, "no.html")), "%d %s" % (wrong.returncode, wrong.stderr.decode()))
    return {"own": out}


def site(home):
    """The ledger as a folder of pages."""
    ledger, folder = os.path.join(home, "ledger"), os.path.join(home, "site")
    for name in ("torch_cpu_train.json.gz", "ort_cpu_mlp.json.gz"):
        done = run(["add", "-q", "--ledger", ledger, os.path.join(FIXTURES, name)], home)
        if done.returncode:
            tally.fail("site", done.stderr.decode())
            return
    done = run(["report", "@", "--ledger", ledger, "--site", folder], home)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    faults = [] if len(names) == 3 and "index.html" in names else ["files: %s %s" % (names, done.stderr.decode())]
    for name in names:
        faults += structure(name, open(os.path.join(folder, name), encoding="utf-8").read())
    rows = document(open(os.path.join(folder, "index.html"), encoding="utf-8").read(), "answer")["result"]["runs"] if not faults else []
    if not faults and sorted(row["page"] for row in rows) != [name for name in names if name != "index.html"]:
        faults.append("the index names %s" % [row["page"] for row in rows])
    again = run(["report", "@", "--ledger", ledger, "--site", folder], home)
    if b"0 pages written, 2 were there" not in again.stderr:
        faults.append(again.stderr.decode())
    tally.check("a ledger becomes a folder of pages with an index", not faults, "\n".join(faults))


def compared(home):
    """Pages about several profiles: their pictures are made from numbers that add up to the answer's."""
    trace = os.path.join(FIXTURES, "made_gpu_train.json.gz")
    ledger, made = os.path.join(home, "history"), {}
    a, b = trace + "[step=10:11]", trace + "[step=12:14]"
    runs = ["torch_cpu_train", "torch_cpu_stack", "torch_cpu_ddp_rank0", "torch_cpu_ddp_rank1"]
    for name in runs:
        done = run(["add", "-q", "--ledger", ledger, os.path.join(FIXTURES, name + ".json.gz")], home)
        if done.returncode:
            tally.fail("compared", done.stderr.decode())
            return {}
    run(["report", "@", "--ledger", ledger, "--site", os.path.join(home, "compared")], home)
    made["runs"] = os.path.join(home, "compared", "index.html")
    many = []  # more candidates than colours, with long names
    for at in range(10):
        many.append(os.path.join(home, "candidate_%d_of_a_backend_with_a_long_name_that_no_narrow_page_has_room_for.json.gz" % at))
        shutil.copyfile(os.path.join(FIXTURES, runs[2 + at % 2] + ".json.gz"), many[-1])
    commands = {"diff": ["diff", a, b], "check": ["check", b, "--baseline", a, "--fail-on", "time.mean > +5%", "--fail-on", "kernels.count > +0"],
                "rank": ["rank", os.path.join(FIXTURES, runs[2] + ".json.gz"), os.path.join(FIXTURES, runs[3] + ".json.gz")],
                "rank_many": ["rank"] + many, "trend": ["trend", "step.p50", "--ledger", ledger]}
    titles = {"diff": "made_gpu_train.json.gz → made_gpu_train.json.gz", "check": "Gate: made_gpu_train.json.gz against made_gpu_train.json.gz"}
    for name, words in commands.items():
        out = os.path.join(home, name + ".html")
        done = run(words + ["-q", "-o", out], home)
        if not os.path.exists(out):
            tally.fail(name, done.stderr.decode())
            continue
        page = open(out, encoding="utf-8").read()
        faults = structure(name, page)
        answer, shown = document(page, "answer"), document(page, "page")
        told = json.loads(run(words + ["-q", "--format", "json"], home).stdout)["result"]
        told = {key: value[:200] if isinstance(value, list) else value for key, value in told.items()}  # what a page shows of a table
        faults += ["%s differs" % key for key, value in answer["result"].items() if value != told.get(key) and key != "truncated"]
        if shown["title"] != titles.get(name, shown["title"]):
            faults.append("called " + shown["title"])
        if name in ("diff", "check"):
            faults += pair_faults(home, answer["result"], shown, trace, a, b)
        tally.check("%s: one file, the same answer%s" % (name, ", and pictures that add up to it" if name in ("diff", "check") else ""),
                    not faults, "\n".join(faults))
        made[name] = out
    return made


def pair_faults(home, result, shown, trace, a, b):
    """What is drawn of A and B: steps, the stacks of both, parts and names whose changes have one sum."""
    faults = []
    change = [sum(row["change_ns"] for row in result[table]) for table in ("parts", "attribution")]
    sides = [sum(row[column] for row in result["parts"]) for column in ("base_ns", "new_ns")]
    if change[0] != change[1] or change[0] != sides[1] - sides[0] or not result["parts"]:
        faults.append("the changes sum to %s, the sides differ by %d" % (change, sides[1] - sides[0]))
    rows = run(["sql", trace, 'SELECT "index", dur FROM steps ORDER BY ts', "--format", "json", "-q", "--no-cache"], home)
    steps = dict(json.loads(rows.stdout)["result"]["rows"])
    drawn = [shown["pair"][side]["dur"] for side in "ab"]
    if not all(drawn) or not all(set(one) <= set(steps.values()) for one in drawn):
        faults.append("steps %s of %s" % (drawn, steps))
    flame = shown["flames"][0]
    folded = run(["flame", b, "--base", a, "-q", "--no-cache"], home).stdout.decode().splitlines()
    weights = [sum(int(line.rsplit(" ", 2)[at]) for line in folded) for at in (1, 2)]
    if [flame["nodes"]["base"][0], flame["nodes"]["total"][0]] != weights or not weights[0]:
        faults.append("the flame graph has %s, %s" % ([flame["nodes"]["base"][0], flame["nodes"]["total"][0]], weights))
    return faults


def bundle(_):
    """web/dist is what web/src makes: by digest always, byte for byte where node is."""
    digest = hashlib.sha256()
    source = os.path.join(WEB, "src")
    for name in sorted(os.listdir(source)):
        digest.update((name + "\n").encode())
        digest.update(open(os.path.join(source, name), "rb").read())
    for name in ("neurolens.js", "neurolens.css"):
        first = open(os.path.join(WEB, "dist", name), encoding="utf-8").readline()
        tally.check("web/dist/%s is of these sources" % name, digest.hexdigest() in first, "run `npm ci && npm run build` in web/")
    import gzip
    size = sum(len(gzip.compress(open(os.path.join(WEB, "dist", name), "rb").read(), 9)) for name in ("neurolens.js", "neurolens.css"))
    tally.check("the bundle is %d bytes of gzip, at most %d" % (size, MAX_GZIP), size <= MAX_GZIP)
    for name in os.listdir(source):
        text = open(os.path.join(source, name), encoding="utf-8").read()
        bad = re.search(r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function|fetch|XMLHttpRequest|WebSocket|sendBeacon)\b\s*[(=]", text)
        if bad:
            tally.fail("web/src/%s makes elements from text only and calls nobody" % name, bad.group(0))
    if not shutil.which("node") or not os.path.isdir(os.path.join(WEB, "node_modules", "esbuild")):
        tally.skip("web/dist, built anew", "no node or no web/node_modules (npm ci in web/)")
        return
    done = subprocess.run(["node", "build.mjs", "--check"], cwd=WEB, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    tally.check("web/dist, built anew, is the same", done.returncode == 0, done.stdout.decode())
    tsc = os.path.join(WEB, "node_modules", ".bin", "tsc")
    done = subprocess.run([tsc, "--noEmit", "-p", WEB], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    tally.check("web/src passes tsc --strict", done.returncode == 0, done.stdout.decode())


def browser(made, home):
    chromium = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
    if not chromium or not shutil.which("node") or not os.path.isdir(os.path.join(WEB, "node_modules", "playwright-core")):
        tally.skip("in a browser", "no chromium, node or web/node_modules (tools/setup.sh web; npm ci in web/)")
        return
    done = subprocess.run(["node", os.path.join(WEB, "test", "browser.mjs"), chromium, json.dumps(made)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=570, env=dict(os.environ, HOME=home))
    lines = [line for line in done.stdout.decode().splitlines() if line.startswith("{")]
    for line in lines:
        told = json.loads(line)
        tally.check(told["name"], told["ok"], told.get("details", ""))
    if done.returncode or not lines:
        tally.fail("the browser test ran to its end", done.stderr.decode()[-3000:])


def main():
    with tempfile.TemporaryDirectory() as home:
        made = {}
        for part in (bundle, markdown, flames, site, pages, xss, templates, compared):
            if len(sys.argv) == 1 or part.__name__ in sys.argv[1:]:
                made.update(part(home) or {})
        browser(made, home)
    tally.finish()


main()
