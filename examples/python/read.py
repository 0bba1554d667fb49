"""Asks a profile, as a script of a dashboard or a notebook would.

    python read.py train.nlt            # any format that `neurolens analyze` takes
"""
import sys

import nlens


def main(path):
    profile = nlens.open(path)
    print(profile.answer["sentence"])
    for finding in profile.findings[:3]:
        print(" -", finding["title"])
    table = profile.sql("SELECT name, count(*) AS calls, sum(dur) AS total_ns FROM layers GROUP BY name ORDER BY 3 DESC LIMIT ?", [5])
    for name, calls, total in table:
        print("   %-12s %4d calls %10.3f ms" % (name, calls, total / 1e6))


if __name__ == "__main__":
    main(sys.argv[1])
