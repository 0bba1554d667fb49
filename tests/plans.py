#!/usr/bin/env python3
"""What our tables take over from SQLite (comparisons, orders, look-ups of joins) gives what SQLite finds in the same rows by itself.

    tests/plans.py [SEED]

Each question is asked twice in one statement: of a table, whose xBestIndex sees the condition, and of all its rows behind a
LIMIT, through which SQLite passes no condition. Conditions are made of the values that stand there, their neighbours, and values
of other types; some are joined by AND and OR.
"""
import csv
import io
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import FIXTURES, TESTS, Tally, forked as neurolens  # noqa: E402

PROFILES = [os.path.join(FIXTURES, "made_gpu_train.json.gz"), os.path.join(TESTS, "corpus", "nsys", "era-3.25-all.sqlite"),
            os.path.join(TESTS, "corpus", "chrome", "kineto.json"), os.path.join(TESTS, "corpus", "xplane", "gpu.xplane.pb")]
ODD = ["NULL", "0", "-1", "1", "1.5", "''", "'a'", "'1'", "x'31'", "9223372036854775807", "-9223372036854775808", "1e300", "4294967295"]
EACH = 260  # questions about a profile


def ask(profile, script):
    result = neurolens(["sql", "--no-cache", "--absolute", "--format", "csv", "-n", "100000", profile], stdin=script.encode(), timeout=60)
    return result, list(csv.reader(io.StringIO(result.stdout)))


def schema(profile):
    """{table: its columns} of those that have rows."""
    _, rows = ask(profile, "SELECT m.name, t.name FROM sqlite_master m, pragma_table_info(m.name) t WHERE m.type = 'table';")
    tables = {}
    for table, column in rows[1:]:
        tables.setdefault(table, []).append(column)
    names = list(tables)
    _, rows = ask(profile, "SELECT " + ", ".join("(SELECT count(*) FROM %s)" % name for name in names) + ";")
    return {name: tables[name] for name, count in zip(names, rows[1]) if count != "0"}


def values(profile, tables):
    """{(table, column): literals that stand there}."""
    places = [(table, column) for table, columns in tables.items() for column in columns]
    script = "".join("SELECT quote(v) FROM (SELECT DISTINCT \"%s\" AS v FROM %s LIMIT 400) LIMIT 40;\nSELECT '##';\n" %
                     (column, table) for table, column in places)
    found, here = {}, []
    for row in ask(profile, script)[1]:
        if row in (["##"], ["'##'"]):
            if here and row == ["##"]:
                here = [cell for cell in here if cell != "quote(v)"]
                found[places[len(found)]] = here[::max(1, len(here) // 6)]
                here = []
        elif row:
            here.append(row[0])
    return found


def condition(rng, table, columns, known):
    column = rng.choice(columns)
    here = known.get((table, column)) or ["NULL"]
    value = rng.choice(here) if rng.random() < 0.8 else rng.choice(ODD)
    if value.lstrip("-").isdigit() and rng.random() < 0.3:
        value = "%s %s" % (value, rng.choice(["+ 1", "- 1", "+ 0.5", "* 1.0"]))
    name, shape = '"%s"' % column, rng.randrange(12)
    if shape < 6:
        return "%s %s %s" % (name, ["=", "<", "<=", ">", ">=", "IS"][shape], value)
    if shape < 8:
        return "%s IN (%s)" % (name, ", ".join(rng.choice(here + ODD[:6]) for _ in range(rng.randrange(1, 5))))
    if shape == 8:
        return "%s BETWEEN %s AND %s" % (name, rng.choice(here), rng.choice(here))
    if shape == 9:
        return name + rng.choice([" IS NULL", " IS NOT NULL"])
    if shape == 10:
        text = value.strip("'")[:rng.randrange(1, 6)].replace("'", "")
        return "%s %s '%s'" % (name, *rng.choice([("LIKE", text + "%"), ("LIKE", "%" + text), ("GLOB", text + "*"), ("GLOB", "*" + text + "*"), ("LIKE", text.upper() + "_%")]))
    return "%s %s (SELECT %s)" % (name, rng.choice(["=", "<", ">=", "IS"]), value)  # known at run time only


def question(rng, tables, known):
    """A statement with %s where the table stands, and the tables."""
    table = rng.choice(list(tables))
    columns = tables[table]
    parts = [condition(rng, table, columns, known) for _ in range(rng.choice([1, 1, 1, 2, 2, 3]))]
    where = rng.choice([" AND ", " AND ", " OR "]).join(parts)
    key = "id" if "id" in columns else rng.choice(columns)
    order = rng.choice(columns)
    kind = rng.randrange(4)
    if kind == 0:
        return "SELECT count(*) || ' ' || ifnull(group_concat(quote(v)), '') FROM (SELECT \"%s\" AS v FROM {%s} WHERE %s ORDER BY 1 LIMIT 40)" % (key, table, where)
    if kind == 1:
        return "SELECT ifnull(group_concat(quote(v)), '') FROM (SELECT \"%s\" AS v FROM {%s} WHERE %s ORDER BY \"%s\"%s LIMIT %d OFFSET %d)" % (
            order, table, where, order, rng.choice(["", " DESC"]), rng.randrange(1, 30), rng.randrange(0, 3))
    if kind == 2:
        other = rng.choice([name for name in tables if "id" in tables[name]] or [table])
        return "SELECT count(*) || ' ' || ifnull(sum(length(quote(b.\"%s\"))), 0) FROM (SELECT \"%s\" AS v FROM {%s} WHERE %s ORDER BY 1 LIMIT 60) a JOIN {%s} b ON b.\"%s\" %s a.v" % (
            rng.choice(tables[other]), key, table, where, other, "id" if "id" in tables[other] else rng.choice(tables[other]), rng.choice(["=", "=", "<", "IS"]))
    return "SELECT count(*) || ' ' || ifnull(min(quote(\"%s\")), '') || ' ' || ifnull(max(quote(\"%s\")), '') FROM {%s} WHERE %s" % (order, order, table, where)


def main(seed):
    tally = Tally("plans")
    for profile in PROFILES:
        rng, tables = random.Random("%s %s" % (seed, os.path.basename(profile))), schema(profile)
        known = values(profile, tables)
        questions = [question(rng, tables, known) for _ in range(EACH)]
        script = ""
        for number, text in enumerate(questions):
            direct, aside = text, text
            for table in tables:
                direct = direct.replace("{%s}" % table, table)
                aside = aside.replace("{%s}" % table, "(SELECT * FROM %s LIMIT -1)" % table)
            script += "SELECT '#%d', (%s), (%s);\n" % (number, direct, aside)
        result, rows = ask(profile, script)
        answers = [row for row in rows if len(row) == 3 and row[0].startswith("#")]
        wrong = ["%s\nwith our plan %s\nby SQLite    %s" % (questions[int(a[0][1:])], a[1][:200], a[2][:200]) for a in answers if a[1] != a[2]]
        some = sum(a[2] not in ("", "0 ", "0 0") for a in answers)
        name = os.path.relpath(profile, TESTS)
        tally.check("%s: every question is answered" % name, len(answers) == EACH and result.status == 0, "%d\n%s" % (len(answers), result.stderr[:500]))
        tally.check("%s: the same rows" % name, not wrong, "\n".join(wrong[:6]))
        tally.check("%s: a good part has rows" % name, some > EACH / 4, some)
    tally.finish()


main(sys.argv[1] if len(sys.argv) > 1 else "1")
