#!/usr/bin/env python3
"""Every file of tests/corpus loads and is analysed without a word on stderr (under sanitizers: without
a finding of theirs), and holds the rows and gives the answers that tests/corpus_expect says; every file of tests/reject is
refused with one line and 4, which stands in tests/corpus_expect/refused.txt.

    tests/corpus_expect/run.py [WORD...]       all, or the files whose folder contains a WORD
    tests/corpus_expect/run.py --accept WORD   write what is expected of the files whose path contains WORD, anew

What is expected of a file stands in tests/corpus_expect under its path + ".txt": per table its rows and a checksum of all its texts and
whole numbers, row by row, so that none changes or moves to another row unseen; per column how many values there are, the least and greatest,
and a sum (of numbers modulo 1000003, of lengths of texts); then its coverage. Columns without values are left out. Whoever accepts reads the difference
first: it is the reader's answer, held against the file by hand or by an oracle. What all analyses say of the file stands
beside it under ".answers" (jsonsums.py): these are not proved by it, only kept from changing unseen.
"""
import csv
import io
import json
import os
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import TESTS, Tally, accepting, forked as neurolens, meant, one_line_error  # noqa: E402
from jsonsums import sums  # noqa: E402

EXPECT = os.path.join(TESTS, "corpus_expect")
REFUSED = os.path.join(EXPECT, "refused.txt")
# Made from the others, not what a reader says: kept with the answers.
DERIVED = {"time_breakdown", "detected_steps", "kernel_summary", "kernel_owner", "idle_gaps", "idle_causes", "account", "op_work", "roofline"}


def files(folder, only=()):
    for path, _, names in sorted(os.walk(os.path.join(TESTS, folder))):
        for name in sorted(names):
            if only and not any(word in os.path.relpath(path, TESTS) for word in only):
                continue
            if name not in ("README.md", "README", ".gitignore") and not name.endswith(".py"):
                yield os.path.join(path, name)


def tables(path):
    """The tables of the program and their columns: {table: [(column, its type)]}."""
    result = neurolens(["sql", "--no-cache", "--format", "csv", "-n", "100000", path,
                        "SELECT m.name, t.name, t.type FROM sqlite_master m, pragma_table_info(m.name) t WHERE m.type = 'table'"], timeout=20)
    found = {}
    for table, column, kind in list(csv.reader(io.StringIO(result.stdout)))[1:]:
        if table != "sources":
            found.setdefault(table, []).append((column, kind))
    return found


def question(table, columns):
    """One statement that sums up a table."""
    wanted = ["count(*)"]
    for column, kind in columns:
        name, text = '"%s"' % column, kind.startswith("TEXT")
        value = "length(%s)" % name if text else "%s %% 1000003" % name
        wanted += ["count(%s)" % name, "min(%s)" % name, "max(%s)" % name, "sum(%s)" % value]
        if text:
            wanted[-1] += " || '/' || count(DISTINCT %s)" % name
    # fractions are not the same to the last digit on every machine
    whole = ["coalesce(\"%s\", '-')" % column for column, kind in columns if not kind.startswith(("REAL", "SHARE"))]
    wanted.append("group_concat(%s, char(10))" % " || char(9) || ".join(whole))
    return "SELECT %s FROM %s;" % (", ".join(wanted), table)


def short(text):
    return text if len(text) <= 60 else text[:57] + "..."


def describe(path, known):
    """What a file holds and what is derived from it, as two texts; the result when it cannot be asked."""
    script = "".join("SELECT '#%s';\n%s\n" % (table, question(table, columns)) for table, columns in known.items())
    script += "SELECT '#coverage'; SELECT item, count, detail FROM coverage ORDER BY 1, 2, 3;\n"
    result = neurolens(["sql", "--no-cache", "--absolute", "--format", "csv", "-n", "100000", path], stdin=script.encode(), timeout=60)
    if result.status != 0:
        return result, None, None
    rows = [row for row in csv.reader(io.StringIO(result.stdout)) if row]
    starts = [i for i, row in enumerate(rows) if len(row) == 1 and row[0].startswith("#")] + [len(rows)]
    read, derived = [], []
    for begin, end in zip(starts, starts[1:]):
        table, body = rows[begin][0][1:], rows[begin + 1:end]
        lines = derived if table in DERIVED else read
        body = [row for row in body if not row[0].startswith("'#")]
        if table == "coverage" and begin == starts[-2]:
            lines += ["coverage %s: %s%s" % (item, count, " (%s)" % short(detail) if detail else "") for item, count, detail in body[1:]]
        elif len(body) > 1 and body[1][0] != "0":
            lines.append("%s %s ~%08x" % (table, body[1][0], zlib.crc32(body[1][-1].encode("utf-8", "surrogateescape"))))
            cells = body[1][1:-1]
            for (column, _), at in zip(known[table], range(0, len(cells), 4)):
                count, least, most, total = cells[at:at + 4]
                if count != "0":
                    lines.append("  %s %s: %s .. %s, sum %s" % (column, count, short(least), short(most), total))
    return result, "\n".join(read) + "\n", "".join("table %s\n" % line.strip() for line in derived)


def analyzed(path):
    """What all analyses say of a file, as text; the result when they cannot be asked."""
    result = neurolens(["analyze", "--no-cache", "--all", "--format", "json", path], timeout=20)
    good = result.status == 0 and not result.stderr
    return result, sums(json.loads(result.stdout.replace(TESTS + "/", ""))) if good else None


def expected(path, ending):
    name = os.path.join(EXPECT, os.path.relpath(path, os.path.join(TESTS, "corpus")) + ending)
    if not os.path.exists(name):
        return name, None
    with open(name, encoding="utf-8") as file:
        return name, file.read()


def difference(wanted, got):
    old, new = (wanted or "").splitlines(), got.splitlines()
    return "\n".join(["- " + line for line in old if line not in new][:15] + ["+ " + line for line in new if line not in old][:15])


def refused(path):
    """What is said of a broken file, without the way to it; the result."""
    result = neurolens(["info", "--no-cache", path], timeout=20)
    return result, result.stderr.replace(TESTS + "/", "").replace("neurolens: ", "", 1)


def accept_refused(word):
    """Those whose path contains the word, anew; the others as they stand."""
    known = kept_refusals()
    names = {os.path.relpath(path, TESTS): path for path in files("reject")}
    with open(REFUSED, "w", encoding="utf-8") as file:
        for name, path in names.items():
            file.write("%s\t%s" % (name, refused(path)[1] if word in path or name not in known else known[name] + "\n"))


def kept_refusals():
    if not os.path.exists(REFUSED):
        return {}
    with open(REFUSED, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("\t", 1) for line in file)


def accept(word):
    accept_refused(word)
    known = tables(next(files("corpus")))
    for path in files("corpus"):
        if word in path:
            _, rows, derived = describe(path, known)
            for ending, text in (".txt", rows), (".answers", analyzed(path)[1] + derived):
                name, _ = expected(path, ending)
                os.makedirs(os.path.dirname(name), exist_ok=True)
                with open(name, "w", encoding="utf-8") as file:
                    file.write(text)


def compare(tally, what, path, ending, result, text):
    short_name = os.path.relpath(path, TESTS)
    name, wanted = expected(path, ending)
    if text is None or wanted is None:
        tally.fail(what + short_name, result.describe() if text is None else "no %s: --accept it" % os.path.relpath(name, TESTS))
    else:
        tally.check(what + short_name, text == wanted,
                    meant("tests/corpus_expect/run.py --accept " + short_name, difference(wanted, text)))


def main():
    only = []
    word = accepting(__doc__, only=only)
    if word is not None:
        return accept(word)
    tally = Tally("corpus")
    known = tables(next(files("corpus")))
    for path in files("corpus", only):
        result, rows, derived = describe(path, known)
        compare(tally, "rows of ", path, ".txt", result, rows)
        result, text = analyzed(path)
        compare(tally, "answers about ", path, ".answers", result, None if text is None else text + (derived or ""))
    said = kept_refusals()
    for path in files("reject", only):
        name = os.path.relpath(path, TESTS)
        result, text = refused(path)
        if result.status != 4 or not one_line_error(result) or result.stdout:
            tally.fail(name, result.describe())
        else:
            tally.check(name, text == said.get(name, "") + "\n",
                        meant("tests/corpus_expect/run.py --accept " + name, difference(said.get(name, ""), text)))
    tally.finish()


main()
