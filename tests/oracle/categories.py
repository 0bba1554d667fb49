#!/usr/bin/env python3
"""How much kernel time of the samples the table of categories (src/derive/kernelcategory.def) does
not know, and cross-checks of what it says.

    categories.py [NEUROLENS]

Fails when 3 % or more of the kernel time of all samples is unclassified, when a kernel whose name
says that it runs FP32 fused multiply-adds is said to run on tensor cores (or one that names a
matrix instruction is said not to), and when `kernel_categories` does not add up.
"""
import os
import re

import oracle

MAX_UNCLASSIFIED = 0.03
NO_TENSOR = re.compile(r"_ffma_|_simt_|volta_sgemm|volta_scudnn")
TENSOR = re.compile(r"_tensor\d+x\d+x\d+|tensorop|[hs]884|s16816|wgmma|nvjet_|_MI(16|32)x")


def profiles():
    for folder in ("torch", "nsys"):
        top = oracle.shared_or_leave("samples", folder)
        for path, _, names in sorted(os.walk(top)):
            for name in sorted(names):
                if name.endswith((".json", ".json.gz", ".sqlite")):
                    yield os.path.join(path, name)


def kernels_of(program, path):
    query = ("SELECT name, category, tensor_core, class, count(*), total(dur) FROM kernels "
             "GROUP BY name, class")
    try:
        return program.sql(path, query)
    except RuntimeError:  # not a profile (expected outputs of tools lie beside their inputs)
        return []


def check_names(check, names):
    wrong = [n for n, (_, tensor, _, _) in names.items()
             if (tensor == "yes" and NO_TENSOR.search(n))
             or (tensor == "no" and TENSOR.search(n))]
    check.equal("tensor cores by the names' own words (%d names)" % len(names), [], wrong[:5])


def check_analysis(check, program, path):
    """Sums and counts of kernel_categories are those of the kernels."""
    rows = program.analyze(path).get("kernel_categories", [])
    total = program.sql(path, "SELECT count(*), total(dur) FROM kernels")[0]
    check.equal("kernel_categories adds up: %s" % os.path.basename(path)[-50:], total,
                [sum(r["count"] for r in rows), float(sum(r["sum_ns"] for r in rows))])


def main(argv):
    program, check = oracle.Neurolens(argv), oracle.Checker()
    names, largest = {}, []
    for path in profiles():
        rows = kernels_of(program, path)
        for name, category, tensor, _, count, total in rows:
            seen = names.setdefault(name or "", [category, tensor, 0, 0])
            seen[2] += count
            seen[3] += total
        if rows:
            largest.append((sum(r[5] for r in rows), path))
    time = sum(n[3] for n in names.values())
    count = sum(n[2] for n in names.values())
    unknown = {name: n for name, n in names.items() if n[0] is None}
    time_share = sum(n[3] for n in unknown.values()) / time
    count_share = sum(n[2] for n in unknown.values()) / count
    print("%d kernel names, %d kernels, %.3f s in %d profiles" % (
        len(names), count, time / 1e9, len(largest)))
    print("unclassified: %d names, %.4f %% of time, %.4f %% of kernels" % (
        len(unknown), 100 * time_share, 100 * count_share))
    for name in sorted(unknown, key=lambda n: -unknown[n][3])[:10]:
        print("    %s" % name[:100])
    by_category = {}
    for category, _, _, total in names.values():
        by_category[category] = by_category.get(category, 0) + total
    for category in sorted(by_category, key=lambda c: -by_category[c]):
        print("    %-16s %6.2f %%" % (category, 100 * by_category[category] / time))
    if time_share < MAX_UNCLASSIFIED:
        check.ok("unclassified time")
    else:
        check.fail("unclassified time", "< %.2f" % MAX_UNCLASSIFIED, "%.4f" % time_share)
    check_names(check, names)
    for _, path in sorted(largest, reverse=True)[:8]:
        check_analysis(check, program, path)
    check.finish()


if __name__ == "__main__":
    import sys
    main(sys.argv)
