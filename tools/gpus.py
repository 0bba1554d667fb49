#!/usr/bin/env python3
"""gpus.py IN OUT: data/gpus.yaml as rows in C (work/gpupeaks.h), for the build: to read YAML took a short command a tenth of its time.

The file is ours, and of few shapes: comments, `key: value` under `sources:`, and under `gpus:` items of `key: number` or
`key: [word, word]`. Anything else is an error here, so that no line is passed over."""
import json
import re
import sys

# Figures in the order of enum gpu_figure, and what a unit of each is.
FIGURES = {"fp64_tflops": "1e12", "fp32_tflops": "1e12", "tf32_tflops": "1e12", "fp16_tflops": "1e12", "bf16_tflops": "1e12",
           "fp8_tflops": "1e12", "int8_tops": "1e12", "fp4_tflops": "1e12", "memory_gbytes": "1e9", "link_gbytes": "1e9"}


def fail(number, line):
    sys.exit("gpus.yaml:%d: neither a source nor a line of a GPU: %s" % (number, line))


def read(path):
    """The sources by their names, and the items as {key: text or list of texts}."""
    sources, items, section = {}, [], None
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = re.sub(r"(^| )#.*", "", line).rstrip()
            source = re.fullmatch(r"  ([\w-]+): (\S.*)", line) if section == "sources" else None
            value = re.fullmatch(r"  (- |  )(\w+): (?:\[(.+)\]|([\d.]+))", line) if section == "gpus" else None
            if line in ("sources:", "gpus:", ""):
                section = line[:-1] or section
            elif source:
                sources[source[1]] = source[2]
            elif value and (value[1] == "- " or items):
                items += [{}] if value[1] == "- " else []
                items[-1][value[2]] = value[3].split(", ") if value[3] else value[4]
            else:
                fail(number, line)
    return sources, items


def row(sources, number, item):
    """A GPU as an initialiser; figures in the order of the enumeration."""
    figures = ["{GPU_%s, %s * %s}" % (key.split("_")[0].upper(), item[key], unit) for key, unit in FIGURES.items() if key in item]
    if set(item) - set(FIGURES) - {"names", "sources", "sms", "chip"}:
        sys.exit("gpus.yaml: %s has a key that is no figure" % item["names"][0])
    text = "makers' data sheets as listed in " + "; ".join(sources[name] for name in item["sources"])
    return "    {names_%d, %d, %s, {%s}, %s, {%s}, %d},\n" % (
        number, len(item["names"]), item.get("sms", "0"), ", ".join(item.get("chip", ["0"] * 4)), json.dumps(text), ", ".join(figures), len(figures))


def main():
    sources, items = read(sys.argv[1])
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write('/* Made of data/gpus.yaml by tools/gpus.py. */\n#include "work/gpupeaks.h"\n\n')
        for i, item in enumerate(items):
            file.write("static const char *const names_%d[] = {%s};\n" % (i, ", ".join(map(json.dumps, item["names"]))))
        file.write("\nconst struct gpu_peak gpu_peak_rows[] = {\n%s};\nconst size_t gpu_peak_count = %d;\n" % (
            "".join(row(sources, i, item) for i, item in enumerate(items)), len(items)))


main()
