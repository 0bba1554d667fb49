#!/usr/bin/env python3
"""Runs that were kept stay: a lost, emptied or damaged database, gc after it, check, rebuild, merge,
ledgers that cannot be read, shared ones, tags that move.

    tests/ledgerkeep.py              all
    tests/ledgerkeep.py WORD...      the tests whose name contains a WORD
"""
import glob
import gzip
import json
import os
import shutil
import sqlite3
import stat
import sys
import time

from harness import FIXTURES, Tally, neurolens, scratch

tally = Tally("ledgerkeep")
SMALL = os.path.join(FIXTURES, "ort_cpu_mlp.json.gz")
TRAIN = os.path.join(FIXTURES, "torch_cpu_train.json.gz")
STACK = os.path.join(FIXTURES, "torch_cpu_stack.json.gz")


def place(name):
    path = os.path.join(scratch(), name)
    shutil.rmtree(path, True)
    os.makedirs(path)
    return path


def copies(folder, count):
    """Different small profiles: the same one with other times."""
    with gzip.open(SMALL) as file:
        events = json.load(file)
    paths = []
    for i in range(count):
        for event in events:
            if "ts" in event:
                event["ts"] += 1
        paths.append(os.path.join(folder, "run%d.json" % i))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(json.dumps(events))
    return paths


def call(ledger, *words, status=0):
    done = neurolens([*words, "--ledger", ledger])
    if done.status != status:
        tally.fail("%s ends with %d" % (" ".join(words[:2]), status), done.describe())
    return done


def answer(ledger, *words, status=0):
    done = call(ledger, *words, "--format", "json", status=status)
    return json.loads(done.stdout)["result"] if done.stdout else None


def filled(name):
    """A ledger of five runs with tags, notes, settings, one of them in the trash."""
    ledger, files = place(name), copies(place(name + "-files"), 5)
    call(ledger, "add", *files, "--set", "batch_size=32")
    call(ledger, "tag", "@", "baseline", "feature/x")
    call(ledger, "tag", "@~3", "nightly")
    call(ledger, "note", "@~1", "the stall", "--at", "1ms:2ms")
    call(ledger, "rm", "@~2")
    shutil.rmtree(name + "-files", True)
    return ledger


def artefacts(ledger):
    return sorted(glob.glob(os.path.join(ledger, "artefacts", "??", "*.zst")))


def age(ledger, seconds=2 * 86400):
    for path in artefacts(ledger):
        os.utime(path, (time.time() - seconds,) * 2)


def picture(ledger):
    """All that `ls` and `show` say of the runs, but for the times and what was done."""
    runs = []
    for run in answer(ledger, "ls", "--columns", "id,name,tags,batch_size,mean_step_ns,findings"):
        shown = answer(ledger, "show", run["id"])
        runs.append((run, {k: v for k, v in shown.items() if k not in ("provenance", "kept")}))
    runs.append([run["id"] for run in answer(ledger, "ls", "--bin")])
    return runs


def lose(ledger, how):
    for ending in ("-wal", "-shm"):
        path = os.path.join(ledger, "ledger.db" + ending)
        if os.path.exists(path):
            os.unlink(path)
    path = os.path.join(ledger, "ledger.db")
    if how == "missing":
        os.unlink(path)
    elif how == "empty":
        open(path, "w").close()
    else:
        with open(path, "r+b") as file:
            if how == "text":
                file.write(b"not a database at all" * 100)
            else:
                file.seek(4096)
                file.write(b"\xa5" * 20000)


def lost():
    for how in ("missing", "empty", "text", "pages"):
        ledger = filled("lost-" + how)
        before, kept = picture(ledger), artefacts(ledger)
        age(ledger)
        lose(ledger, how)
        if how != "pages":
            done = call(ledger, "ls", status=4)
            tally.check("%s database: ls says how to go on" % how,
                        "ledger rebuild" in done.stderr, done.describe())
            call(ledger, "gc", status=4)
            call(ledger, "add", TRAIN, "--no-cache", status=4)
        tally.check("%s database: nothing is deleted" % how, artefacts(ledger) == kept)
        done = call(ledger, "ledger", "rebuild")
        tally.check("%s database: rebuild brings all back" % how, picture(ledger) == before,
                    done.describe())
        tally.check("%s database: the ledger is whole again" % how,
                    call(ledger, "ledger", "check").status == 0)
        tally.check("%s database: the runs open" % how,
                    call(ledger, "info", "baseline", "--no-cache").status == 0)
        aside = glob.glob(os.path.join(ledger, "ledger.db.damaged-*"))
        tally.check("%s database: set aside when it held something" % how,
                    bool(aside) == (how in ("text", "pages")), aside)


def moved_away():
    """The advice of older versions: move the database away and add again; a nightly gc follows."""
    ledger = filled("moved")
    kept = artefacts(ledger)
    shutil.rmtree(os.path.join(ledger, "runs"))
    age(ledger)
    lose(ledger, "missing")
    hidden = os.path.join(ledger, "hidden")
    os.rename(os.path.join(ledger, "artefacts"), hidden)
    call(ledger, "add", STACK, "--no-cache")
    shutil.copytree(hidden, os.path.join(ledger, "artefacts"), dirs_exist_ok=True)
    age(ledger)
    done = call(ledger, "gc")
    here = {os.path.basename(path) for path in artefacts(ledger)}
    tally.check("gc keeps what no run needs, and says so",
                {os.path.basename(path) for path in kept} <= here and "belong to no run" in done.stdout,
                done.describe())
    call(ledger, "ledger", "check", status=1)
    done = call(ledger, "ledger", "rebuild")
    runs = answer(ledger, "ls", "--columns", "id,name,mean_step_ns,findings")
    tally.check("without cards the runs come back from their documents, with traces",
                len(runs) == 6 and "5 from their documents" in done.stdout and
                "0 without a trace" in done.stdout, done.describe())
    tally.check("... and open", call(ledger, "analyze", runs[1]["id"], "--no-cache").status == 0)
    shutil.rmtree(os.path.join(ledger, "hidden"))
    for word in ("@", "@~1", "@~2", "@~3", "@~4", "@~5"):
        call(ledger, "rm", "@")
    call(ledger, "gc")
    tally.check("gc empties the trash", artefacts(ledger) == [] and
                not glob.glob(os.path.join(ledger, "runs", "*")), artefacts(ledger))


def orphans():
    ledger = filled("orphans")
    names = {os.path.basename(path) for path in artefacts(ledger)}
    base = sqlite3.connect(os.path.join(ledger, "ledger.db"))
    base.execute("PRAGMA foreign_keys = ON")
    run = base.execute("SELECT run, id FROM runs ORDER BY run LIMIT 1").fetchone()
    base.execute("DELETE FROM runs WHERE run = ?", run[:1])
    base.commit()
    base.close()
    os.unlink(os.path.join(ledger, "runs", run[1] + ".json"))
    age(ledger)
    call(ledger, "gc")
    left = {os.path.basename(path) for path in artefacts(ledger)}
    tally.check("gc removes the trash alone", len(names - left) == 2, names - left)
    call(ledger, "gc", "--orphans", "--dry-run")
    tally.check("--dry-run removes nothing",
                left == {os.path.basename(path) for path in artefacts(ledger)})
    call(ledger, "gc", "--orphans")
    tally.check("--orphans removes what belongs to no run",
                len(artefacts(ledger)) == 6, artefacts(ledger))
    tally.check("... and leaves the ledger whole", call(ledger, "ledger", "check").status == 0)


def superseded():
    ledger = place("superseded")
    call(ledger, "add", SMALL, "--no-cache")
    call(ledger, "add", SMALL, "--no-cache", "--set", "batch_size=4")
    call(ledger, "gc")
    tally.check("gc removes a document that a newer one replaced", len(artefacts(ledger)) == 2,
                artefacts(ledger))


def checked():
    ledger = filled("checked")
    paths = artefacts(ledger)
    with open(paths[0], "r+b") as file:
        file.seek(30)
        file.write(b"\0\0\0\0")
    os.unlink(paths[1])
    card = glob.glob(os.path.join(ledger, "runs", "*.json"))
    os.unlink(card[0])
    with open(card[1], "w", encoding="utf-8") as file:
        file.write("{}")
    done = call(ledger, "ledger", "check", status=1)
    for words in ("is damaged", "is missing", "2 runs have no card"):
        tally.check("check says: " + words, words in done.stdout, done.describe())
    quick = call(ledger, "ledger", "check", "--quick", status=1)
    tally.check("--quick reads no contents", "is damaged" not in quick.stdout and
                "is missing" in quick.stdout, quick.describe())
    doctor = neurolens(["doctor", "--ledger", ledger, "--format", "json"])
    state = [row for row in json.loads(doctor.stdout)["result"] if row["what"] == "ledger"]
    tally.check("doctor runs the check", state[0]["state"] == "missing" and
                "ledger check" in state[0]["unlock"], state)
    call(ledger, "ledger", "rebuild")
    done = call(ledger, "ledger", "check", status=1)
    tally.check("rebuild writes the cards", "card" not in done.stdout, done.describe())


def merged():
    one, other = filled("merge-a"), place("merge-b")
    call(other, "add", STACK, "--no-cache")
    call(other, "tag", "@", "baseline", "only-b")
    before = picture(one)
    call(other, "ledger", "check")
    first = call(other, "ledger", "merge", one, other)
    runs = answer(other, "ls", "--columns", "id,name,tags,batch_size,mean_step_ns,findings")
    tally.check("merge copies runs with tags", len(runs) == 5 and
                sorted(run["id"] for run in runs)[0] and
                [run for run in runs if run["tags"] and "feature/x" in run["tags"]] != [],
                first.describe())
    tally.check("... with notes", "the stall" in json.dumps(answer(other, "show", "@~1")))
    tally.check("... with traces", call(other, "analyze", "feature/x", "--no-cache").status == 0)
    tally.check("... and fingerprints",
                "4 runs" in call(other, "similar", "only-b").stdout)
    again = call(other, "ledger", "merge", one, other)
    tally.check("merging again changes nothing", again.stdout.startswith("0 runs copied") and
                "4 had nothing new" in again.stdout, again.describe())
    call(one, "note", "@", "said later")
    done = call(other, "ledger", "merge", one, other)
    tally.check("new notes of runs that both have come over",
                "1 got tags or notes" in done.stdout and
                "said later" in json.dumps(answer(other, "show", "feature/x")), done.describe())
    tally.check("the source is not changed", len(picture(one)) == len(before))
    tally.check("the merged ledger is whole", call(other, "ledger", "check").status == 0)
    done = neurolens(["ledger", "merge", os.path.join(scratch(), "nowhere"), other])
    tally.check("merging from nowhere is an error", done.status == 4, done.describe())


def unreadable():
    ledger = filled("unreadable")
    for what, path, status in (("a file", "/etc/passwd", 5), ("missing", ledger + "-not", 4)):
        done = call(path, "ls", status=status)
        tally.check("a ledger that is %s is an error" % what, done.stdout == "", done.describe())
        call(path, "show", "@", status=status)
    if os.getuid() == 0:
        os.chmod(ledger, 0o700)
        os.chmod(scratch(), 0o755)
        done = neurolens(["ls", "--ledger", ledger], preexec=lambda: os.setuid(65534))
        tally.check("another user's ledger is an error",
                    done.status == 5 and "may not read" in done.stderr, done.describe())
    else:
        tally.skip("another user's ledger", "not root")


def shared():
    folder = place("shared")
    done = neurolens(["init", "--shared", folder])
    ledger = os.path.join(folder, ".neurolens")
    call(ledger, "add", SMALL, "--no-cache")
    call(ledger, "tag", "@", "baseline")
    wrong = []
    for at, folders, files in os.walk(ledger):
        for name in folders:
            mode = stat.S_IMODE(os.stat(os.path.join(at, name)).st_mode)
            if mode != 0o2770:
                wrong.append((name, oct(mode)))
        for name in files:
            mode = stat.S_IMODE(os.stat(os.path.join(at, name)).st_mode)
            if mode & 0o660 != 0o660 and name != ".gitignore":
                wrong.append((name, oct(mode)))
    tally.check("init --shared: the group reads and writes everything",
                done.status == 0 and not wrong, (done.describe(), wrong))


def init_warns():
    folder = place("init")
    done = neurolens(["init", folder], extra={"NEUROLENS_LEDGER": "/elsewhere"})
    tally.check("init says that $NEUROLENS_LEDGER wins", "wins over this ledger" in done.stderr,
                done.describe())


def tags():
    ledger = filled("tags")
    ids = [run["id"] for run in answer(ledger, "ls")]

    def means(word):
        return json.loads(call(ledger, "export", word, "--to", "run.json").stdout)["run"]["id"]

    tally.check("a tag means its run", means("baseline") == ids[0])
    done = call(ledger, "tag", "@~2", "baseline")
    tally.check("tagging an older run moves the tag, and says so",
                means("baseline") == ids[2] and "baseline now means " + ids[2][:8] in done.stdout,
                done.describe())
    tally.check("both have it", len(answer(ledger, "ls", "tag=baseline")) == 2)
    done = call(ledger, "tag", "@~1", "baseline", "--move")
    tally.check("--move takes it from the others",
                [run["id"] for run in answer(ledger, "ls", "tag=baseline")] == [ids[1]],
                done.describe())
    tally.check("names of branches are tags", means("feature/x") == ids[0])
    call(ledger, "tag", "@", "größer/Ω-1")
    tally.check("letters of any script", means("größer/Ω-1") == ids[0])
    for wrong in ("a b", "x/", "a..b", "/x", "x,y", "deadbeef", os.fsdecode(b"\xff")):
        call(ledger, "tag", "@", wrong, status=2)


def labels():
    ledger, files = place("labels"), copies(place("labels-files"), 3)
    for i, path in enumerate(files):
        call(ledger, "add", path, "--no-cache", "--set", "labels.pr=%d" % (10 + i), "--set",
             "labels.team=%s" % "ABC"[i], "--set", "batch_size=%d" % (16 << i), "--set",
             "device_name=NVIDIA A100 %d" % i, "--set", "git_branch=feature/%d" % i)

    def found(*filters):
        return [row["run.git_branch"][-1] for row in
                answer(ledger, "ls", *filters, "-c", "git_branch")]
    for filters, wanted in ((["labels.pr=11"], "1"), (["labels.pr>10"], "21"), (["pr=10|12"], "20"),
                            (["team=A|C"], "20"), (["team!=A|C"], "1"), (["batch_size=16..32"], "10"),
                            (["batch_size!=16..32"], "2"), (["device_name=*a100*"], "210"),
                            (["device_name~a100 1|a100 2"], "21"), (["git_branch=feature/*"], "210"),
                            (["added=today"], "210"), (["added>-1h"], "210"), (["added<-1h"], ""),
                            (["added=yesterday"], ""), (["added=-2d..today"], "210"),
                            (["added=2020-01-01..2020-12-31"], "")):
        got = found(*filters)
        tally.check("ls " + " ".join(filters), got == list(wanted), (got, wanted))
    call(ledger, "add", files[0], "--no-cache", "--set", "labels.pr=99")
    tally.check("a label can be changed", found("pr=99") == ["0"] and found("team=A") == ["0"])
    lose(ledger, "empty")
    call(ledger, "ledger", "rebuild")
    tally.check("labels survive a rebuild", found("pr=99") == ["0"])
    document = json.loads(call(ledger, "export", "@", "--to", "run.json").stdout)
    tally.check("no document has them", "labels" not in document)
    call(ledger, "add", files[0], "--set", "labels.=x", status=2)
    call(ledger, "add", files[0], "--set", "labels.a b=x", status=2)
    call(ledger, "ls", "added=soon", status=2)


def removed_stay_removed():
    """Tags and notes that came with a document are the ledger's from then on."""
    there, here, files = place("said-there"), place("said-here"), place("said-files")
    path, plain = os.path.join(files, "run.json"), os.path.join(files, "plain.json")
    call(there, "add", SMALL)
    with open(plain, "w", encoding="utf-8") as file:
        file.write(call(there, "export", "@", "--to", "run.json").stdout)
    call(there, "tag", "@", "secret-tag", "kept-tag")
    with open(path, "w", encoding="utf-8") as file:
        file.write(call(there, "export", "@", "--to", "run.json").stdout)
    call(there, "note", "@", "a secret note")
    noted = os.path.join(files, "noted.json")
    with open(noted, "w", encoding="utf-8") as file:
        file.write(call(there, "export", "@", "--to", "run.json").stdout)

    def said():
        run = json.loads(call(here, "export", "@", "--to", "run.json").stdout)["run"]
        return run["tags"], [note["text"] for note in run["notes"]]

    call(here, "add", path)
    tally.check("tags come in with a document", said() == (["kept-tag", "secret-tag"], []), said())
    call(here, "tag", "@", "--remove", "secret-tag")
    tally.check("a removed tag is in no export", said() == (["kept-tag"], []), said())
    call(here, "tag", "@", "--remove", "kept-tag")
    tally.check("nor is the last one", said() == ([], []), said())
    bare = place("said-bare")
    call(bare, "add", noted)
    call(bare, "tag", "@", "--remove", "secret-tag", "kept-tag")
    with sqlite3.connect(os.path.join(bare, "ledger.db")) as database:
        database.execute("DELETE FROM notes")
    database.close()
    run = json.loads(call(bare, "export", "@", "--to", "run.json").stdout)["run"]
    tally.check("nor is the last note", run["tags"] == run["notes"] == [], (run["tags"], run["notes"]))
    untouched = place("said-untouched")
    call(untouched, "add", plain)
    with open(plain, encoding="utf-8") as file:
        tally.check("a document without any is exported as it came",
                    call(untouched, "export", "@", "--to", "run.json").stdout == file.read())


TESTS = [lost, moved_away, orphans, superseded, checked, merged, unreadable, shared, init_warns, tags, labels,
         removed_stay_removed]

for test in TESTS:
    if len(sys.argv) < 2 or any(word in test.__name__ for word in sys.argv[1:]):
        test()
tally.finish()
