#!/usr/bin/env python3
"""Exports as their real consumers read them: pyarrow, pandas, Polars, DuckDB, Perfetto's protobuf schema,
`go tool pprof`, speedscope's importer in its own application, prometheus_client, opentelemetry-proto, TensorBoard's
event reader, Holistic Trace Analysis.

    tests/exports_real.py [WORD...]      parts whose name contains a WORD

Each part needs a package; without it the part is skipped, with the reason. `make test-frameworks` puts
them into build/venv-exports, build/venv-hta and build/node-exports and runs this file with the first one's interpreter.
"""
import base64
import importlib
import json
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from harness import FIXTURES, ROOT, Tally, neurolens, scratch  # noqa: E402

PYTHON = os.path.join(ROOT, "build", "venv-exports", "bin", "python")
if os.path.exists(PYTHON) and os.path.abspath(sys.prefix) != os.path.dirname(os.path.dirname(PYTHON)):
    os.execv(PYTHON, [PYTHON, *sys.argv])

tally = Tally("exports_real")
SHARED = os.path.join(os.path.dirname(ROOT), "shared", "samples")
TRAIN = os.path.join(FIXTURES, "torch_cpu_train.json.gz")
HTA_TRACE = ("torch/facebookresearch+HolisticTraceAnalysis/tests/data/ns_resolution_trace/"
             "rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz")
H100 = os.path.join(SHARED, "nsys", "GindaChen+nsys-ai__tests__fixtures__h100_2gpu_1s.sqlite")
STACKS = os.path.join(os.path.dirname(FIXTURES), "corpus", "perf")


def sql(profile, query):
    done = neurolens(["sql", profile, query, "--format", "json"])
    if done.status != 0:
        raise RuntimeError("%s: %s" % (query, done.describe()))
    result = json.loads(done.stdout)["result"]
    return [c["name"] for c in result["columns"]], result["rows"]


def export(profile, form, name, *options):
    path = os.path.join(scratch(), name)
    done = neurolens(["export", profile, "--to", form, "-o", path, *options])
    if done.status != 0:
        raise RuntimeError(done.describe())
    return path


def profiles():
    return [("train", TRAIN)] + ([("h100", H100)] if os.path.exists(H100) else [])


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise LookupError("no %s; make test-frameworks installs it" % name) from None


def tables_of(folder):
    return sorted(f[:-len(".parquet")] for f in os.listdir(folder) if f.endswith(".parquet"))


def plain(value):
    return None if value is None or value != value else value


def pyarrow(name, profile):
    parquet = module("pyarrow.parquet")
    folder = export(profile, "parquet", name + "-arrow")
    for table in tables_of(folder):
        got = parquet.read_table(os.path.join(folder, table + ".parquet"), partitioning=None)
        names, rows = sql(profile, "SELECT * FROM " + table)
        theirs = [list(map(plain, row)) for row in zip(*(got[c].to_pylist() for c in got.column_names))]
        if table in ("time_breakdown", "kernel_summary", "account"):
            continue  # results have columns of their own; the next part looks at them
        tally.check("pyarrow %s: %s, %d rows" % (name, table, len(rows)),
                    got.column_names == names and theirs == rows,
                    "%s\n%s\n%s" % (names, next(((a, b) for a, b in zip(rows, theirs) if a != b), ""),
                                    (len(rows), len(theirs))))
    summary = parquet.read_table(os.path.join(folder, "kernel_summary.parquet")).to_pylist() \
        if "kernel_summary" in tables_of(folder) else []
    wanted = sql(profile, "SELECT name, count, total_ns FROM kernel_summary")[1]
    tally.check("pyarrow %s: kernel_summary" % name,
                sorted((r["name"], r["count"], r["total_ns"]) for r in summary) == sorted(map(tuple, wanted)))
    file = parquet.ParquetFile(os.path.join(folder, "slices.parquet"))
    statistics = file.metadata.row_group(0).column(file.schema_arrow.names.index("ts")).statistics
    limits = sql(profile, "SELECT min(ts), max(ts) FROM slices")[1][0]
    tally.check("pyarrow %s: statistics are read" % name,
                statistics is not None and [statistics.min, statistics.max] == limits, str(statistics))


def arrow(name, profile):
    """The files themselves, mapped: every cell of every table; Polars and DuckDB on top."""
    pa = module("pyarrow")
    folder = export(profile, "arrow", name + "-ipc")
    for table in sorted(f[:-len(".arrow")] for f in os.listdir(folder)):
        with pa.memory_map(os.path.join(folder, table + ".arrow")) as source:
            got = pa.ipc.open_file(source).read_all()
            got.validate(full=True)
            if table in ("time_breakdown", "kernel_summary", "account"):
                continue
            names, rows = sql(profile, "SELECT * FROM " + table)
            theirs = [list(map(plain, row)) for row in zip(*(got[c].to_pylist() for c in got.column_names))]
            tally.check("arrow %s: %s, %d rows" % (name, table, len(rows)), got.column_names == names and
                        theirs == rows, next((str(p) for p in zip(rows, theirs) if p[0] != p[1]), ""))
    slices = os.path.join(folder, "slices.arrow")
    count, total = sql(profile, "SELECT count(*), sum(dur) FROM slices")[1][0]
    frame = module("polars").read_ipc(slices)
    tally.check("arrow %s: Polars finds %d slices" % (name, count), frame.height == count and
                frame["dur"].sum() == total)
    rows = pa.ipc.open_file(slices).read_all()  # noqa: F841: DuckDB asks for it by name
    theirs = module("duckdb").sql("SELECT kind, count(*), sum(dur)::BIGINT FROM rows GROUP BY kind ORDER BY kind")
    tally.check("arrow %s: DuckDB groups them" % name, [list(r) for r in theirs.fetchall()] ==
                sql(profile, "SELECT kind, count(*), sum(dur) FROM slices GROUP BY kind ORDER BY kind")[1])


def otlp(name, profile):
    """opentelemetry-proto's own messages, and its JSON with ids in base64 as that parser wants them."""
    trace = module("opentelemetry.proto.trace.v1.trace_pb2").TracesData()
    metric = module("opentelemetry.proto.metrics.v1.metrics_pb2").MetricsData()
    json_format = module("google.protobuf.json_format")
    with open(export(profile, "otlp-traces", name + "-spans.pb"), "rb") as file:
        trace.ParseFromString(file.read())
    spans = [s for r in trace.resource_spans for scope in r.scope_spans for s in scope.spans]
    count, total = sql(profile, "SELECT count(*), sum(dur) FROM slices")[1][0]
    tally.check("opentelemetry-proto %s: %d spans and their lengths" % (name, len(spans)), len(spans) == count + 1 and
                sum(s.end_time_unix_nano - s.start_time_unix_nano for s in spans[1:]) == total)
    with open(export(profile, "otlp-metrics", name + "-metrics.pb"), "rb") as file:
        metric.ParseFromString(file.read())
    found = {m.name: m for r in metric.resource_metrics for scope in r.scope_metrics for m in scope.metrics}
    walls = sorted(p.as_int for p in found["neurolens.device.wall"].gauge.data_points) if \
        "neurolens.device.wall" in found else []
    tally.check("opentelemetry-proto %s: wall of %d devices" % (name, len(walls)),
                walls == sorted(r[0] for r in sql(profile, "SELECT wall_ns FROM time_breakdown")[1]))
    again_spans, again_metrics = type(trace)(), type(metric)()
    with open(export(profile, "otlp", name + ".otlp.jsonl"), encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            for group in entry.get("resourceSpans", ()):
                for scope in group["scopeSpans"]:
                    for span in scope["spans"]:
                        for key in ("traceId", "spanId", "parentSpanId"):
                            if key in span:
                                span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
            again = again_spans if "resourceSpans" in entry else again_metrics
            again.MergeFrom(json_format.ParseDict(entry, type(again)()))
    tally.check("opentelemetry-proto %s: its JSON is its protobuf" % name, again_spans == trace and
                again_metrics == metric)


def duckdb(name, profile):
    db = module("duckdb").connect()
    folder = export(profile, "parquet", name + "-duck")
    for query in ("SELECT kind, count(*), sum(dur) FROM %s GROUP BY kind ORDER BY kind",
                  "SELECT count(*), min(ts), max(ts), count(DISTINCT name) FROM %s WHERE ts > 1000000"):
        ours = sql(profile, query % "slices")[1]
        theirs = [list(r) for r in db.execute(query % ("'%s/slices.parquet'" % folder)).fetchall()]
        theirs = [[int(v) if hasattr(v, "as_tuple") else v for v in r] for r in theirs]
        tally.check("duckdb %s: %s" % (name, query[:50]), ours == theirs, "%s\n%s" % (ours, theirs))


def polars(name, profile):
    pl = module("polars")
    folder = export(profile, "parquet", name + "-polars")
    frame = pl.read_parquet(os.path.join(folder, "slices.parquet"))
    count, total = sql(profile, "SELECT count(*), sum(dur) FROM slices")[1][0]
    tally.check("polars %s: %d slices" % (name, count), frame.height == count and frame["dur"].sum() == total)


def pandas(name, profile):
    pd = module("pandas")
    folder = export(profile, "csv", name + "-pandas")
    for table in sorted(f[:-4] for f in os.listdir(folder)):
        frame = pd.read_csv(os.path.join(folder, table + ".csv"), low_memory=False, keep_default_na=False,
                            na_values=[""])
        if table == "account":
            continue  # the analysis shows fewer columns than SQL
        count = sql(profile, "SELECT count(*) FROM " + table)[1][0][0]
        tally.check("pandas %s: %s.csv, %d rows" % (name, table, count), len(frame) == count)
        if "dur" in frame.columns and "name" in frame.columns and count:
            groups = frame.groupby("name", dropna=False)["dur"].agg(["count", "sum"])
            theirs = sorted((str(plain(key)), int(row["count"]), int(row["sum"])) for key, row in groups.iterrows())
            ours = sorted((str(key), n, total or 0) for key, n, total in
                          sql(profile, "SELECT name, count(dur), sum(dur) FROM %s GROUP BY name" % table)[1])
            tally.check("pandas %s: %s.csv grouped by name" % (name, table), theirs == ours,
                        next((str(pair) for pair in zip(ours, theirs) if pair[0] != pair[1]), ""))


def ranks(name, profile):
    """Hive folders: a table that has ranks is split, and readers put the column back."""
    if name != "h100":
        return
    parquet, db = module("pyarrow.parquet"), module("duckdb").connect()
    folder = os.path.join(scratch(), "two-ranks")
    source = [os.path.join(FIXTURES, "torch_cpu_ddp_rank%d.json.gz" % r) for r in (0, 1)]
    done = neurolens(["export", *source, "--to", "parquet", "-o", folder])
    tally.check("ranks: exported", done.status == 0, done.describe())
    both = os.path.join(scratch(), "two.nothing")
    del both
    names, rows = sql2(source, "SELECT rank, count(*), sum(dur) FROM ops GROUP BY rank ORDER BY rank")
    table = parquet.read_table(os.path.join(folder, "ops"))
    tally.check("ranks: pyarrow finds %d ops in folders rank=N" % table.num_rows,
                table.num_rows == sum(r[1] for r in rows) and "rank" in table.column_names)
    theirs = db.execute("SELECT rank, count(*), sum(dur)::BIGINT FROM read_parquet('%s/ops/*/*.parquet', "
                        "hive_partitioning=true) GROUP BY rank ORDER BY rank" % folder).fetchall()
    tally.check("ranks: duckdb groups them by rank", [list(r) for r in theirs] == rows, str(theirs))


def sql2(sources, query):
    done = neurolens(["sql", *sources, query, "--format", "json"])
    result = json.loads(done.stdout)["result"]
    return result["columns"], result["rows"]


def perfetto(name, profile):
    trace = module("perfetto.protos.perfetto.trace.perfetto_trace_pb2").Trace()
    with open(export(profile, "perfetto", name + "-real.pftrace"), "rb") as file:
        trace.ParseFromString(file.read())
    begun = sum(1 for p in trace.packet if p.track_event.type in (1, 3))
    ended = sum(1 for p in trace.packet if p.track_event.type == 2)
    marks, count = sql(profile, "SELECT sum(flags & 2) / 2, count(*) FROM slices")[1][0]
    tally.check("perfetto's schema %s: %d slices" % (name, count), begun == count and ended <= count - marks)
    unknown = [p for p in trace.packet if p.WhichOneof("data") is None and not p.HasField("interned_data")]
    tally.check("perfetto's schema %s: every packet is known" % name, not unknown)


def prometheus(name, profile):
    """prometheus_client's parser of OpenMetrics: every sample, its unit and type, the histogram of steps."""
    parser = module("prometheus_client.openmetrics.parser")
    with open(export(profile, "openmetrics", name + "-real.prom"), encoding="utf-8") as file:
        families = {f.name: f for f in parser.text_fd_to_metric_families(file)}
    devices = families.get("neurolens_device_wall_seconds")
    walls = {(s.labels["rank"], s.labels["device"]): s.value for s in devices.samples} if devices else {}
    ours = {("" if rank is None else str(rank), "" if device is None else str(device)): wall / 1e9
            for rank, device, wall in sql(profile, "SELECT rank, device, wall_ns FROM time_breakdown")[1]}
    tally.check("prometheus_client %s: wall of %d devices" % (name, len(ours)), walls == ours and
                (not devices or (devices.type, devices.unit) == ("gauge", "seconds")), str(walls))
    kernels = sql(profile, "SELECT name, count, total_ns FROM kernel_summary ORDER BY total_ns DESC, name LIMIT 100")[1]
    told = families.get("neurolens_kernel_seconds")
    values = {(s.name, s.labels["kernel"]): s.value for s in told.samples if "quantile" not in s.labels} if told else {}
    tally.check("prometheus_client %s: %d kernels, their counts and sums" % (name, len(kernels)), all(
        values.get(("neurolens_kernel_seconds_sum", kernel)) == total / 1e9 and
        values.get(("neurolens_kernel_seconds_count", kernel)) == count for kernel, count, total in kernels), str(kernels[:1]))
    steps = families.get("neurolens_step_seconds")
    if steps:
        counts = [s.value for s in steps.samples if s.name.endswith("_count")]
        largest = [s.value for s in steps.samples if s.labels.get("le") == "+Inf"]
        tally.check("prometheus_client %s: a histogram of steps" % name, steps.type == "histogram" and counts == largest)


def tensorboard(name, profile):
    """TensorBoard's own reader of event files."""
    accumulator = module("tensorboard.backend.event_processing.event_accumulator")
    folder = os.path.join(scratch(), name + "-board")
    os.mkdir(folder)
    export(profile, "tensorboard", os.path.join(folder, "events.out.tfevents.1.neurolens"))
    events = accumulator.EventAccumulator(folder, size_guidance={accumulator.TENSORS: 0}).Reload()
    tags = events.Tags()["tensors"]
    util = module("tensorboard.util.tensor_util")
    values = {tag: [(e.step, util.make_ndarray(e.tensor_proto).item()) for e in events.Tensors(tag)] for tag in tags}
    steps = sorted(dur / 1e6 for dur, in sql(profile, "SELECT dur FROM steps")[1])
    told = sorted(v for tag, list_ in values.items() if tag.startswith("step_time_ms") for _, v in list_)
    tally.check("TensorBoard %s: lengths of %d steps" % (name, len(steps)),
                all(any(abs(v - s) < 1e-3 * max(1, s * 1e-4) for v in told) for s in steps) and len(told) >= len(steps), str(told[:5]))
    text = [tag for tag in tags if events.SummaryMetadata(tag).plugin_data.plugin_name == "text"]
    report = values[text[0]][0][1].decode() if text else ""
    scalars = [tag for tag in tags if events.SummaryMetadata(tag).plugin_data.plugin_name == "scalars"]
    tally.check("TensorBoard %s: %d scalars and the report as Markdown" % (name, len(scalars)),
                report.startswith("#") and "|" in report and len(scalars) + len(text) == len(tags) and scalars, str(tags))


def browser_tools(*packages):
    """Chromium, node and the folder of node_modules that has these packages."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    node, folder = shutil.which("node"), os.path.join(ROOT, "build", "node-exports")
    for package in packages:
        if not os.path.isdir(os.path.join(folder, "node_modules", package)):
            raise LookupError("no %s; make test-frameworks installs it" % package)
    if not browser or not node:
        raise LookupError("no Chromium" if node else "no node")
    return browser, node, folder


def speedscope(name, profile):
    """speedscope's own importer, in its application: what it holds of our file is what the profile has."""
    browser, node, folder = browser_tools("speedscope", "playwright-core")
    path = export(profile, "speedscope", name + "-real.speedscope.json")
    done = subprocess.run([node, os.path.join(ROOT, "tests", "speedscope_read.mjs"), path, folder, browser],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200)
    told = json.loads(done.stdout or "{}")
    profiles = told.get("profiles", [])
    tally.check("speedscope %s: its importer takes the file" % name, profiles and not told["faults"],
                done.stderr.decode()[-800:] + str(told.get("faults")))
    device = [p for p in profiles if p["name"].startswith("device time")]
    total = sql(profile, "SELECT sum(dur) FROM slices WHERE kind IN ('kernel', 'memcpy', 'memset')")[1][0][0]
    tally.check("speedscope %s: device time weighs %s ns" % (name, total), [p["total"] for p in device] == ([total] if total else []),
                str([p["total"] for p in device]))
    if device:
        selfs = {frame: self for frame, self, _ in device[0]["frames"] if self}
        ours = dict(sql(profile, "SELECT name, sum(dur) FROM slices WHERE kind IN ('kernel', 'memcpy', 'memset') GROUP BY name")[1])
        tally.check("speedscope %s: %d kernels and copies by name" % (name, len(ours)), selfs == ours)
    names = {frame for p in profiles for frame, _, _ in p["frames"]}
    missing = [n for n, in sql(profile, "SELECT DISTINCT name FROM slices WHERE name <> ''")[1] if n not in names]
    tally.check("speedscope %s: every name is a frame" % name, not missing, str(missing[:3]))


def hta(name, profile):
    """Holistic Trace Analysis on our Chrome JSON; where the profile is Kineto's, the same as on the original."""
    python = os.path.join(ROOT, "build", "venv-hta", "bin", "python")
    if not os.path.exists(python):
        raise LookupError("no HolisticTraceAnalysis; make test-frameworks installs it")
    originals = {"h100": None, "train": os.path.join(SHARED, HTA_TRACE)}
    profile = originals[name] or profile
    if not os.path.exists(profile):
        raise LookupError("no ../shared")

    def ask(path):
        done = subprocess.run([python, os.path.join(ROOT, "tests", "hta_read.py"), path], timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise RuntimeError(done.stderr.decode()[-1500:])
        return json.loads(done.stdout)
    ours = ask(export(profile, "chrome", name + "-hta.json"))
    mine = ours["ranks"]["0"]
    if originals[name]:
        theirs = ask(profile)
        tally.check("HTA: the same device work by name, launches, steps and events as of the original",
                    theirs["ranks"] == ours["ranks"] and theirs["launches"] == ours["launches"] and theirs["kinds"] == ours["kinds"])
        # The original's times have 16 digits, so that its doubles are a quarter of a microsecond apart.
        near = all(abs(a[key] - b[key]) < 1 for a, b in zip(theirs["temporal"], ours["temporal"]) for key in a)
        tally.check("HTA: the same breakdown of time as of the original", near, "%s\n%s" % (theirs["temporal"], ours["temporal"]))
        return
    work = " FROM slices s JOIN lanes l ON l.id = s.lane WHERE l.stream IS NOT NULL"
    wanted = {n: [count, total] for n, count, total in sql(
        profile, "SELECT s.name, count(*), sum(s.dur)" + work + " GROUP BY 1")[1]}
    found = {n: [count, round(total * 1000)] for n, (count, total) in mine["device"].items()}
    tally.check("HTA %s: %d names of device work, their counts and sums" % (name, len(wanted)), found == wanted,
                next((str((n, wanted.get(n), found.get(n))) for n in {**wanted, **found} if wanted.get(n) != found.get(n)), ""))
    linked = sql(profile, "SELECT count(s.link)" + work)[1][0][0]
    tally.check("HTA %s: %d launches are found" % (name, linked), mine["linked"] == linked, str(mine["linked"]))


def go_pprof(name, profile):
    if not shutil.which("go"):
        raise LookupError("no go on the PATH")
    if name != "h100":
        return
    path = export(profile, "pprof", name + ".pb.gz")
    # Go compiles pprof at its first use, 45 s of the processor: once for whoever runs this, not in every scratch home or tree.
    cache = subprocess.run(["go", "env", "GOCACHE"], stdout=subprocess.PIPE, text=True).stdout.strip()
    if not os.path.isabs(cache) or not os.access(os.path.dirname(os.path.dirname(cache)), os.W_OK):
        cache = os.path.join(ROOT, "build", "go-cache")
    done = subprocess.run(["go", "tool", "pprof", "-top", "-unit=ns", "-nodecount=5", path], timeout=300,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ, HOME=scratch(), GOCACHE=cache))
    text = done.stdout.decode()
    total = sql(profile, "SELECT sum(dur) FROM slices WHERE kind IN ('kernel', 'memcpy', 'memset')")[1][0][0]
    tally.check("go tool pprof %s: total %d ns" % (name, total), str(total) in text, text[:800])


def main():
    for part in (pyarrow, arrow, otlp, duckdb, polars, pandas, prometheus, tensorboard, speedscope, hta, ranks, perfetto,
                 go_pprof):
        for name, profile in profiles():
            what = "%s %s" % (part.__name__, name)
            if len(sys.argv) > 1 and not any(word in what for word in sys.argv[1:]):
                continue
            try:
                part(name, profile)
            except LookupError as missing:
                tally.skip(what, str(missing))
            except Exception as error:  # one part's failure is not the others'
                tally.fail(what, "%s: %s" % (type(error).__name__, error))
    tally.finish()


main()
