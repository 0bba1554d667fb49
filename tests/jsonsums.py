"""What an answer in JSON holds, as few lines of text that can be kept and compared: a golden for answers that are too long to keep.

    from jsonsums import sums
    text = sums(document)

A line per member that holds something, under its path. Answers of SQL are a line per row. Rows of a table are one line: how many, a checksum of all that stands in
them and in which order, and per column of numbers the sum (with how many rows have one, where not all do); findings are named. Numbers with a fraction
count to six digits, since the last ones are not the same on every machine. What is asked to be recorded is not looked at:
its words are those of a table that has tests of its own; nor is when a run was added. Of analyses that lack a recording and of causes
that could not be judged those of unit/keptnames.def are kept, so that a new one changes nothing by being there. `brief` leaves the sums out, for answers of which there are many alike.
"""
import json
import os
import re
import zlib

WORDS_OF_OTHERS = {"record", "schema", "writer", "version", "added"}
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "unit", "keptnames.def"), encoding="utf-8") as _file:
    KEPT = set(re.findall(r"^KEPT\((\w+)\)", _file.read(), re.M))


def rounded(value):
    """The value, with what machines may see otherwise cut off."""
    if isinstance(value, float):
        return float("%.6g" % value)
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items() if key not in WORDS_OF_OTHERS}
    return [rounded(inner) for inner in value] if isinstance(value, list) else value


def of_kept(rows):
    """The rows of `missing` and `abstained`, without what is not in KEPT."""
    for row in rows:
        if isinstance(row.get("answers"), str):
            row = dict(row, answers=", ".join(name for name in row["answers"].split(", ") if name in KEPT))
        if row["answers"] if "answers" in row else row.get("cause") in KEPT:
            yield row


def checksum(value):
    return "%08x" % zlib.crc32(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def numbers(row, path=""):
    """(column, number) of a row, and of what stands within it."""
    for key, value in row.items():
        if isinstance(value, dict):
            yield from numbers(value, path + key + ".")
        elif isinstance(value, (int, float)):
            yield path + key, value


def table(rows, brief):
    columns = {}
    for row in rows:
        for name, value in numbers(row):
            columns.setdefault(name, []).append(value)
    cells = []
    for name, values in columns.items():
        total = sum(values)
        text = "%.6g" % total if isinstance(total, float) else str(int(total))
        cells.append("%s %s%s" % (name, text, "" if len(values) == len(rows) else " of %d" % len(values)))
    causes = [row["cause"] for row in rows if isinstance(row.get("cause"), str)]
    cells = (causes if len(causes) <= 8 else []) + ([] if brief else cells)
    return "%d ~%s%s" % (len(rows), checksum(rows), "".join("; " + cell for cell in cells))


def lines(value, path, brief):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from lines(inner, path + "." + key if path else key, brief)
    elif isinstance(value, list):
        if path in ("result.missing", "result.abstained"):
            value = list(of_kept(value))
        if value and all(isinstance(inner, dict) for inner in value):
            yield "%s: %s" % (path, table(value, brief))
        elif value and len(value) <= 400 and all(isinstance(inner, list) for inner in value):
            for inner in value:
                yield "%s: %s" % (path, " | ".join(map(str, inner)))
        elif len(value) > 6 or any(isinstance(inner, (dict, list)) for inner in value):
            yield "%s: %d ~%s" % (path, len(value), checksum(value))
        else:
            for inner in value:
                yield "%s: %s" % (path, inner)
    elif value not in (None, ""):
        yield "%s: %s" % (path, value)


def sums(document, brief=False):
    return "".join(line.replace("\n", "\\n") + "\n" for line in lines(rounded(document), "", brief))
