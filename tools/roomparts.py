"""What parts of `make test` exist for which room, and how long they take: for tools/mutants.py and tools/nearness.py."""

# Seconds of the processor that the parts need. Those of `make check` and altered files, in the order in which they kill most in least time; the unit
# tests stand where UNITS is, and what is run with one of their programs behind it.
UNITS = "units"
CHECK = {"query/run.py": 2, "golden_run/run.py": 2, "parity/run.py": 4, "corpus_expect/run.py": 10, UNITS: 0, "plans.py": 2, "sums/run.py": 20, "cli/run.py": 10, "altered/run.py": 90,
         "invariants.py": 15}
# What a room's own part is, to begin with.
FIRST = {"ingest": "corpus_expect/run.py", "parse": "corpus_expect/run.py", "compare": UNITS, "fingerprint": UNITS, "findings": UNITS,
         "store": UNITS, "derive": UNITS, "redact": UNITS}
# Parts of `make test` that exist for these rooms.
BEYOND = {
    "timeline": ["shares.py", "agree.py"], "account": ["shares.py", "lateranks.py", "lategpus.py", "agree.py"],
    "work": ["graphjoin.py", "work.py", "roofs.py"], "tables": ["shares.py", "rank.py", "agree.py", "planted.py"],
    "findings": ["lateranks.py", "lategpus.py", "planted.py", "agree.py", "answers.py"],
    "answer": ["lateranks.py", "lategpus.py", "rank.py", "planted.py", "answers.py"],
    "ingest": ["recordings.py", "graphjoin.py", "sandbox.py", "cache.py", "archives.py", "robust.py"], "parse": ["robust.py"], "sql": ["sqllimits.py"], "redact": ["secrets.py"], "store": ["spill.py", "secrets.py"], "derive": ["graphjoin.py"],
    "compare": ["check.py", "trend.py", "compare.py"], "rundoc": ["trend.py", "compare.py"], "fingerprint": ["compare.py"],
}
SECONDS = {"corpus_in_one.py": 1, "shares.py": 2, "lateranks.py": 2, "lategpus.py": 2, "cache.py": 6, "recordings.py": 1, "sandbox.py": 3, "rank.py": 2, "check.py": 6, "archives.py": 9, "graphjoin.py": 3, "trend.py": 3, "agree.py": 5, "planted.py": 6, "spill.py": 4, "work.py": 7,
           "roofs.py": 8, "robust.py": 12, "compare.py": 14, "secrets.py": 16, "sqllimits.py": 17, "answers.py": 27, **CHECK}
SLOW_UNITS = {"test_clockmap": 12, "test_nsysfiles": 4, "test_sqlrace": 4, "test_redact": 3, "test_reportfile": 3}
