#!/usr/bin/env python3
"""Recordings of several files: rocprofv3's CSV tables given together are one profile whose calls, kernels
and counters join, and recordings of other processes or machines stay apart."""
import gzip
import json
import os
import tempfile

from harness import Tally, forked as neurolens

API = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
KERNEL = ('"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name",'
          '"Correlation_Id","Start_Timestamp","End_Timestamp","LDS_Block_Size","Workgroup_Size_X",'
          '"Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n')
COUNTER = ('"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Name",'
           '"Workgroup_Size","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"\n')
COPY = '"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'


def api(pid, *calls, guid=""):
    head = ('"Guid",' if guid else "") + API
    return head + "".join('%s"HIP_RUNTIME_API","%s",%d,%d,%d,%d,%d\n'
                          % ('"%s",' % guid if guid else "", name, pid, pid, number, start, start + 10)
                          for name, number, start in calls)


def kernels(*rows, guid=""):
    head = ('"Guid",' if guid else "") + KERNEL
    return head + "".join('%s"KERNEL_DISPATCH","Agent 4",1,7,99,%d,1,"%s",%d,%d,%d,0,64,1,1,640,1,1\n'
                          % ('"%s",' % guid if guid else "", dispatch, name, number, start, start + 100)
                          for name, dispatch, number, start in rows)


def counters(pid, *rows):
    return COUNTER + "".join('%d,%d,"Agent 4",1,%d,99,640,"%s",64,"SQ_WAVES",%s,%d,%d\n'
                             % (number, dispatch, pid, name, value, start, start + 100)
                             for name, dispatch, number, value, start in rows)


class Case:
    """Files in a folder of their own, and questions about them."""

    def __init__(self, tally, name):
        self.tally, self.name = tally, name
        self.folder = tempfile.TemporaryDirectory(prefix="neurolens-recordings-")

    def write(self, path, text):
        path = os.path.join(self.folder.name, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with (gzip.open if path.endswith(".gz") else open)(path, "wt", encoding="utf-8") as file:
            file.write(text)
        return path

    def rows(self, pattern, query):
        result = neurolens(["sql", "--no-cache", "--format", "json", pattern, query], timeout=20)
        if result.status != 0:
            return result.describe()
        return json.loads(result.stdout)["result"]["rows"]

    def check(self, what, query, expected, pattern=""):
        got = self.rows(os.path.join(self.folder.name, pattern), query)
        self.tally.check("%s: %s" % (self.name, what), got == expected, "expected %s got %s" % (expected, got))


LAUNCHES = ("SELECT k.name, k.process, a.name, a.process FROM kernels k LEFT JOIN api a ON a.slice = k.launch "
            "ORDER BY 1, 2")


def one_process(tally):
    case = Case(tally, "one process")
    calls = case.write("77_hip_api_trace.csv", api(77, ("first", 1, 1000), ("second", 2, 1100)))
    work = case.write("77_kernel_trace.csv", kernels(("a", 1, 1, 2000), ("b", 2, 2, 2500), ("c", 3, 2, 3000)))
    case.write("77_counter_collection.csv", counters(77, ("b", 2, 2, "64", 2500), ("d", 9, 5, "32", 4000)))
    case.write("77_memory_copy_trace.csv.gz", COPY + '"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE","Agent 0",'
               '"Agent 4",1,1500,1600\n')
    expected = [["a", 77, "first", 77], ["b", 77, "second", 77], ["c", 77, "second", 77], ["d", 77, None, None]]
    case.check("kernels join calls", LAUNCHES, expected)
    case.check("copies join calls", "SELECT a.name FROM copies c JOIN api a ON a.slice = c.launch", [["first"]])
    case.check("counters go to the trace's dispatch", "SELECT kernel, value FROM metrics ORDER BY 1",
               [["b", 64], ["d", 32]])
    case.check("one time axis", "SELECT min(ts), max(ts) FROM slices", [[0, 3000]])
    case.check("no clock is missing", "SELECT count(*) FROM coverage WHERE item = 'clock not known'", [[0]])
    case.check("every file is a source", "SELECT count(*) FROM sources", [[4]])
    named = neurolens(["info", "--no-cache", "--format", "json", work, calls], timeout=20)
    tally.check("one process: in any order of names",
                named.status == 0 and "without a launch" not in named.stdout, named.describe())


def without_pid(tally):
    case = Case(tally, "names without a process")
    case.write("out_kernel_trace.csv", kernels(("a", 1, 1, 2000)))
    case.write("out_hip_api_trace.csv", api(5, ("first", 1, 1000)))
    case.write("out_counter_collection.csv", counters(5, ("a", 1, 1, "8", 2000)))
    case.check("the only process told", LAUNCHES, [["a", 5, "first", 5]])
    bare = Case(tally, "kernels and counters alone")
    bare.write("out_kernel_trace.csv", kernels(("a", 1, 1, 2000)))
    bare.write("out_counter_collection.csv", counters(5, ("a", 1, 1, "8", 2000)))
    bare.check("a dispatch once", "SELECT k.name, m.value FROM kernels k JOIN metrics m ON m.slice = k.slice",
               [["a", 8]])


def apart(tally):
    for name, stems in (("two processes", ("7", "8")), ("two machines", ("one/7", "two/7")),
                        ("a stem in a stem", ("7", "77"))):
        case = Case(tally, name)
        for number, stem in enumerate(stems):
            pid = int(os.path.basename(stem))
            case.write(stem + "_hip_api_trace.csv", api(pid, ("call of %d" % number, 1, 1000)))
            case.write(stem + "_kernel_trace.csv", kernels(("kernel of %d" % number, 1, 1, 2000)))
        case.write(stems[0] + "_counter_collection.csv",
                   counters(int(os.path.basename(stems[0])), ("kernel of 0", 1, 1, "64", 2000)))
        files = "*/7_*" if "/" in stems[0] else ""
        case.check("are not mixed", "SELECT k.name, a.name FROM kernels k JOIN api a ON a.slice = k.launch ORDER BY 1",
                   [["kernel of 0", "call of 0"], ["kernel of 1", "call of 1"]], files)
        case.check("have their own counters", "SELECT kernel FROM metrics", [["kernel of 0"]], files)
        case.check("are two processes", "SELECT count(*) FROM processes", [[2]], files)


def guids(tally):
    case = Case(tally, "merged recordings in one file")
    case.write("out_hip_api_trace.csv", api(5, ("of A", 1, 1000), guid="A")
               + api(6, ("of B", 1, 1000), guid="B").split("\n", 1)[1])
    case.write("out_kernel_trace.csv", kernels(("a", 1, 1, 2000), guid="A")
               + kernels(("b", 1, 1, 2000), guid="B").split("\n", 1)[1])
    case.check("join by Guid", LAUNCHES, [["a", 5, "of A", 5], ["b", 6, "of B", 6]])
    twin = Case(tally, "one process id twice in a merged file")
    twin.write("out_hip_api_trace.csv", api(5, ("of A", 1, 1000), guid="A")
               + api(5, ("of B", 1, 1000), guid="B").split("\n", 1)[1])
    twin.write("out_kernel_trace.csv", kernels(("a", 1, 1, 2000), guid="A")
               + kernels(("b", 1, 1, 2000), guid="B").split("\n", 1)[1])
    twin.check("is not mixed", LAUNCHES, [["a", 5, "of A", 5], ["b", 5, None, None]])
    twin.check("is told", "SELECT sum(count) FROM coverage WHERE item = 'not linked: process id of two recordings'",
               [[2]])


def damaged(tally):
    case = Case(tally, "a damaged file among them")
    case.write("7_hip_api_trace.csv", api(7, ("first", 1, 1000)))
    broken = case.write("7_memory_copy_trace.csv", COPY + "x\n")
    work = case.write("7_kernel_trace.csv", kernels(("a", 1, 1, 2000)))
    case.check("the others load from a folder", LAUNCHES, [["a", 7, "first", 7]])
    case.check("and it is told", "SELECT count FROM coverage WHERE item = 'failed: file not loaded'", [[1]])
    result = neurolens(["info", "--no-cache", work, broken], timeout=20)
    tally.check("damaged: named, it is refused", result.status == 4 and "7_memory_copy_trace.csv" in result.stderr,
                result.describe())


def roctracer(tally):
    """Text traces: names of kernels and sizes of copies stand in the file of calls alone."""
    case = Case(tally, "roctracer's text")
    case.write("9_hcc_ops_trace.txt", "2000:2100 0:1 hcCommandKernel:2:9\n1500:1700 0:0 CopyHostToDevice:1:9\n")
    case.write("9_hip_api_trace.txt", "1400:1450 9:10 hipMemcpyAsync(dst=0x1, src=0x2, sizeBytes=4096, kind=1, stream=0) :1\n"
               "1900:1950 9:9 hipModuleLaunchKernel(f=0x1, stream=0) kernel=void f<int, 2>(int*, float) :2\n")
    case.write("9_async_copy_trace.txt", "1510:1690 async-copy:1:9\n")
    case.write("9_roctx_trace.txt", '1000 9:9 1:0:"outer: a"\n1100 9:9 1:0:"inner"\n1200 9:9 2:0:""\n2200 9:9 2:0:""\n')
    case.write("8_hip_api_trace.txt", "1900:1950 8:8 hipModuleLaunchKernel(f=0x1) kernel=of another process :2\n")
    case.check("kernels have the names of their launches", LAUNCHES, [["void f<int, 2>(int*, float)", 9, "hipModuleLaunchKernel", 9]])
    case.check("a copy counts once, with its bytes", "SELECT c.bytes, c.dur, a.name FROM copies c JOIN api a ON a.slice = c.launch",
               [[4096, 200, "hipMemcpyAsync"]])
    case.check("ranges nest", "SELECT name, dur FROM nvtx ORDER BY dur", [["inner", 100], ["outer: a", 1200]])


def slept(tally):
    """A recording over a suspension of the machine: on both sides of it times are exact, and the step is told."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "recording", "slept.nlrec")

    def ask(question):
        return neurolens(["sql", "--no-cache", "--absolute", "--format", "csv", path, question], timeout=20).stdout.splitlines()[1:]

    times = ask("SELECT ts, dur FROM slices ORDER BY ts")
    tally.check("slept: times on both sides", times == ["2000000500,2000000000", "7000000500,2000000000"],
                " ".join(times))
    steps = ask("SELECT count, detail LIKE '%by -30000000000 ns%' FROM coverage WHERE item = 'clock steps between readings'")
    tally.check("slept: the step is told", steps == ["1,1"], " ".join(steps))
    error = ask("SELECT value FROM metadata WHERE key = 'clock error (ns)'")
    tally.check("slept: the error is that of the rest", len(error) == 1 and 0 < int(error[0]) < 500, " ".join(error))


def main():
    tally = Tally("recordings")
    for part in (one_process, without_pid, apart, guids, damaged, roctracer, slept):
        part(tally)
    tally.finish()


main()
