#!/usr/bin/env python3
"""Steps found in launch sequences against the marks that the same samples carry.

    steps.py [NEUROLENS]

Where a profile marks three steps or more, looking at the launches alone must find as many (one may
be cut off at the edge) of the same length (median within 5 %), or abstain. Profiles whose
repetition is layers of one step must give none. Every step's breakdown adds up to its wall.
"""
import os

import oracle

LAYERS_ONLY = ("h100_2gpu_1s", "mfu_2gpu_before", "mfu_2gpu_after", "vllm_decode_full/graph_exec")
QUERY = ("SELECT rank, count(*), percentile(marked_dur, 50), min(confidence) FROM detected_steps('%s') "
         "GROUP BY rank")


def profiles():
    for folder in ("torch", "nsys"):
        top = oracle.shared_or_leave("samples", folder)
        for path, _, names in sorted(os.walk(top)):
            for name in sorted(names):
                if name.endswith((".json", ".json.gz", ".sqlite")):
                    yield os.path.join(path, name)


def steps_by(program, path, method):
    try:
        rows = program.sql(path, QUERY % method)
    except RuntimeError:  # not a profile
        return {}
    return {row[0]: row[1:] for row in rows}


def compare(check, name, marked, launches):
    for rank, (count, length, _) in marked.items():
        if count < 3:
            continue
        label = "%s rank %s: %d steps of %.3f ms" % (name, rank, count, length / 1e6)
        if rank not in launches:
            check.skip(label, "abstained")
            continue
        found, found_length, confidence = launches[rank]
        same = abs(found - count) <= 1 and abs(found_length - length) <= 0.05 * length
        if same:
            check.ok("%s (confidence %.2f)" % (label, confidence))
        else:
            check.fail(label, (count, length), (found, found_length))


def check_identity(check, program, path):
    wrong = [row for row in program.analyze(path).get("step_breakdown", [])
             if row["wall_ns"] != row["compute_ns"] + row["exposed_comm_ns"] +
             row["exposed_copy_ns"] + row["idle_ns"] or row["idle_ns"] < 0]
    check.equal("steps add up: %s" % os.path.basename(path)[-50:], [], wrong[:2])


def main(argv):
    program, check = oracle.Neurolens(argv), oracle.Checker()
    for path in profiles():
        marked = steps_by(program, path, "marked") or steps_by(program, path, "ranges")
        launches = steps_by(program, path, "launches")
        compare(check, os.path.basename(path)[-50:], marked, launches)
        if any(part in path for part in LAYERS_ONLY):
            check.equal("layers are no steps: %s" % os.path.basename(path)[-50:], {}, launches)
        if sum(row[0] for row in marked.values()) >= 3:
            check_identity(check, program, path)
    check.finish()


if __name__ == "__main__":
    import sys
    main(sys.argv)
