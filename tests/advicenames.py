#!/usr/bin/env python3
"""Options, variables and functions that are advised exist: fixtures/advice_names.tsv says of each where its maker documents it.

A name that is not in the table fails: look it up in its maker's documentation, then add it. The table's third column is what must
stand in the same text, where not every version has the name.
"""
import os
import re

from harness import FIXTURES, ROOT, Tally

tally = Tally("advicenames")
FINDINGS = os.path.join(ROOT, "src", "findings")
NAMES = re.compile(r"(?<![\w-])--[a-zA-Z][\w-]*"                      # options
                   r"|(?<![\w.])(?:torch|jax|jnp|tf|modelopt|onnxconverter_common|cudnn)\.[A-Za-z][\w.]*\w"
                   r"|\b[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]\b"         # variables of the environment
                   r"|\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b"             # arguments and settings
                   r"|\b(?:cuda|hip|cublas|nccl)[A-Z]\w+")           # functions of the runtimes
MATMUL = re.compile(r"default_matmul_precision\('(\w+)'\)")
PRECISIONS = {"default", "high", "highest", "bfloat16", "tensorfloat32", "float32", "BF16_BF16_F32", "F16_F16_F32", "TF32_TF32_F32"}
STRING = r'"(?:[^"\\]|\\.)*"'


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def rows(text, macro):
    """Arguments of a macro that are strings, one list per use."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for use in re.split(r"^%s\(" % macro, text, flags=re.M)[1:]:
        strings = re.findall(r"(?:%s\s*)+" % STRING, re.split(r"\)\s*$", use, maxsplit=1, flags=re.M)[0])
        yield ["".join(part[1:-1] for part in re.findall(STRING, string)).replace('\\"', '"') for string in strings]


def advice():
    remedies, words = read(os.path.join(FINDINGS, "remedies.def")), read(os.path.join(FINDINGS, "remedywords.def"))
    for row in rows(remedies, "NL_REMEDY"):
        yield from row[1:]
    for macro in ("NL_REMEDY_WORD", "NL_REMEDY_PHRASE"):
        for row in rows(words, macro):
            yield from row[1:]
    for source in re.findall(r"(?:%s\s*)+" % STRING, read(os.path.join(ROOT, "src", "answer", "verdictlayers.c"))):
        yield "".join(part[1:-1] for part in re.findall(STRING, source))


def foreign(text):
    """Without our own commands and names of keys."""
    text = re.sub(r"neurolens .*|^model_layers$|^total_ns$", "", text)
    text = re.sub(r"\{[^}]*\}", "", text)
    return re.sub(r"\btable \w+|\btables? \"[^\"]*\"|\bmetric \w+|\bsection \w+", "", text)


table = {}
for line in read(os.path.join(FIXTURES, "advice_names.tsv")).splitlines():
    if line and not line.startswith("#"):
        name, where, beside = (line.split("\t") + [""])[:3]
        table[name] = (where, beside)

seen, unknown, alone, values = set(), set(), [], set()
for text in advice():
    values |= set(MATMUL.findall(text))
    for name in NAMES.findall(foreign(text)):
        seen.add(name)
        if name not in table:
            unknown.add(name)
        elif table[name][1] and table[name][1] not in text:
            alone.append("%s without '%s' in: %s" % (name, table[name][1], text))

tally.check("%d names that are advised are documented by their makers" % len(seen), len(seen) > 80 and not unknown,
            "not in fixtures/advice_names.tsv: %s" % ", ".join(sorted(unknown)))
tally.check("names that some versions lack are advised with the version", not alone, "\n".join(alone))
tally.check("no name in the table is unused", not set(table) - seen, ", ".join(sorted(set(table) - seen)))
tally.check("every name has the place where it is documented", all(where.count(".") for where, _ in table.values()))
tally.check("values of jax.default_matmul_precision are some that JAX takes", values and values <= PRECISIONS, values - PRECISIONS)

# Causes inside compute, as docs/work.md lists them, have a page of a maker: every one, and no other words than those of causes.def.
MAKERS = ("nvidia.com", "nvidia.github.io", "amd.com", "pytorch.org", "vllm.ai")
causes = set(re.findall(r"^NL_CAUSE\((\w+)", read(os.path.join(FINDINGS, "causes.def")), re.M))
sources = dict(re.findall(r'^NL_CAUSE_SOURCE\("(\w+)", ("[^"]+"|NL_PAGE_MATMUL)\)', read(os.path.join(FINDINGS, "causesources.def")), re.M))
inside = read(os.path.join(ROOT, "docs", "work.md")).split("## Causes inside compute")[1].split("\n## ")[0]
bare = set(re.findall(r"^\| `(\w+)` \|", inside, re.M)) - set(sources)
tally.check("%d causes inside compute have a maker's page" % len(sources), len(sources) > 18 and not bare and not set(sources) - causes,
            "without: %s; unknown: %s" % (sorted(bare), sorted(set(sources) - causes)))
strange = [page for page in sources.values()
           if page != "NL_PAGE_MATMUL" and not page.strip('"').split("/")[2].endswith(MAKERS)]
tally.check("those pages are makers'", not strange, strange)
tally.finish()
