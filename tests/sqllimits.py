#!/usr/bin/env python3
"""SQL that works long, or takes much, inside one function of SQLite, where no handler of ours is called: --timeout
and --memory hold all the same.

    tests/sqllimits.py [NAME...]     all, or those whose name contains NAME

Each statement would take minutes, or many GB; it has half a second and 300 MiB. What counts is that it ends soon, with
5 and a message, or with an answer.
"""
import os
import subprocess
import sys
import time

from harness import PROGRAM, ROOT, Tally, environment, scratch

PROFILE = os.path.join(ROOT, "tests", "corpus", "chrome", "kineto.json")
SOON = 20          # seconds; a busy machine is slow, but not as slow as what would happen without limits
MEMORY = 300 << 20
SLACK = 160 << 20  # the program itself, and what comes between two looks
FOREVER = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
LONG = "printf('%.*c', 70000000, 'a')"
STATEMENTS = [
    ("rows of long printf", FOREVER + "SELECT sum(length(printf('%70000000d', x))) FROM c"),
    ("rows of randomblob", FOREVER + "SELECT sum(length(randomblob(70000000))) FROM c"),
    ("rows of hex(zeroblob)", FOREVER + "SELECT sum(length(hex(zeroblob(35000000)))) FROM c"),
    ("randomblob in the answer", FOREVER + "SELECT randomblob(70000000) FROM c"),
    ("many blobs of one row", "SELECT " + ", ".join(["randomblob(%d)" % (60000000 + i) for i in range(80)])),
    ("precision of printf", "SELECT length(printf('%.*c', 2147483647, 'x'))"),
    ("replace of a long text by itself", "SELECT length(replace(%s, printf('%%.*c', 30000000, 'a') || 'b', 'c'))" % LONG),
    ("instr of a long text", "SELECT instr(%s, printf('%%.*c', 30000000, 'a') || 'b')" % LONG),
    ("LIKE with many %", FOREVER + "SELECT count(*) FROM c WHERE printf('%.*c', 60000 + x, 'a') LIKE "
                         "'%a%a%a%a%a%a%a%a%a%a%a%a%_a%b' ESCAPE 'x'"),
    ("GLOB with many *", FOREVER + "SELECT count(*) FROM c WHERE printf('%.*c', 60000 + x, 'a') GLOB '*a*a*a*a*a*a*[a-c]?a*b'"),
    ("group_concat", FOREVER + "SELECT length(group_concat(x)) FROM c"),
    ("group_concat of long texts", FOREVER + "SELECT length(group_concat(printf('%1000000d', x))) FROM c"),
    ("json_group_array", FOREVER + "SELECT length(json_group_array(printf('%10000d', x))) FROM c"),
    ("json_each of a long array", "SELECT count(*) FROM json_each('[' || replace(%s, 'a', '1,') || '1]')" % LONG.replace("7", "3")),
    ("a recursion", FOREVER + "SELECT max(x) FROM c"),
    ("a recursion that is kept", FOREVER + "SELECT x FROM c"),
    ("a join of everything", "SELECT count(*) FROM " + ", ".join("slices s%d" % i for i in range(14))),
    ("a sort", FOREVER + "SELECT x FROM c ORDER BY -x LIMIT 1"),
    ("a window", FOREVER + "SELECT sum(s) FROM (SELECT sum(x) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED "
                           "FOLLOWING) s FROM c)"),
    ("an aggregate of ours", FOREVER + "SELECT median(x) FROM c"),
    ("intervals of ours", FOREVER + "SELECT * FROM interval_gaps((SELECT intervals(x, 1) FROM c))"),
]
tally = Tally("sqllimits")


def run(query, *options):
    """Exit status, seconds, bytes of memory at most, and what was said; status None when it had to be killed."""
    command = [PROGRAM, "sql", "-q", "--no-cache", *options, PROFILE, query]
    began = time.monotonic()
    with open(os.path.join(scratch(), "said"), "w+b") as said:
        child = subprocess.Popen(command, env=environment(scratch()), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
        status, used = None, None
        while time.monotonic() - began < SOON + 5 and status is None:
            pid, wait, used = os.wait4(child.pid, os.WNOHANG)
            status = os.waitstatus_to_exitcode(wait) if pid else None
            time.sleep(0.01)
        if status is None:
            child.kill()
            _, _, used = os.wait4(child.pid, 0)
        child.returncode = -9 if status is None else status
        said.seek(0)
        return status, time.monotonic() - began, used.ru_maxrss << 10, said.read().decode("utf-8", "replace")


def main():
    wanted = sys.argv[1:]
    sanitized = "Sanitizer" in subprocess.run(["ldd", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                              universal_newlines=True).stdout or "asan" in PROGRAM
    for name, query in STATEMENTS:
        if wanted and not any(word in name for word in wanted):
            continue
        status, seconds, held, said = run(query, "--timeout", "500ms", "--memory", str(MEMORY))
        good = status in (0, 2, 5) and seconds < SOON and (sanitized or held < MEMORY + SLACK) and (status == 0 or said.count("\n") == 1)
        tally.check(name, good, "status %s after %.1f s with %d MiB: %s" % (status, seconds, held >> 20, said))
    if not wanted:
        status, seconds, _, said = run(STATEMENTS[0][1], "--timeout", "500ms")
        tally.check("a late statement ends with 5 and says why", status == 5 and "longer than its limit" in said, (status, said))
        status, seconds, _, said = run(STATEMENTS[6][1], "--timeout", "500ms")
        tally.check("so does a late function", status == 5 and "longer than its limit" in said, (status, said))
    tally.finish()


if __name__ == "__main__":
    main()
