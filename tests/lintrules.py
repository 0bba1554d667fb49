#!/usr/bin/env python3
"""Every rule of tools/lint.py finds a breach that was planted for it: a rule that finds nothing proves nothing.

    tests/lintrules.py

All breaches are planted at once in a copy of the tree, most of them as files of their own, and each rule is asked once. A rule without a
row in PLANTED fails.
"""
import os
import shutil
import subprocess
import sys
import tempfile

from harness import ROOT, Tally, scratch

LONG_FUNCTION = "int planted(int x)\n{\n" + "".join("    if (x == %d)\n        return %d;\n" % (i, 2 * i) for i in range(20)) + "    return 0;\n}\n"
# rule: (file, what is written at its end, or (old, new) in it; what the breach names), …
PLANTED = {
    "file_sizes": [("src/base/planted_long.c", "\n" * 601, "601 lines")],
    "functions": [("src/base/planted_function.c", LONG_FUNCTION, "complexity 21")],
    "static_names": [("src/view/planted_static%d.c" % i, "static int planted_static(void)\n{\n    return 3;\n}\n", "static function planted_static") for i in range(9)],
    "file_names": [("src/view/mem.h", "\n", "src/base/mem.h")],
    "layers": [("src/base/planted_layers.c", '#include "store/schema.h"\n', "base must not use"),
               ("src/store/planted_layers.h", '#include "parse/json.h"\n', "store must not use"),
               ("src/nlrec/planted_layers.h", '#include "base/str.h"\n', "nlrec must not use"),
               ("src/store/planted_layers.c", '#include "derive/link.h"\n', "store must not use"),
               ("src/store/planted_name.c", '#include "schema.h"\n', "does not name its room"),
               ("src/planted/planted_room.c", "\n", "unknown room planted")],
    "inner_walls": [("src/ingest/nsys/planted_walls.c", '#include "ingest/chrome/chrome_event.h"\n', "must not use"),
                    ("src/capture/agent/planted_walls.c", '#include "capture/recorder/recorder.h"\n', "must not use"),
                    ("src/capture/recorder/planted_recorder.c", '#include "capture/agent/agent.h"\n', "must not use")],
    "builders_inside": [("src/view/planted_inside.c", '#include "store/build.h"\n', 'must not use "store/build.h"')],
    "chrome_parser": [("src/ingest/chrome/chrome_value.c", '#include "store/builder.h"\n', "knows no ids")],
    "memory": [("src/view/planted_memory.c", "void *planted(void)\n{\n    return malloc(3);\n}\n", "base/mem.h")],
    "printing": [("src/view/planted_printing.c", 'void planted(void)\n{\n    printf("x");\n}\n', "only cli prints"),
                 ("src/view/planted_exit.c", "void planted(void)\n{\n    exit(1);\n}\n", "only cli prints")],
    "must_check": [("src/view/planted_check.h", "bool nl_planted(int x, struct nl_err *err);\n", "nl_planted")],
    "no_constructors": [("src/view/planted_constructor.c", "static void __attribute__((constructor)) planted(void);\n", "hidden constructor")],
    "no_state": [("src/view/planted_state.c", "static int planted = 3;\n", "mutable static")],
    "wide_is_static": [("src/view/planted_wide.c", "NL_WIDE int planted(int x)\n{\n    return x;\n}\n", "without static")],
    "bounds": [("src/view/planted_bound.c", "#define MANY 30\n", "bounds what"), ("src/view/planted_most.c", "#define ROWS_MOST 30\n", "ROWS_MOST: say MIN_ or MAX_"),
               ("src/view/planted_max.c", "static int planted(void)\n{\n    enum { MIN_ROWS = 3, ROWS_MAX = 30 };\n    return ROWS_MAX;\n}\n", "planted_max.c:3: ROWS_MAX"),
               ("src/view/planted_least.h", "#define NL_LEAST_ROWS 3\n", "NL_LEAST_ROWS")],
    "fields": [("src/ingest/planted_fields.c", "static bool planted(struct wire *wire, struct wire_field field)\n{\n    return field.number == 3;\n}\n", "name the field")],
    "cells": [("src/view/planted_cells.c", "void planted(void)\n{\n    cells[3] = 0;\n}\n", "name the cell"),
              ("src/sql/tables_planted.c", "void planted(int at)\n{\n    switch (at) {\n    case 3: break;\n    }\n}\n", "name the column")],
    "casts": [("src/view/planted_cast.c", "long planted(double x)\n{\n    return lround(x);\n}\n", "undefined outside"),
              ("src/view/planted_floor.c", "long planted(double x)\n{\n    return (int64_t)floor(x);\n}\n", "undefined outside")],
    "characters": [("src/view/planted_ctype.c", "#include <ctype.h>\n", "base/chars.h"),
                   ("src/view/planted_isdigit.c", "int planted(char c)\n{\n    return isdigit(c);\n}\n", "base/chars.h"),
                   ("src/view/planted_range.c", "int planted(char c)\n{\n    return c >= 'a' && c <= 'z';\n}\n", "base/chars.h")],
    "notes": [("src/view/planted_note.c", "/* TO" "DO: more */\n", "more")],
    "machine_paths": [("src/view/planted_path.c", "/* see /ho" "me/somebody/file */\n", "somebody")],
    "references": [("src/view/planted_reference.c", "/* see nowhere.c */\n", "there is no nowhere.c"), ("docs/planted.md", "see nowhere.md\n", "there is no nowhere.md")],
    "called": [("src/view/planted_called.h", "int nl_planted_uncalled(int x);\n", "nl_planted_uncalled")],
    "own_headers": [("src/view/planted_other.h", "int planted_own(void);\nint planted_part(void);\n", "planted_own is declared in src/view/planted_other.h"),
                    ("src/view/planted_own.c", "int planted_own(void)\n{\n    return 1;\n}\n", "src/view/planted_own.c:1: "),
                    ("src/base/planted_other_part.c", "int planted_part(void)\n{\n    return 1;\n}\n", "planted_part is declared in src/view/"),
                    ("src/answer/planted_judge.c", "bool nl_judge_planted(void)\n{\n    return 1;\n}\n", "nl_judge_planted is declared in src/answer/judge.h"),
                    ("src/answer/judge.h", "bool nl_judge_planted(void);\n", "nl_judge_planted")],
    "pages": [("src/planted/README.md", "# planted\n", "planted_room"), ("src/view/planted_page.c", "\n", "planted_page"),
              ("src/compare/README.md", ("| `diffpair` |", "| `planted_gone`, `diffpair` |"), "no file of src/compare is called planted_gone")],
    "wide_pages": [("docs/planted_wide.md", "words " * 30 + "\n", "planted_wide"),
                   ("docs/planted_row.md", "| " + "words " * 40 + "|\n", "a row over 200")],
    "words": [("src/view/planted_word.c", "/* not to be had */\n", "not available"), ("docs/planted_word.md", "not to\nbe had\n", "not available")],
    "habits": [("src/view/planted_habit.c", "/* told */\n" * 500, "'tell'")],
    "described": [("schema/run.schema.json", ('"properties": {', '"properties": {"planted": {"type": "string"},'), "planted")],
    "schema_enums": [("src/store/enums.def", 'NL_ENUM(category, PLANTED, "planted_category")\n', "not as category in src/store/enums.def: planted_category"),
                     ("src/store/copykind.def", ('NL_COPYKIND(PTOP, "PtoP"', 'NL_COPYKIND(PTOP, "planted_copy"'), "PtoP, planted_copy")],
    "judged_mutants": [("tools/mutants.tsv", "src/base/mem.c\tplanted_line();\tplanted();\tnone\n", "planted_line")],
    "peaks_of_gpus": [("data/gpus.yaml", "    planted_gbytes: 3\n", "planted_gbytes"), ("data/gpus.yaml", "    sources: [nowhere]\n", "nowhere")],
    "exit_statuses": [("src/base/errors.def", 'NL_ERROR(PLANTED, 99, "planted")\n', "99")],
    "thresholds": [("src/findings/cause_planted.c", "#define PLANTED_SHARE 0.3\n", "PLANTED_SHARE")],
    "page_kinds": [("src/store/enums.def", 'NL_ENUM(kind, PLANTED, "planted")\n', "web/src/kinds.ts")],
    "wide_comments": [("src/view/planted_comment.c", "/* %s*/\n" % ("words " * 20), "planted_comment.c")],
    "formatted": [("src/view/planted_format.c", "int   planted ;\n", "planted_format.c")],
}


def copy_tree(folder):
    names = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    for name in names.decode().split("\0"):
        if name and os.path.isfile(os.path.join(ROOT, name)) and not name.startswith("tests/corpus/"):
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            shutil.copyfile(os.path.join(ROOT, name), os.path.join(folder, name), follow_symlinks=True)
    shutil.copytree(os.path.join(ROOT, "tools"), os.path.join(folder, "tools"), dirs_exist_ok=True)  # with what may be executed
    if os.path.exists(os.path.join(ROOT, "build", "formatted.list")):
        os.makedirs(os.path.join(folder, "build"))
        shutil.copyfile(os.path.join(ROOT, "build", "formatted.list"), os.path.join(folder, "build", "formatted.list"))
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)


def plant(folder, name, change):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    old = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            old = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(old + change if isinstance(change, str) else old.replace(*change, 1))


def main():
    tally, folder = Tally("lintrules"), tempfile.mkdtemp(dir=scratch())
    copy_tree(folder)
    for plants in PLANTED.values():
        for name, change, _ in plants:
            plant(folder, name, change)
    sys.path.insert(0, os.path.join(folder, "tools"))
    import lint  # the copy's, which works in the copy
    for rule in lint.RULES:
        name = rule.__name__
        if not PLANTED.get(name):
            tally.fail("rule %s" % name, "tests/lintrules.py: add a row with a breach that it must find")
            continue
        found = rule()
        for path, _, text in PLANTED[name]:
            tally.check("%s finds %s" % (name.replace("_", " "), path), any(text in breach for breach in found), "\n".join(found[:20]) or "nothing was found")
    os.chdir(ROOT)
    tally.finish()


main()
