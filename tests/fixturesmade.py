#!/usr/bin/env python3
"""The simulated profile is what its generator makes, to the byte, and holds what the generator put in."""
import json
import os
import subprocess
import sys
import tempfile

from harness import FIXTURES, Tally, neurolens


def main():
    tally = Tally("fixtures made")
    kept = os.path.join(FIXTURES, "made_gpu_train.json.gz")
    with tempfile.NamedTemporaryFile() as made:
        subprocess.run([sys.executable, os.path.join(FIXTURES, "make_gpu_train.py"), made.name], check=True)
        import gzip
        same = gzip.decompress(open(kept, "rb").read()) == gzip.decompress(made.read())
    tally.check("the generator makes the same events again", same)
    result = neurolens(["sql", "--no-cache", "--format", "json", kept,
                        "SELECT (SELECT count(*) FROM kernels) AS kernels, (SELECT count(*) FROM steps) AS steps, "
                        "(SELECT sum(bytes) FROM copies WHERE kind = 'HtoD') AS bytes"])
    rows = json.loads(result.stdout)["result"]["rows"] if result.status == 0 else None
    tally.check("kernels, steps and bytes", rows == [[1910, 5, 5 * (64 * 3 * 224 * 224 * 4 + 64 * 8)]], result.describe())
    tally.finish()


main()
