#!/usr/bin/env python3
"""The rules of the house that a script can check. One line per rule, details for breaches.

    tools/lint.py            all rules
    tools/lint.py layers     the rules whose name contains the word
"""
import collections
import fnmatch
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

import staticnames

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.chdir(ROOT)

# Rooms from bottom to top. A room includes rooms of lower rows only, and never those named beside it.
ROOMS = [
    {"base": ()},
    {"nlrec": ("base",), "redact": ()},
    {"parse": ("store",), "store": ("parse",)},
    {"derive": ("parse",)},
    {"ingest": (), "capture": (), "backend": ()},
    {"timeline": ("ingest", "capture", "backend", "parse")},
    {"account": (), "work": ("ingest", "capture", "backend", "parse")},
    {"tables": ()},
    {"findings": (), "sql": ()},
    {"answer": ()},
    {"fingerprint": ()},
    {"rundoc": ()},
    {"ledger": (), "compare": ()},
    {"view": ()},
    {"tui": ("export", "pages"), "export": ("tui", "pages"), "pages": ("tui", "export")},
    {"cli": ("engine",), "engine": ("cli",)},
]

MAX_LINES = {".c": 600, ".h": 200}
MAX_FUNCTION_LINES = 60
MAX_COMPLEXITY = 15
# Called by tests alone, or by what tools/new-analysis makes.
FOR_TESTS = {"nl_spill_release", "pickle_read", "nl_streamwork_init", "nl_streamwork_release", "nl_clockmap_bound"}
FORMATTED = "build/formatted.list"  # digests of files that clang-format had nothing to say about


def sources(folders=("src",), endings=(".c", ".h")):
    for folder in folders:
        for path, inner, names in os.walk(folder):
            inner[:] = sorted(each for each in inner if folder != "." or not each.startswith((".git", "build", "node_modules")))
            for name in sorted(names):
                if name.endswith(endings):
                    yield os.path.join(path, name)


@functools.lru_cache(maxsize=None)
def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def blank(match):
    """Same length and lines, nothing in it."""
    return "\n".join(" " * len(line) for line in match.group(0).split("\n"))


@functools.lru_cache(maxsize=None)
def code_of(path):
    """The text without comments, strings and character constants; lines stay where they are."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank,
                  read(path), flags=re.S)


def room_of(path):
    return path.split(os.sep)[1] if path.startswith("src" + os.sep) else None


def find(pattern, paths, why, words=("",)):
    """Breaches "path:line: why" where the pattern stands in code; one of the words stands in all that it matches, and is found sooner."""
    breaches = []
    for path in paths:
        code = code_of(path)
        if not any(word in code for word in words):
            continue
        for match in re.finditer(pattern, code, re.M):
            line = code.count("\n", 0, match.start()) + 1
            breaches.append("%s:%d: %s: %s" % (path, line, why, " ".join(match.group(0).split())))
    return breaches


def lines_with(pattern, words, path):
    """(path, number, line) of each line in which the pattern stands; one of the words stands in all that it matches, and is found sooner."""
    text, last = read(path), 0
    for match in re.finditer(pattern, text) if any(word in text for word in words) else ():
        number = text.count("\n", 0, match.start()) + 1
        if number != last:
            last = number
            yield path, number, text[text.rfind("\n", 0, match.start()) + 1:].partition("\n")[0].strip()


def file_sizes():
    """.c at most 600 lines, .h at most 200"""
    breaches = []
    for path in sources(("src", "python/src", "tests/unit", "fuzz", "bench")):
        lines, most = read(path).count("\n"), MAX_LINES[os.path.splitext(path)[1]]
        if lines > most:
            breaches.append("%s: %d lines, at most %d" % (path, lines, most))
    return breaches


def functions():
    """functions at most 60 lines, complexity at most 15"""
    if not shutil.which("pmccabe"):
        return ["pmccabe is missing: run tools/setup.sh"]
    done = subprocess.run(["pmccabe"] + list(sources(("src", "python/src", "fuzz"), (".c",))),
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    breaches = []
    for line in done.stdout.decode().splitlines():
        complexity, _, _, _, length, where = line.split("\t")[:6]
        if int(complexity) > MAX_COMPLEXITY or int(length) > MAX_FUNCTION_LINES:
            breaches.append("%s: %s lines, complexity %s" % (where, length, complexity))
    return breaches


def file_names():
    """file names are unique in src"""
    seen, breaches = {}, []
    for path in sources():
        name = os.path.basename(path)
        if name in seen:
            breaches.append("%s and %s" % (seen[name], path))
        seen[name] = path
    return breaches


def layers():
    """a room includes rooms below it only"""
    rank = {room: row for row, rooms in enumerate(ROOMS) for room in rooms}
    never = {room: others for rooms in ROOMS for room, others in rooms.items()}
    breaches = []
    for path in sources(endings=(".c", ".h", ".def")):
        room = room_of(path)
        if room not in rank:
            breaches.append("%s: unknown room %s" % (path, room))
            continue
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', read(path), re.M):
            other = name.split("/")[0]
            if other not in rank:
                breaches.append('%s: "%s" does not name its room' % (path, name))
            elif other != room and (rank[other] >= rank[room] or other in never[room]):
                breaches.append('%s: %s must not use "%s"' % (path, room, name))
    return breaches


def part_of(path):
    """The folder inside a room, or nothing."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


def inner_walls():
    """families of formats do not use each other; what is injected uses capture/shared alone"""
    breaches = []
    for path in sources(("src/ingest", "src/capture"), (".c", ".h", ".def")):
        room, part = room_of(path), part_of(path[len("src/"):])
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', read(path), re.M):
            other = part_of(name)
            if not name.startswith(room + "/") or other == part:
                continue
            if room == "ingest":
                allowed = other in ("", "lib", "symbols") or part == ""
            else:
                allowed = other == "shared" if part in ("agent", "shared") else other != "agent"
            if not allowed:
                breaches.append('%s: must not use "%s"' % (path, name))
    return breaches


def builders_inside():
    """the builder's inside is for store, which makes columns, and derive, which adds to them"""
    inside = {"store/%s.h" % name for name in ("build", "columns", "finishing")}
    return ['%s: must not use "%s"' % (path, name) for path in sources(endings=(".c", ".h", ".def")) if room_of(path) not in ("store", "derive")
            for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', read(path), re.M) if name in inside]


def chrome_parser():
    """the parser of Chrome traces knows texts, not the store"""
    paths = ["src/ingest/chrome/chrome_%s.%s" % (name, end) for name in ("event", "guess", "value", "texts", "scan", "steps") for end in ("c", "h")]
    return ["%s:%d: the parser knows no ids, chrome_rows asks for them: %s" % found for path in filter(os.path.exists, paths)
            for found in lines_with(r'#\s*include\s+"(?:store/|ingest/chrome/chrome_(?:names|rows|work|load))', ["include"], path)]


def memory():
    """malloc and its kin only in base"""
    paths = [p for p in sources() if room_of(p) != "base"]
    return find(r"(?<![\w.>])(?:malloc|calloc|realloc|free|strdup|strndup|asprintf|alloca)\s*\(", paths, "memory is had from base/mem.h")


def printing():
    """only cli prints and exits"""
    # The last two: a fork's child ends there.
    exempt = {"src/base/err.c", "src/base/mem.c", "src/capture/recorder/heldprogram.c", "src/ingest/sandbox.c"}
    paths = [p for p in sources() if room_of(p) != "cli" and p not in exempt]
    return find(r"(?<![\w.>])(?:printf|puts|putchar|vprintf|perror|exit|_exit|_Exit|abort|assert)\s*\(|\b(?:stdout|stderr)\b", paths, "only cli prints and exits")


def must_check():
    """functions that return bool and take an error last are NL_MUST_CHECK"""
    breaches = []
    for path in sources(endings=(".h",)):
        code = re.sub(r"^\s*#.*(?:\\\n.*)*", blank, code_of(path), flags=re.M)
        for match in re.finditer(r"(?:^|(?<=[;}]))\s*((?:\w+\s+)*bool\s+\w+\s*\([^;{}]*"
                                 r"struct\s+nl_err\s*\*\s*\w*\s*\)\s*[^;{}]*;)", code):
            text = " ".join(match.group(1).split())
            if "NL_MUST_CHECK" not in text and "typedef" not in text:
                line = code.count("\n", 0, match.start(1)) + 1
                breaches.append("%s:%d: %s" % (path, line, text))
    return breaches


def no_constructors():
    """no hidden constructors, no variable-length arrays on the stack by alloca"""
    return find(r"__attribute__\s*\(\(\s*(?:constructor|destructor)", sources(), "hidden constructor", ["__attribute__"])


def wide_is_static():
    """functions that are compiled twice are static: clang 14 gives other files no symbol of them"""
    return find(r"^NL_WIDE\s+(?!static\b)[^(;]*\(", sources(), "NL_WIDE without static", ["NL_WIDE"])


def no_state():
    """no global mutable state outside cli and engine"""
    paths = [p for p in sources() if room_of(p) not in ("cli", "engine")]
    # Not meant: functions declared through a type ending in _fn, and arrays of constant pointers.
    return find(r"^[ \t]*static\s+(?!const\b|inline\b|_Noreturn\b|_Thread_local\b|\w+_fn\s+\w)"
                r"(?![^;=]*\*\s*const\b)[^;(){}]*[;=]", paths, "mutable static")


def notes():
    """TODO and FIXME name an issue"""
    breaches = []
    for path in sources(("src", "tests", "fuzz", "bench", "tools"), (".c", ".h", ".py", ".sh")):
        if path == "tools/lint.py":
            continue
        breaches += ["%s:%d: %s" % each for each in lines_with(r"\b(?:TODO|FIXME)\b(?!\(#\d+\))", ("TODO", "FIXME"), path)]
    return breaches


# Files of other projects that comments and pages speak of.
OTHERS_FILES = {"onnxruntime_c_api.h", "cupti_activity.h", "cupti_callbacks.h", "cupti_result.h", "fwd.h", "buffer_tracing.h",
                "callback_tracing.h", "registration.h", "nvToolsExtPayload.h", "Metrics.md", "train.c", "patchlevel.h"}


def references():
    """comments and pages name files that exist"""
    tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], stdout=subprocess.PIPE, check=True).stdout.decode().split()
    names = {os.path.basename(path) for path in tracked}
    breaches = []
    for path in tracked:
        if not path.startswith(("src/", "docs/", "include/", "python/", "CONTRIBUTING", "README")) or not os.path.isfile(path) or \
                not path.endswith((".c", ".h", ".def", ".md")):
            continue
        text = read(path)
        spoken = [(0, text)] if path.endswith(".md") else [(m.start(), m.group(0)) for m in re.finditer(r"/\*.*?\*/|//[^\n]*", text, re.S)]
        for start, prose in spoken:
            for match in re.finditer(r"(?<![\w/.*<-])([a-z_][\w/]*(?:\*\w*)?\.(?:c|h|def|md))\b(?!\.\w)", prose):
                name = os.path.basename(match.group(1))
                if name in names or name in OTHERS_FILES or "NAME" in name or any(fnmatch.fnmatch(each, name) for each in names if "*" in name):
                    continue
                breaches.append("%s:%d: there is no %s" % (path, text.count("\n", 0, start + match.start()) + 1, match.group(1)))
    return breaches


def called():
    """what a header of src declares is used by more than its tests"""
    uses, breaches = collections.Counter(), []
    for path in sources(("src", "python/src", "include", "fuzz", "bench"), (".c", ".h", ".def")):
        uses.update(re.findall(r"[A-Za-z_]\w+", code_of(path)))
    for path in sources(("src",), (".h",)):
        code = code_of(path)
        for match in re.finditer(r"^(?!typedef|return|else)(?:[A-Za-z_][\w ]*[ *]+)(\w+)\((?=[^;{]*[;{])", code, re.M):
            own = 1 if match.group(0).startswith("static inline") else 2  # declared, and defined
            if uses[match.group(1)] <= own and match.group(1) not in FOR_TESTS:
                breaches.append("%s:%d: %s is called by nothing, or by tests alone" % (path, code.count("\n", 0, match.start()) + 1, match.group(1)))
    return breaches


# Headers of one thing that several files make: {header: (patterns of the files, what the thing is)}. Others declare what their own file defines.
HEADERS_OF_PARTS = {
    "accountmake.h": ("account*", "an account while it is made"), "briefparts.h": ("brief*", "the short page"),
    "build.h": ("budget builder columns instances nest order", "the builder of a trace, inside"),
    "builder.h": ("budget columns filled instances", "the builder of a trace, for its users"),
    "cause.h": ("scene causetext", "what causes have to work with"), "chrome_rows.h": ("chrome_*", "rows by the category of an event"),
    "chrome_work.h": ("chrome_*", "a worker on a file of Chrome traces"), "columns.h": ("finishing instances slices", "final columns of a trace"),
    "db.h": ("document suggest", "the database, for users of the room"), "dbstate.h": ("functions guard suggest tablefunction vtab*", "the database, inside"),
    "diffdoc.h": ("diff*", "a diff while its report is made"), "diffinner.h": ("diffside", "a side, for other files of a diff"),
    "fingerprint_gather.h": ("fingerprint*", "parts of a fingerprint"), "judge.h": ("verdict*", "the judges, a file each"),
    "ort_event.h": ("ort*", "a reader of ONNX Runtime's profiles"), "pagepart.h": ("page*", "the page's data"),
    "perfettowrite.h": ("perfetto*", "a writer of Perfetto's traces"), "rankinner.h": ("rank*", "a ranking while it is made"),
    "rundoc.h": ("doc* run*", "the run document, for users of the room"), "runparts.h": ("run*", "the run document, inside"),
    "scene.h": ("cpuscene", "scenes, also those of processes"), "spill.h": ("main", "what a program decides for its library"),
    "stackgrow.h": ("stack*", "stacks while they grow"), "workmodel.h": ("*work", "workmodels.def names functions of all families"),
}
DECLARED = r"^(?!typedef|return|else|static)(?:[A-Za-z_][\w ]*[ *]+)(\w+)\([^;{}]*(%s)"  # a function; what ends its head


def without_macros(path):
    return re.sub(r"^[ \t]*#(?:.*\\\n)*.*", blank, code_of(path), flags=re.M)


def is_its_header(path, header):
    """Whether functions of the .c file at the path may be declared in the header."""
    name, room = os.path.basename(path)[:-2], os.path.dirname(path) == os.path.dirname(header)
    parts, own = HEADERS_OF_PARTS.get(os.path.basename(header)), path[:-2] + ".h"
    if parts and any(fnmatch.fnmatchcase(name, pattern) for pattern in parts[0].split()):
        return True
    if header == own or os.path.exists(own) and os.path.basename(own) not in HEADERS_OF_PARTS:
        return header == own
    return room and name.startswith(os.path.basename(header)[:-2])


def own_headers():
    """what x.c gives to other files is declared in x.h; without one, in that of what it is a part of (nsys.h for nsysnames.c); or in one of HEADERS_OF_PARTS"""
    where, breaches = collections.defaultdict(list), []
    for path in sources(endings=(".h",)):
        for match in re.finditer(DECLARED % ";", without_macros(path), re.M):
            where[match.group(1)].append(path)
    breaches += ["tools/lint.py: HEADERS_OF_PARTS names %s, which is gone" % name
                 for name in sorted(set(HEADERS_OF_PARTS) - {os.path.basename(path) for path in sources(endings=(".h",))})]
    for path in sources(endings=(".c",)):
        code = without_macros(path)
        for match in re.finditer(DECLARED % r"\{", code, re.M):
            line = code.count("\n", 0, match.start()) + 1
            breaches += ["%s:%d: %s is declared in %s" % (path, line, match.group(1), header)
                         for header in where[match.group(1)] if not is_its_header(path, header)]
    return breaches


def machine_paths():
    """no paths of somebody's machine"""
    breaches = []
    for path in sources((".",), (".c", ".h", ".def", ".py", ".sh", ".md", ".build", "Makefile")):
        if path.startswith(("./build", "./.git")) or path == "./tools/lint.py":
            continue
        breaches += ["%s:%d: %s" % (path, number, line[:100]) for path, number, line in lines_with(r"(?<![\w.$}])/(?:work|root|home/\w+)/", ("/work/", "/root/", "/home/"), path)]
    return breaches


def pages():
    """a README.md in every room, which names all its files"""
    rooms = sorted(d for d in os.listdir("src") if os.path.isdir(os.path.join("src", d)))
    breaches = ["src/%s/README.md is missing" % room for room in rooms if not os.path.exists("src/%s/README.md" % room)]
    if breaches:
        return breaches
    done = subprocess.run([sys.executable, "tools/rooms.py", "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode().splitlines() + (["tools/rooms.py: exit %d" % done.returncode] if done.returncode else [])


def undescribed(node, path):
    """Leaves of a JSON schema at which nobody says what they are."""
    inner = dict(node.get("properties", {}))
    if isinstance(node.get("items"), dict):
        inner["[]"] = node["items"]
    for name, child in inner.items():
        yield from undescribed(child, "%s.%s" % (path, name))
    if not node.get("properties") and "description" not in node and not inner.get("[]", {}).get("properties"):
        yield path


def described():
    """what every leaf of the run document is"""
    path = "schema/run.schema.json"
    return ["%s: %s has no description" % (path, leaf) for leaf in undescribed(json.loads(read(path)), "")]


# Texts of enums.def that run documents never have: ranges of captured graphs have no time.
UNWRITTEN = {"kind": {"captured"}, "lanekind": {"captured"}}


def schema_enums():
    """the schema of run documents lists each enumeration that they write as enums.def has it"""
    path, breaches = "schema/run.schema.json", []
    rows = [(name, text) for file in ("enums", "copykind", "memorykind", "synckind") for name, text in
            re.findall(r'^NL_(ENUM\(\w+|COPYKIND|MEMORYKIND|SYNCKIND)[(,] ?\w+, "([^"]+)"', read("src/store/%s.def" % file), re.M)]
    texts = collections.defaultdict(list)
    for name, text in rows:
        name = {"MEMORYKIND": "memory"}.get(name, name.replace("ENUM(", "").lower())
        if text not in UNWRITTEN.get(name, ()):
            texts[name].append(text)
    written = sorted({name for file in sources(["src/rundoc"], (".c",)) for name in re.findall(r"\bNL_ENUM_(\w+)", code_of(file))})
    lists, found = [], set()
    for match in re.finditer(r'"enum": (\[[^\]]*, null\])', read(path)):
        lists.append((read(path).count("\n", 0, match.start()) + 1, [text for text in json.loads(match.group(1)) if text]))
    for line, members in lists:
        name = max(written, key=lambda each: len(set(texts[each]) & set(members)))
        if 2 * len(set(texts[name]) & set(members)) <= len(members):
            continue  # of something else
        found.add(name)
        if members != texts[name]:
            differ = sorted(set(members) ^ set(texts[name])) or ["the order"]
            breaches.append("%s:%d: not as %s in src/store/enums.def: %s" % (path, line, name, ", ".join(differ)))
    return breaches + ["%s: no list of %s" % (path, name) for name in written if name not in found]


def peaks_of_gpus():
    """every figure of gpus.yaml is one that is read, with a source that is listed"""
    text = read("data/gpus.yaml")
    head, rows = text.split("\ngpus:\n")
    figures = set(re.findall(r'"(\w+)": "1e', read("tools/gpus.py"))) | {"names", "sources", "sms", "chip"}
    sources = set(re.findall(r"^  ([\w-]+): ", head, re.M))
    breaches = []
    for number, line in enumerate(rows.splitlines(), head.count("\n") + 3):
        key = re.match(r"(?:    |  - )(\w+): *(.*)", line)
        if not key:
            continue
        if key.group(1) not in figures:
            breaches.append("data/gpus.yaml:%d: nothing reads %s" % (number, key.group(1)))
        if key.group(1) == "sources":
            breaches += ["data/gpus.yaml:%d: %s is not listed under sources" % (number, name)
                         for name in re.findall(r"[\w-]+", key.group(2)) if name not in sources]
    return breaches


def exit_statuses():
    """every exit status of errors.def is explained in help and is an exception of the Python package"""
    statuses = set(re.findall(r"^NL_ERROR\(\w+, (\d+),", read("src/base/errors.def"), re.M)) - {"0"}
    explained = set(re.findall(r"^NL_EXIT_STATUS\((\d+),", read("src/cli/helpwords.def"), re.M))
    breaches = ["src/cli/helpwords.def: add a row NL_EXIT_STATUS(%s, …)" % each for each in sorted(statuses - explained)]
    for path in ("python/nlens/_engine.py", "docs/wheel.md"):
        raised = set(re.findall(r"xit status (\d+)", read(path)) + re.findall(r"^\| `\w+Error` \| (\d+)", read(path), re.M))
        breaches += ["%s: add an exception for exit status %s" % (path, each) for each in sorted(statuses - raised - {"130"})]
    return breaches


def wide_comments():
    """comments fit 100 columns"""
    paths = list(sources(("src", "include", "python/src", "tests/unit", "fuzz", "bench"), (".c", ".h", ".def")))
    done = subprocess.run(["tools/wrapcomments.py", "--check"] + paths, stdout=subprocess.PIPE)
    return done.stdout.decode().splitlines()


def formatted():
    """clang-format has nothing to say"""
    if not shutil.which("clang-format"):
        return ["clang-format is missing: run tools/setup.sh"]
    version = subprocess.run(["clang-format", "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
    digests = {path: hashlib.sha256((version + read(".clang-format") + read(path)).encode()).hexdigest()
               for path in sources(("src", "python/src", "tests/unit", "fuzz", "bench"))}
    clean = set(read(FORMATTED).split()) if os.path.exists(FORMATTED) else set()
    unsure = [path for path, digest in digests.items() if digest not in clean]
    done = subprocess.run(["clang-format", "--dry-run", "-Werror"] + unsure, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    files = sorted(set(re.findall(r"^([^\s:]+):\d+:\d+: error", done.stdout.decode(), re.M)))
    if done.returncode and not files:
        return ["clang-format: " + done.stdout.decode()[-500:]]
    os.makedirs(os.path.dirname(FORMATTED), exist_ok=True)
    with open(FORMATTED, "w", encoding="utf-8") as file:
        file.write("\n".join(sorted({digest for path, digest in digests.items() if path not in files})))
    return ["%s: run `make format`" % path for path in files]


# What readers stumbled over most, and what to write instead.
WORDS = ((r"(?:is|are|was|were) told", "is reported, is known, is given"), (r"pieces? of (?:\w+ )?work", "operation, task"), (r"set apart", "excluded"),
         (r"is said", "is reported"), (r"put into the bin", "moved to the trash"), (r"no package of machine learning", "no ML framework found"),
         (r"what it is of", "what it belongs to"), (r"would not hold if", "rule out"),
         (r"[Nn]umbers? of instances", "instance number"), (r"switches of threads", "context switches"), (r"held against", "compared with, checked against"),
         (r"as (?:everywhere|ever)", "as in other commands, as usual"), (r"not to be had", "not available"))


def words():
    """no phrase of the word list in src, docs, python and web"""
    breaches = []
    places = list(sources(("src", "docs", "python", "web", "include"), (".c", ".h", ".def", ".md", ".py", ".js", ".html", ".css")))
    for path in places + ["README.md", "CONTRIBUTING.md"]:
        text = read(path).replace("\n", " ") if path.endswith(".md") else read(path)
        for phrase, better in WORDS:
            needed = max(re.split(r"\(\?:[^)]*\)|\[[^]]*\]|.\?", phrase), key=len)  # stands in all that matches, and is found sooner
            if needed not in text:
                continue
            for match in re.finditer(r"\b%s\b" % phrase, text):
                breaches.append("%s:%d: '%s': write %s" % (path, read(path).count("\n", 0, match.start()) + 1, match.group(0), better))
    return breaches


SLACK = 10  # parallel changes need not touch the count
# Words that make comments hard to read, and what to write instead; tools/words.left counts what is left of each.
HABITS = {"tell": (r"tells?|told|telling", "report, say, know"), "lie": (r"lies?|lay|lying", "is, are"),
          "behind": (r"behind", "after, below"), "beside": (r"beside", "next to, besides"),
          "of its own": (r"of (?:its|their) own", "separate, own"), "nobody": (r"nobody", "no thread, nothing")}


def habits():
    """comments of src use no more words that make them hard to read than tools/words.left counts"""
    comments = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    texts = [re.sub(r"\s*\n\s*(?:\*\s)?\s*", " ", match.group(0)) for path in sources(endings=(".c", ".h", ".def"))
             for match in comments.finditer(read(path)) if match.group(0)[0] == "/"]
    left = dict(line.split("\t") for line in read("tools/words.left").splitlines() if not line.startswith("#"))
    breaches = []
    for name, (phrase, better) in HABITS.items():
        found = sum(len(re.findall(r"\b(?:%s)\b" % phrase, text, re.I)) for text in texts)
        if found > int(left[name]):
            breaches.append("comments of src use '%s' %d times, at most %s are allowed: write %s" % (name, found, left[name], better))
        if found < int(left[name]) - SLACK:
            breaches.append("tools/words.left: comments use '%s' only %d times: lower the count" % (name, found))
    return breaches


GENERATED_TABLES = {"docs/sql.md", "docs/metrics.md"}


def wide_pages():
    """prose of pages fits 100 columns, a row of a table 200; what is longer is a list"""
    places = [path for path in sources((".",), (".md",)) if not path.startswith(("./build", "./.git"))]
    done = subprocess.run(["tools/wrap.py", "--check"] + places, stdout=subprocess.PIPE)
    wide = find(r"^\|.{200}", (path for path in places if path[2:] not in GENERATED_TABLES), "a row over 200 columns: a list reads better")
    return done.stdout.decode().splitlines() + wide


QUANTIFIERS = "ALIKE|BENT|BIG|BROAD|CLOSE|CUT|EARLY|ENOUGH|EXPLAINED|FAR|FAST|FEW|HUGE|LATE|LEAST|LITTLE|LONG|LONGER|LONGEST|LOOSE|LOW|MANY|MAX|MIN|MOST|MOSTLY|MUCH|NEAR|NEARLY|" \
    "OUTLIER|RARE|REACHABLE|SAME|SEVERAL|SHORT|SHORTER|SLOW|SMALL|SOME|SPARSE|STRICT|STRICTER|SURE|TINY|UNLIKE|WEIGHTY|WIDE"
# Names that others gave.
OTHERS_BOUNDS = {"HEAP_SAMPLE_SELF_MAX", "HEAP_SAMPLE_SELF_MAX_COUNT"}


def bounds():
    """a bound is called MIN_ or MAX_ and what it bounds, after the prefix of its module: MAX_DEPTH, NL_MIN_GAP_NS"""
    breaches, bare = find(r"^[ \t]*#[ \t]*define[ \t]+(?:%s)[ \t]+[-(.\w]" % QUANTIFIERS, sources(), "bounds what?"), []
    for path in sources(("src", "python/src", "include")):
        code = code_of(path)
        for match in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(?P<name>[A-Z][A-Z0-9_]*)[ \t]+\S|\benum(?: \w+)? \{(?P<values>[^}]*)\}", code, re.M):
            for name in [match.group("name")] if match.group("name") else re.findall(r"\b([A-Z][A-Z0-9_]*)\s*=\s*[-(\d]", match.group("values")):
                if re.search(r"(?:^|_)(?:LEAST|MOST|MAXIMUM|MINIMUM)(?:_|$)|_(?:MAX|MIN)$", name) and name not in OTHERS_BOUNDS:
                    bare.append("%s:%d: %s: say MIN_ or MAX_, and what" % (path, code.count("\n", 0, match.start()) + 1, name))
    return breaches + bare


def fields():
    """fields of protobuf messages have names, not numbers"""
    paths = [p for p in sources() if re.search(r"\bstruct wire\b|\bwire_field\b", read(p)) and not p.startswith("src/parse/")]
    breaches = find(r"(?<=[.>])number\s*(?:[=!<>]=|[<>])\s*\d+\b", paths, "name the field in the format's header of fields")
    breaches += find(r"\b(?:hlo_[a-z_]+|ncu_(?:text|number)_in)\((?:[^(),;]|\([^()]*\))+,\s*\d+\s*[,)]", paths, "name the field")
    for path in paths:
        code = code_of(path)
        for switch in re.finditer(r"^([ \t]*)switch \([^\n]*\bnumber\) \{\n(.*?)^\1\}", code, re.M | re.S):
            for match in re.finditer(r"\bcase \d+:", switch.group(2)):
                line = code.count("\n", 0, switch.start(2) + match.start()) + 1
                breaches.append("%s:%d: name the field: %s" % (path, line, match.group(0)))
    return breaches


def cells():
    """cells of rows have names, not numbers"""
    breaches = find(r"\bcells\[\d+\]", sources(), "name the cell: NL_COLUMNS for results, an enum that places the column's name for databases", ["cells["])
    return breaches + find(r"\bcase \d+:", [p for p in sources(["src/sql"]) if "/tables_" in p], "name the column: NL_TF_COLUMNS")


def casts():
    """a double that comes from a file becomes whole in base/sum.h"""
    paths = [p for p in sources() if room_of(p) != "base"]
    return find(r"\bll?r(?:ound|int)\s*\(|\((?:u?int\d+_t|size_t|unsigned|long long)\)\s*(?:round|floor|ceil|nl_lookup_f64)\s*\(", paths,
                "undefined outside of the type's range: nl_whole_i64, nl_whole_u64 or nl_sum_near", ["round", "rint", "floor", "ceil", "nl_lookup_f64"])


def characters():
    """kinds of characters are asked of base/chars.h: <ctype.h> follows the locale, and takes no negative char"""
    paths = [p for p in sources() if p != "src/base/chars.h"]
    breaches = find(r"#include <ctype\.h>|\bis(?:digit|alpha|alnum|space|xdigit|upper|lower|punct)\(|\bto(?:lower|upper)\(", paths, "base/chars.h has it",
                    ["ctype", "digit(", "alpha(", "alnum(", "space(", "upper(", "lower(", "punct("])
    # Code of which characters are blanked has no ranges.
    return breaches + ["%s:%d: base/chars.h has it: %s" % found for path in paths for found in lines_with(r">= '[aA0]' &&[^;]{1,40}<= '[zZ9]'", [">= '"], path)]


def thresholds():
    """thresholds of causes are tried from both sides, by what is said or promised: tests/unit/edges*.def, test_edges.c, or edges.left"""
    rows, breaches = set(), []
    for name in sorted(os.listdir("tests/unit")):
        if re.fullmatch(r"edges\w*\.def|test_edges\.c", name):
            for cause, names in re.findall(r'^(?:EDGE\(|    \{)"(\w+)", "([^"]*)"', read("tests/unit/" + name), re.M):
                rows |= {(cause, each) for each in names.split()} | {(None, each) for each in names.split()}
    left = {tuple(line.split()) for line in read("tests/unit/edges.left").splitlines() if line and not line.startswith("#")}
    for path in sources(["src/findings"]):
        file = os.path.basename(path).rsplit(".", 1)[0]
        cause = file[6:] if file.startswith("cause_") else None
        if cause or file in ("copycause", "launchcause", "seriesgrowth"):
            for name in re.findall(r"^#define (\w+) +[(\w]*\)?-?\d", read(path), re.M):
                if (cause, name) not in rows and (file, name) not in left:
                    breaches.append("%s: %s has no row that tries it from both sides" % (path, name))
                if (cause, name) in rows and (file, name) in left:
                    breaches.append("tests/unit/edges.left: %s %s has a row now: take the line out" % (file, name))
    return breaches


def page_kinds():
    """the page has a colour and a name for each kind of slice and class of kernel"""
    breaches, script = [], read("web/src/kinds.ts")
    table = {name: {int(code) for code in re.findall(r"\b(\d+):", body)} for name, body in re.findall(r"^(?:export )?const (\w+): [^=]* = \{(.*?)\};", script, re.M | re.S)}
    first_class = int(re.search(r"#define NL_PAGE_CLASS (\d+)u", read("src/pages/pagepart.h")).group(1))
    for what, first, unknown, ink in ("kind", 0, 1, "KINDS"), ("class", first_class, 0, "CLASSES"):
        count = len(re.findall(r"^NL_ENUM\(%s, " % what, read("src/store/enums.def"), re.M))
        wanted = set(range(first + unknown, first + count))
        if what == "kind" and count > first_class:
            breaches.append("src/pages/pagepart.h: NL_PAGE_CLASS is a kind's number, too")
        breaches += ["web/src/kinds.ts: %s has no %d (%s %d of src/store/enums.def)" % (where, code, what, code - first)
                     for where in (ink, "KIND_NAMES") for code in sorted(wanted - table[where])]
    return breaches


def judged_mutants():
    """what tools/mutants.tsv gives reasons for is a line of the program"""
    breaches = []
    for number, row in enumerate(read("tools/mutants.tsv").splitlines(), 1):
        path, line = row.split("\t")[:2] if row[:1] != "#" else ("", "")
        if path and line not in (read(path) if os.path.exists(path) else ""):
            breaches.append("tools/mutants.tsv:%d: %s has no line %s" % (number, path, line))
    return breaches


RULES = [file_sizes, functions, staticnames.rule(sources, without_macros), file_names, layers, inner_walls, builders_inside, chrome_parser, memory, printing, must_check, no_constructors,
         no_state, wide_is_static, bounds, fields, cells, casts, characters, notes, machine_paths, references, called, own_headers, pages, wide_pages, words, habits, described, schema_enums, peaks_of_gpus, exit_statuses, thresholds, page_kinds, judged_mutants, wide_comments, formatted]


def main():
    passed = failed = 0
    for rule in RULES:
        name = rule.__name__.replace("_", " ")
        if len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:]):
            continue
        answer = rule()
        if answer:
            failed += 1
            for breach in answer:
                print("    " + breach)
            print("FAIL lint: %s (%s)" % (name, rule.__doc__))
        else:
            passed += 1
            print("ok lint: %s" % name)
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
