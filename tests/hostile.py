#!/usr/bin/env python3
"""Hostile folders: ledgers that came with somebody else's files, and other people's folders.

    tests/hostile.py [NAME...]     all, or those whose name contains NAME

A second account (uid 65534) is played by chown, so what needs one is skipped unless root runs this.
"""
import glob
import json
import os
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time

from harness import PROGRAM, ROOT, Tally, environment, forked, has_terminal, neurolens, scratch, status_of, wait_until

KINETO = os.path.join(ROOT, "tests", "corpus", "chrome", "kineto.json")
OTHER = 65534
tally = Tally("hostile")
HERE = [0]


def folder():
    """A fresh folder with a project (proj), its ledger, and a file of the user elsewhere."""
    HERE[0] += 1
    place = os.path.join(scratch(), "h%d" % HERE[0])
    os.makedirs(place + "/proj")
    with open(place + "/precious.txt", "w") as file:
        file.write("precious")
    return place


def project(*options):
    place = folder()
    proj = place + "/proj"
    shutil.copy(KINETO, proj + "/t.json")
    assert neurolens(["init", "-q"], cwd=proj).status == 0
    if os.stat("/").st_uid not in (0, os.geteuid()):  # in a user namespace the folders above are nobody's
        assert neurolens(["trust", "-q", proj]).status == 0
    added = neurolens(["add", "-q", "t.json"] + list(options), cwd=proj)
    assert added.status == 0, added.describe()
    os.unlink(proj + "/t.json")
    return place, proj


def database(proj):
    return sqlite3.connect(proj + "/.neurolens/ledger.db", isolation_level=None)


def whole(place):
    with open(place + "/precious.txt") as file:
        return file.read() == "precious"


def listing(place):
    found = {}
    for base, folders, files in os.walk(place):
        for name in files + folders:
            path = os.path.join(base, name)
            info = os.lstat(path)
            found[path] = (info.st_size, info.st_mtime_ns, oct(info.st_mode))
    return found


COMMANDS = [["analyze", "-q", "@"], ["info", "-q", "@"], ["show", "@"], ["ls"], ["sql", "-q", "@", "select 1"],
            ["diff", "@", "@"], ["similar", "@"], ["export", "@", "--to", "run.json", "-o", "out.json"], ["gc"],
            ["check", "@", "--baseline", "@"]]


def every_command(name, place, proj, extra=None):
    """Runs all; nothing outside the project may change, nothing may crash or claim a bug of ours."""
    before = {k: v for k, v in listing(place).items() if not k.startswith(proj)}
    said = []
    for words in COMMANDS:
        got = neurolens(words, cwd=proj, timeout=20, extra=extra)
        if got.status not in (0, 1, 2, 3, 4, 5):
            said.append("%s: %s" % (words, got.describe()))
    after = {k: v for k, v in listing(place).items() if not k.startswith(proj)}
    if before != after:
        said.append("changed: %s" % sorted(set(before.items()) ^ set(after.items()))[:6])
    tally.check(name, not said and whole(place), "\n".join(said))


def names_that_lead_elsewhere():
    for bad in ("../../../precious.txt", "../x", "..", ".", "", "a/b", "/etc/hostname", "x" * 300, None):
        place, proj = project("--keep-source", "--no-trace")
        with database(proj) as db:
            try:
                db.execute("UPDATE sources SET name = ?", (bad,))
            except sqlite3.IntegrityError:
                continue
        got = neurolens(["analyze", "-q", "@"], cwd=proj)
        tally.check("name %r of a source is refused" % (bad if bad is None else bad[:24]), got.status == 4 and
                    "damaged" in got.stderr and whole(place), got.describe())
    # The attack as it was: TMPDIR is the folder above, so that the name reaches the file.
    place, proj = project("--keep-source", "--no-trace")
    with database(proj) as db:
        db.execute("UPDATE sources SET name = '../../precious.txt'")
    every_command("a name of a source reaches no file of the user", place, proj, {"TMPDIR": place})


def digests_that_lead_elsewhere():
    for bad in ("../../../precious.txt", "", None, "A" * 64, "0" * 63, "0" * 65, "0" * 64, "../" + "0" * 61,
                b"\xff" * 64):
        place, proj = project()
        with database(proj) as db:
            db.execute("PRAGMA foreign_keys = OFF")
            try:
                db.execute("UPDATE OR REPLACE artefacts SET sha256 = ?", (bad,))
            except sqlite3.IntegrityError:
                continue
        every_command("digest %r of an artefact" % (bad if bad is None else bad[:24]), place, proj)
    # cache/../../NAME.nlt was opened and removed
    place, proj = project()
    with open(place + "/victim.nlt", "w") as file:
        file.write("a user's file")
    with database(proj) as db:
        db.execute("UPDATE artefacts SET sha256 = '../../../victim' WHERE role = 'trace'")
    every_command("a digest reaches no file of the user", place, proj)


def links_inside():
    for name in ("artefacts", "cache", "ledger.db", "ledger.db-wal"):
        place, proj = project()
        inside = proj + "/.neurolens/" + name
        moved = place + "/moved-" + name
        if os.path.lexists(inside):
            os.rename(inside, moved)
        elif name == "cache":
            os.mkdir(moved)
        else:
            open(moved, "w").close()
        os.symlink(moved, inside)
        got = neurolens(["ls"], cwd=proj)
        tally.check("a link in place of %s is refused" % name, got.status == 4 and "symbolic link" in got.stderr,
                    got.describe())
        every_command("commands beside a link in place of %s" % name, place, proj)
    place, proj = project()
    for two in glob.glob(proj + "/.neurolens/artefacts/??"):
        moved = place + "/two-" + os.path.basename(two)
        os.rename(two, moved)
        os.symlink(moved, two)
    got = neurolens(["analyze", "-q", "@"], cwd=proj)
    tally.check("links among the artefacts are not followed", got.status in (4, 5), got.describe())
    place, proj = project()
    os.rename(proj + "/.neurolens", place + "/real")
    os.symlink(place + "/real", proj + "/.neurolens")
    got = neurolens(["ls"], cwd=proj)
    tally.check("a ledger that is a link is refused", got.status == 5 and "neurolens trust" in got.stderr,
                got.describe())
    place, proj = project()
    os.unlink(proj + "/.neurolens/ledger.db")
    for stray in glob.glob(proj + "/.neurolens/ledger.db-*"):
        os.unlink(stray)
    os.mkfifo(proj + "/.neurolens/ledger.db")
    got = neurolens(["ls"], cwd=proj, timeout=10)
    tally.check("a pipe in place of ledger.db is refused", got.status == 4, got.describe())


def journals():
    """A hot journal that names a super-journal: SQLite would remove that file."""
    place, proj = project()
    path = proj + "/.neurolens/ledger.db"
    with database(proj) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        size, = db.execute("PRAGMA page_size").fetchone()
    victim = (place + "/precious.txt").encode()
    with open(path, "rb") as file:
        page = file.read(size)
    pages = os.path.getsize(path) // size
    nonce = 7
    checksum, at = nonce, size - 200
    while at > 0:
        checksum = (checksum + page[at]) & 0xffffffff
        at -= 200
    head = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + struct.pack(">IIIII", 1, nonce, pages, 512, size)
    record = struct.pack(">I", 1) + page + struct.pack(">I", checksum)
    name = struct.pack(">I", 0x40000000 // size + 1) + victim
    name += struct.pack(">II", len(victim), sum(victim) & 0xffffffff) + b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
    with open(path + "-journal", "wb") as file:
        file.write(head.ljust(512, b"\0") + record + name)
    control = shutil.copytree(place, place + "-control")
    raw = sqlite3.connect(control + "/proj/.neurolens/ledger.db")
    raw.execute("SELECT count(*) FROM runs").fetchall()
    raw.close()
    tally.check("(SQLite itself removes a file that a journal names)", not os.path.exists(place + "/precious.txt"))
    with open(place + "/precious.txt", "w") as file:
        file.write("precious")
    every_command("a journal removes no file of the user", place, proj)
    got = neurolens(["ls"], cwd=proj)
    tally.check("a journal that names another file is refused", got.status == 4, got.describe())


def schemas():
    for name, sql in (("a view that never ends", "ALTER TABLE runs RENAME TO r2; CREATE VIEW runs AS WITH RECURSIVE c(x) "
                                                 "AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS run FROM c"),
                      ("a trigger", "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END"),
                      ("a table more", "CREATE TABLE extra(x)"),
                      ("a column more", "ALTER TABLE tags ADD COLUMN x"),
                      ("a table less", "DROP TABLE notes")):
        place, proj = project()
        with database(proj) as db:
            db.executescript(sql)
        got = neurolens(["ls"], cwd=proj, timeout=10)
        tally.check("%s in a ledger is refused" % name, got.status == 4 and "tables" in got.stderr, got.describe())


def rows():
    """Every text and number of every row becomes something else; nothing may crash or be called a bug."""
    import random
    dice = random.Random(3)
    odd = [None, -1, 2 ** 63 - 1, -2 ** 63, 1e308, "", "\x1b]0;x\x07", "../../x", "x" * 70000, b"\xff\xfe", "{", "[[", "NaN", 0]
    place, proj = project()
    spare = place + "/spare"
    shutil.copytree(proj + "/.neurolens", spare)
    with database(proj) as db:
        columns = [(t, c[1]) for (t,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT "
                                                    "LIKE 'sqlite_%'").fetchall()
                   for c in db.execute("PRAGMA table_info(%s)" % t)]
    said = []
    for table, column in columns:
        for value in dice.sample(odd, 4):
            shutil.rmtree(proj + "/.neurolens")
            shutil.copytree(spare, proj + "/.neurolens")
            db = database(proj)
            try:
                db.execute("UPDATE %s SET \"%s\" = ?" % (table, column), (value,))
            except sqlite3.Error:
                continue
            finally:
                db.close()
            for words in dice.sample(COMMANDS, 3):
                got = forked(words, cwd=proj, timeout=20)
                if got.status not in (0, 1, 2, 3, 4, 5) or not whole(place):
                    said.append("%s.%s = %r, %s: %s" % (table, column, value if not isinstance(value, str) else value[:20],
                                                        words, got.describe()[:600]))
    tally.check("%d columns with odd values" % len(columns), not said, "\n".join(said[:10]))


def other_people():
    if os.geteuid() != 0:
        tally.skip("ledgers of other users", "not root, so no second account can be played")
        return
    for name, change in (("a ledger of another user", lambda p: os.chown(p + "/proj/.neurolens", OTHER, OTHER)),
                         ("a folder of another user above it", lambda p: os.chown(p + "/proj", OTHER, OTHER)),
                         ("a ledger that all may write to", lambda p: os.chmod(p + "/proj/.neurolens", 0o777)),
                         ("a group that may write to it", lambda p: (os.chown(p + "/proj/.neurolens", 0, OTHER),
                                                                     os.chmod(p + "/proj/.neurolens", 0o770))),
                         ("a folder above that all may write to", lambda p: os.chmod(p + "/proj", 0o777))):
        place, proj = project()
        change(place)
        before = listing(proj)
        for words in (["ls"], ["analyze", "@"], ["add", KINETO], ["gc"], ["tag", "@", "x"]):
            got = neurolens(words, cwd=proj)
            tally.check("%s: %s" % (name, words[0]), got.status == 5 and "neurolens trust" in got.stderr, got.describe())
        got = neurolens(["analyze", "-q", KINETO], cwd=proj)
        tally.check("%s: files are read all the same" % name, got.status == 0, got.describe())
        tally.check("%s: nothing in it was touched" % name, before == listing(proj))
        got = neurolens(["trust", "."], cwd=proj)
        tally.check("%s: trusted" % name, got.status == 0 and "trusted from now on" in got.stdout, got.describe())
        tally.check("%s: and used" % name, neurolens(["ls"], cwd=proj).status == 0)
        listed = neurolens(["trust", "--list"], cwd=proj).stdout
        tally.check("%s: listed" % name, os.path.realpath(proj) in listed, listed)
        os.chown(proj + "/.neurolens", 12345, 12345)
        tally.check("%s: not when it has another owner since" % name, neurolens(["ls"], cwd=proj).status == 5)
        shutil.rmtree(scratch() + "/.config", True)
    place, proj = project()
    os.chmod(place, 0o1777)
    tally.check("a sticky folder above it is fine", neurolens(["ls"], cwd=proj).status == 0)
    os.chmod(place, 0o755)
    os.chown(proj + "/.neurolens", OTHER, OTHER)
    neurolens(["trust", proj])
    trusted = scratch() + "/.config/neurolens/trusted"
    tally.check("the list is the user's alone", os.stat(trusted).st_mode & 0o777 == 0o600)
    os.chmod(trusted, 0o666)
    tally.check("a list that others may write to is not believed", neurolens(["ls"], cwd=proj).status == 5)
    got = neurolens(["ls", "--ledger", proj + "/.neurolens"], cwd=place)
    tally.check("a ledger that is named needs no trust", got.status == 0, got.describe())
    shutil.rmtree(scratch() + "/.config", True)


def in_namespace():
    """Without root a second account is one of a user namespace: a user of the system's, whose number /etc/subuid lends us."""
    command = ["unshare", "--user", "--map-auto", "--map-root-user"]
    if not shutil.which("unshare"):
        return tally.skip("a second account", "not root, and there is no unshare")
    probe = subprocess.run(command + ["true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if probe.returncode != 0:
        return tally.skip("a second account", "not root, and no user namespace with two users: " + probe.stderr.strip().splitlines()[-1])
    inner = subprocess.run(command + [sys.executable, os.path.abspath(__file__), "second_account"], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = inner.stdout.splitlines()
    good = sum(line.startswith("ok ") for line in lines)
    return tally.check("a second account in a user namespace: %d checks" % good, inner.returncode == 0 and good > 2, inner.stdout)


def second_account():
    """As another user: nothing of a ledger can be read or changed."""
    if os.geteuid() != 0:
        in_namespace()
        return
    place, proj = project("--keep-source")
    os.chmod(proj + "/.neurolens", 0o755)
    os.chmod(proj + "/.neurolens/artefacts", 0o755)
    modes = {os.path.relpath(p, proj): os.stat(p).st_mode & 0o077
             for p in glob.glob(proj + "/.neurolens/**", recursive=True) if os.path.isfile(p) and "ledger" in p
             or p.endswith(".zst")}
    tally.check("files of a ledger are the user's alone", modes and not any(modes.values()), modes)
    neurolens(["sql", "-q", traces_of(place), "select 1"], cwd=proj)
    os.chmod(place, 0o755)
    os.chmod(scratch(), 0o755)
    program = scratch() + "/neurolens-for-all"
    shutil.copy(PROGRAM, program)
    os.chmod(program, 0o755)
    home = scratch() + "/other-home"
    os.makedirs(home)
    os.chown(home, OTHER, OTHER)

    def become():
        os.setgroups([])
        os.setresgid(OTHER, OTHER, OTHER)
        os.setresuid(OTHER, OTHER, OTHER)

    def other(words):
        return subprocess.run(words, cwd=proj, env=environment(home), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, preexec_fn=become, timeout=30)
    before = listing(place)
    said = []
    files = [p for p in glob.glob(proj + "/.neurolens/**", recursive=True) if os.path.isfile(p)]
    for path in files:
        if other(["cat", path]).returncode == 0:
            said.append("reads %s" % path)
        if other(["sh", "-c", "echo x >> '%s'" % path]).returncode == 0:
            said.append("writes to %s" % path)
    for command in COMMANDS + [["tag", "@", "x"], ["rm", "@"], ["add", KINETO], ["ledger", "check"], ["trust", proj]]:
        for where in ([], ["--ledger", proj + "/.neurolens"]) if command[0] != "trust" else ([],):
            got = other([program] + command + where)
            if got.returncode not in (0, 1, 2, 3, 4, 5) or (got.returncode == 0 and where) or b"proj/t.json" in got.stdout:
                said.append("%s: %s %s" % (command + where, got.returncode, (got.stdout + got.stderr)[-300:]))
    tally.check("a second account reads nothing of %d files" % len(files), len(files) > 2 and not said, "\n".join(said[:8]))
    tally.check("a second account changes nothing", before == listing(place), sorted(set(before.items()) ^ set(listing(place).items()))[:6])


def leftovers():
    """gc removes what killed commands left in TMPDIR: ours, by name, old, no links, nobody else's."""
    place = folder()
    tmp, old = place + "/tmp", time.time() - 3 * 86400
    neurolens(["init", "-q", place])

    def make(name, mode=0o700, inside=("a",), when=old):
        os.makedirs(tmp + "/" + name)
        for part in inside:
            os.makedirs(os.path.dirname("%s/%s/%s" % (tmp, name, part)), exist_ok=True)
            with open("%s/%s/%s" % (tmp, name, part), "w") as file:
                file.write("x" * 100)
        for base, _, names in os.walk(tmp + "/" + name, topdown=False):
            for part in names:
                os.utime(os.path.join(base, part), (when, when))
            os.utime(base, (when, when))
        os.chmod(tmp + "/" + name, mode)
    make("neurolens-abc123")
    make("neurolens-abcdef", inside=("a", "deep/b"))
    make("neurolens-young1", when=time.time())
    make("neurolens-open99", mode=0o755)
    make("neurolens-longer-name")
    make("something-abc123")
    make("neurolens-yngins")
    os.utime(tmp + "/neurolens-yngins/a")
    os.utime(tmp + "/neurolens-yngins", (old, old))
    make("neurolens-linked", inside=())
    os.symlink(place + "/precious.txt", tmp + "/neurolens-linked/a")
    os.utime(tmp + "/neurolens-linked/a", (old, old), follow_symlinks=False)
    os.utime(tmp + "/neurolens-linked", (old, old))
    os.symlink(place, tmp + "/neurolens-symlnk")
    os.utime(tmp + "/neurolens-symlnk", (old, old), follow_symlinks=False)
    if os.geteuid() == 0:
        make("neurolens-others")
        os.chown(tmp + "/neurolens-others", OTHER, OTHER)
    there = set(os.listdir(tmp))
    dry = neurolens(["gc", "--dry-run"], cwd=place, extra={"TMPDIR": tmp})
    tally.check("gc --dry-run removes no temporary files", dry.status == 0 and set(os.listdir(tmp)) == there, dry.describe())
    os.symlink(tmp, place + "/tmp-link")
    told = set()
    for spelled in (tmp, tmp + "/", "%s//tmp/." % place, "%s/tmp/../tmp" % place, place + "/tmp-link", "tmp"):
        dry = neurolens(["gc", "--dry-run", "--format", "json"], cwd=place, extra={"TMPDIR": spelled})
        told.add(tuple(json.loads(dry.stdout)["result"][key] for key in ("temporary_removed", "temporary_removed_bytes")))
    tally.check("gc --dry-run counts each once, however TMPDIR is spelled", told == {(3, 300)}, sorted(told, key=str))
    got = neurolens(["gc"], cwd=place, extra={"TMPDIR": tmp})
    gone = there - set(os.listdir(tmp))
    tally.check("gc removes what killed commands left in TMPDIR", got.status == 0 and
                gone == {"neurolens-abc123", "neurolens-abcdef", "neurolens-linked"} and "temporary files" in got.stdout,
                "%s %s" % (gone, got.describe()))
    tally.check("gc follows no link there", whole(place) and os.path.lexists(tmp + "/neurolens-symlnk"))


def traces_of(place):
    """A cached and a kept trace file of some size, with the words that open it."""
    big = place + "/big.json"
    with open(big, "w") as file:
        file.write('{"traceEvents":[' + ",".join(
            '{"ph":"X","name":"op%d","cat":"cpu_op","pid":1,"tid":%d,"ts":%d,"dur":5}' % (i % 50, i % 4, i * 10)
            for i in range(40000)) + "]}")
    assert neurolens(["init", "-q", place]).status == 0
    return big


def shrinking():
    """A file that becomes shorter while it is mapped: a message and 4, not SIGBUS."""
    place = folder()
    big = traces_of(place)
    neurolens(["sql", "-q", big, "select 1"], cwd=place)
    cached, = glob.glob(place + "/.neurolens/cache/*.nlt")
    mapped = place + "/mapped.nlt"
    shutil.copy(cached, mapped)
    out = place + "/answer.csv"
    command = [PROGRAM, "sql", "-q", "--no-cache", mapped, "--format", "csv", "-o", out]
    child = subprocess.Popen(command, cwd=place, env=environment(scratch()), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    child.stdin.write(b"select 'first';\n")
    child.stdin.flush()

    def waits():
        """It has answered the first question, the file is mapped, and it sleeps before the next."""
        with open("/proc/%d/maps" % child.pid, encoding="utf-8") as file:
            there = mapped in file.read()
        return there and glob.glob(out + ".*") and status_of(child.pid, "State").startswith("S")
    wait_until(waits)
    os.truncate(mapped, 4096)
    try:
        _, said = child.communicate(b"select sum(dur), max(name), count(distinct parent) from slices;\n", timeout=30)
    except subprocess.TimeoutExpired:
        child.kill()
        said = b"timed out"
    tally.check("a mapped file that becomes shorter", child.returncode == 4 and b"became shorter" in said
                and mapped.encode() in said, "%s %s" % (child.returncode, said))
    tally.check("no unfinished output is left of it", not glob.glob(out + "*"), glob.glob(out + "*"))


def rot():
    """A bit of a cached trace turns: the profile is read again, and the answer is what it was."""
    place = folder()
    big = traces_of(place)
    words = ["sql", "-q", big, "select sum(ts), sum(dur), count(*), max(name), sum(parent), sum(lane) from slices", "--format",
             "csv"]
    want = neurolens(words, cwd=place)
    cached, = glob.glob(place + "/.neurolens/cache/*.nlt")
    with open(cached, "rb") as file:
        sound = file.read()
    said = []
    for at in list(range(0, len(sound), len(sound) // 40)) + [len(sound) - 5]:
        with open(cached, "wb") as file:
            file.write(sound[:at] + bytes([sound[at] ^ 4]) + sound[at + 1:])
        got = neurolens(words, cwd=place)
        if got.status != 0 or got.stdout != want.stdout:
            said.append("byte %d: %s" % (at, got.describe()[:300]))
    tally.check("a turned bit of a cached trace", want.status == 0 and not said, "\n".join(said[:5]))
    neurolens(["add", "-q", big], cwd=place)
    words[2] = "@"
    want = neurolens(words, cwd=place)
    cached = max(glob.glob(place + "/.neurolens/cache/*.nlt"), key=os.path.getmtime)
    with open(cached, "r+b") as file:
        file.seek(len(sound) // 2)
        old = file.read(1)
        file.seek(len(sound) // 2)
        file.write(bytes([old[0] ^ 1]))
    got = neurolens(words, cwd=place)
    tally.check("a turned bit of a run's cached trace", got.status == 0 and got.stdout == want.stdout, got.describe())


def odd_profiles():
    """Valid profiles that a run document could not be made of."""
    place = folder()
    for name, occupancy in (("warmup", "-1"), ("1 (warm-up)", "50"), ("99999999999999999999", "-1e308"), ("3", "1e308")):
        with open(place + "/odd.json", "w") as file:
            file.write('{"schemaVersion":1,"traceEvents":[{"ph":"X","name":"ProfilerStep#%s","cat":"user_annotation","pid":1,'
                       '"tid":1,"ts":1,"dur":9},{"ph":"X","name":"k","cat":"kernel","pid":0,"tid":7,"ts":2,"dur":1,"args":'
                       '{"device":0,"stream":7,"est. achieved occupancy %%":%s}}]}' % (name, occupancy))
        got = neurolens(["export", "-q", "odd.json", "--to", "run.json", "-o", "run.json"], cwd=place)
        checked = neurolens(["validate", "run.json"], cwd=place)
        tally.check("ProfilerStep#%s, occupancy %s" % (name, occupancy), got.status == 0 and checked.status == 0,
                    got.describe() + checked.describe())


def longest_kernels():
    """Lengths that no 64-bit number holds together stay at the largest number in exports, and never wrap."""
    place = folder()
    with open(place + "/long.json", "w") as file:
        file.write('{"schemaVersion":1,"traceEvents":[' + ",".join(
            '{"ph":"X","name":"k","cat":"kernel","pid":0,"tid":%d,"ts":0,"dur":2200000000000000,"args":{"device":0,"stream":%d}}'
            % (stream, stream) for stream in range(8)) + "]}")
    got = neurolens(["export", "-q", "long.json", "--to", "folded", "-o", "out.folded"], cwd=place)
    with open(place + "/out.folded") as file:
        weights = [int(line.rsplit(" ", 1)[1]) for line in file]
    tally.check("sums of the longest kernels in folded stacks", got.status == 0 and weights == [2 ** 63 - 1], (weights, got.describe()))
    for form in ("callgrind", "speedscope", "pprof"):
        got = neurolens(["export", "-q", "long.json", "--to", form, "-o", "out"], cwd=place)
        with open(place + "/out", "rb") as file:
            text = file.read()
        tally.check("no sum of them is negative in " + form, got.status == 0 and (form == "pprof" or b" -" not in text and b":-" not in text),
                    text[:400])


def waits_among_kernels():
    """Kernels that only wait (MTIA, Ascend) have a class of their own, which run documents must know."""
    place = folder()
    with open(place + "/wait.json", "w") as file:
        file.write('{"schemaVersion":1,"traceEvents":[' + ",".join(
            '{"ph":"X","name":"%s","cat":"kernel","pid":0,"tid":7,"ts":%d,"dur":5,"args":{"device":0,"stream":7}}' % (name, i * 10)
            for i, name in enumerate(("k", "EVENT_WAIT"))) + "]}")
    got = neurolens(["export", "-q", "wait.json", "--to", "run.json", "-o", "run.json"], cwd=place)
    checked = neurolens(["validate", "run.json"], cwd=place)
    tally.check("waits among kernels can be exported", got.status == 0 and checked.status == 0, got.describe() + checked.describe())


def outputs():
    place = folder()
    out = place + "/out.json"
    for mode in (0o600, 0o640, 0o604, 0o444):
        if os.path.exists(out):
            os.unlink(out)
        with open(out, "w") as file:
            file.write("old")
        os.chmod(out, mode)
        got = neurolens(["info", "-q", KINETO, "-o", out])
        tally.check("-o keeps mode %o" % mode, got.status == 0 and os.stat(out).st_mode & 0o777 == mode
                    and os.path.getsize(out) > 3, got.describe())
    if os.geteuid() == 0:
        os.chown(out, OTHER, OTHER)
        got = neurolens(["info", "-q", KINETO, "-o", out])
        tally.check("-o keeps the owner", os.stat(out).st_uid == OTHER)


# What moves a cursor, reorders or hides text: C1 raw and as UTF-8, overrides, ALM, soft hyphen, tags, BOM, joiners.
STEERING = ["\x1b]0;x\x07", "\x9b31m", "\u202e", "\u2066", "\u061c", "\u00ad", "\U000e0041", "\ufeff", "\u200b", "\u2060", "\u2028",
            "\u180e", "\ufffa", "\U000e0101", "\x7f", "\x08"]


def steers(text):
    return [c for c in STEERING if c in text] + (["\x1b"] if "\x1b" in text else [])


def steering_profile(place):
    path = place + "/steering.json"
    with open(path, "w") as file:
        file.write(json.dumps({"traceEvents": [{"ph": "X", "name": "k%s=1+1" % c, "cat": "kernel", "pid": 0, "tid": 7, "ts": i * 10, "dur": 5,
                                    "args": {"device": 0, "stream": 7}} for i, c in enumerate(STEERING)]}))
    return path


def on_a_terminal(words, cwd):
    """What a terminal gets, or None without pseudo-terminals."""
    import pty
    if not has_terminal():
        return None
    above, below = pty.openpty()
    child = subprocess.Popen([PROGRAM] + words, cwd=cwd, env=environment(scratch()), stdin=subprocess.DEVNULL, stdout=below,
                             stderr=below)
    os.close(below)
    got = b""
    try:
        while True:
            part = os.read(above, 65536)
            got += part
            if not part:
                break
    except OSError:
        pass
    child.wait()
    os.close(above)
    return got.decode("utf-8", "surrogateescape")


def terminals():
    place = folder()
    path = steering_profile(place)
    for form in ("text", "md"):
        got = neurolens(["sql", "-q", path, "select name from kernels", "--format", form])
        tally.check("%s holds nothing that steers" % form, got.status == 0 and not steers(got.stdout), steers(got.stdout))
    query = ["sql", "-q", path, "select name from kernels", "--format", "csv"]
    plain = neurolens(query)
    tally.check("csv in a pipe is as it is", plain.status == 0 and "\u202e" in plain.stdout and "\x1b" in plain.stdout)
    shown = on_a_terminal(query, place)
    if shown is None:
        tally.skip("csv on a terminal", "no pseudo-terminals")
    else:
        tally.check("csv on a terminal steers nothing", "=1+1" in shown and not steers(shown), steers(shown))
        everything_shown(place, path)
    for c in STEERING:
        name = place + "/" + "missing%s.json" % c
        got = neurolens(["info", name])
        tally.check("a message with %r in it" % c, got.status == 4 and got.stderr.count("\n") == 1 and not steers(got.stderr)
                    and "missing" in got.stderr, got.describe())
    done = subprocess.run([PROGRAM, "info", b"missing\x9b31m\xff.json"], env=environment(scratch()), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    tally.check("a message with bytes that are no text", b"\x9b" not in done.stderr.replace(b"\xef\xbf\xbd", b"")
                and b"\xff" not in done.stderr and b"missing" in done.stderr, done.stderr)


def everything_shown(place, path):
    """Whatever writes to a terminal: exports without -o, headings, and names of files in sentences; colours are ours and stay."""
    odd = "odd%s" % "".join(STEERING)
    shutil.copy(KINETO, place + "/" + odd + ".json")
    commands = [["export", "-q", path, "--to", form] for form in ("folded", "callgrind", "openmetrics", "chrome", "speedscope")] + [
        ["export", "-q", path, "--to", "csv", "--table", "slices"], ["sql", "-q", path, "select 1 as \"%s\"" % odd, "--color", "never"],
        ["init", odd], ["add", "-q", odd + ".json", "--ledger", "here"], ["add", odd + ".json", "--ledger", "here"], ["validate", odd + ".json"]]
    wrong = []
    for words in commands:
        shown = on_a_terminal(words, place)
        if steers(shown) or len(shown) < 10:
            wrong.append("%s: %s %r" % (words, steers(shown), shown[-200:]))
    tally.check("%d commands steer no terminal" % len(commands), not wrong, "\n".join(wrong))
    shown = on_a_terminal(["sql", "-q", path, "select name, 'grün' from kernels limit 1", "--color", "always"], place)
    tally.check("colours and letters stay", "\x1b[" in shown and "\x1b[0m" in shown and "grün" in shown, shown)


def sheets():
    place = folder()
    path = place + "/sheet.json"
    names = ["=1+1", "+cmd", "-2+3", "@SUM(1)", "\t=1", "\r=1", "plain", "a=b"]
    with open(path, "w") as file:
        file.write(json.dumps({"traceEvents": [{"ph": "X", "name": n, "cat": "cpu_op", "pid": 1, "tid": 1, "ts": i * 10, "dur": 5}
                                   for i, n in enumerate(names)]}))
    query = ["sql", "-q", path, "select name, -dur as \"=x\" from slices order by ts", "--format", "csv"]
    plain, safe = neurolens(query), neurolens(query + ["--csv-safe"])
    cells = [line.split(",") for line in safe.stdout.splitlines()]
    tally.check("csv is exact without --csv-safe", plain.status == 0 and "\n=1+1,-5000" in plain.stdout, plain.describe())
    tally.check("--csv-safe: no text is a formula", safe.status == 0 and len(cells) == len(names) + 1
                and all(line[0].lstrip('"')[:1] not in "=+-@\t\r" for line in cells) and cells[0][1] == "'=x", safe.describe())
    tally.check("--csv-safe: numbers and other texts stay", all(line[1] == "-5000" for line in cells[1:])
                and ["plain", "-5000"] in cells and ["a=b", "-5000"] in cells, safe.describe())
    rows = {}
    for extra in ([], ["--csv-safe"]):
        out = place + "/tables" + "".join(extra)
        got = neurolens(["export", "-q", path, "--to", "csv", "-o", out] + extra)
        with open(out + "/slices.csv", newline="", encoding="utf-8") as file:
            import csv
            rows[bool(extra)] = list(csv.DictReader(file))
        tally.check("export %s" % extra, got.status == 0 and len(rows[bool(extra)]) == len(names), got.describe())
    tally.check("export --csv-safe: no text is a formula, all else is as without", all(
        safe["name"] == ("'" if plain["name"][:1] in ("=", "+", "-", "@", "\t", "\r") else "") + plain["name"] and
        {k: v for k, v in safe.items() if k != "name"} == {k: v for k, v in plain.items() if k != "name"}
        for plain, safe in zip(rows[False], rows[True])) and rows[False] != rows[True], rows)
    told = neurolens(["sql", "--help"])
    tally.check("help says it", "--csv-safe" in told.stdout)


def permissions():
    """Traces are the user's alone, in the cache and as recordings, whatever the umask."""
    place = folder()
    big = traces_of(place)
    os.chmod(place + "/.neurolens", 0o755)
    neurolens(["sql", "-q", big, "select 1"], cwd=place, preexec=lambda: os.umask(0))
    cached = glob.glob(place + "/.neurolens/cache/*.nlt")
    neurolens(["analyze", "-q", big], cwd=place, preexec=lambda: os.umask(0), extra={"NEUROLENS_CACHE_WRITE": "background"})
    wait_until(lambda: not glob.glob(place + "/.neurolens/cache/*.part"))
    cached += glob.glob(place + "/.neurolens/cache/*")
    tally.check("cached traces are 0600", cached and all(os.stat(p).st_mode & 0o777 == 0o600 for p in cached), cached)
    for way in ("foreground", "background"):
        shared = place + "/shared-" + way
        neurolens(["init", "-q", "--shared", shared])
        neurolens(["sql", "-q", big, "select 1"], cwd=shared, preexec=lambda: os.umask(0o077), extra={"NEUROLENS_CACHE_WRITE": way})
        wait_until(lambda: glob.glob(shared + "/.neurolens/cache/*.nlt"))
        mine = glob.glob(shared + "/.neurolens/cache/*.nlt")
        tally.check("the group reads cached traces of a shared ledger (%s)" % way, mine and
                    all(os.stat(p).st_mode & 0o777 == 0o660 for p in mine), [(p, oct(os.stat(p).st_mode)) for p in mine])
    got = neurolens(["run", "-q", "-o", "r.nlt", "--", "true"], cwd=place, preexec=lambda: os.umask(0))
    if got.status != 0 or not os.path.exists(place + "/r.nlt"):
        tally.skip("recordings are 0600", "nothing can be recorded here")
    else:
        tally.check("recordings are 0600", os.stat(place + "/r.nlt").st_mode & 0o777 == 0o600, got.describe())


def closed_streams():
    """No file gets the number of a stream that was closed: neither messages nor a program's output are written into it."""
    place = folder()
    for way, words in (("analyze", ["analyze", "-v", "--no-cache", KINETO, "--format", "json", "-o"]),
                       ("export", ["export", "-v", "--no-cache", KINETO, "--to", "perfetto", "-o"])):
        whole_one = place + "/whole"
        neurolens(words + [whole_one], cwd=place)
        with open(whole_one, "rb") as file:
            want = file.read()
        wrong = []
        for streams in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
            out = place + "/out-%s-%s" % (way, "".join(map(str, streams)))
            got = neurolens(words + [out], cwd=place, preexec=lambda streams=streams: [os.close(stream) for stream in streams])
            with open(out, "rb") as file:
                if file.read() != want:
                    wrong.append("%s closed: %s" % (streams, got.describe()))
        tally.check("%s -o with closed streams" % way, not wrong, "\n".join(wrong))
    for stream in (1, 2):
        got = neurolens(["run", "-q", "-o", "r%d.nlt" % stream, "--", "/bin/sh", "-c", "/bin/echo x 1>&%d || echo closed > seen" % stream],
                        cwd=place, preexec=lambda stream=stream: os.close(stream))
        tally.check("a recorded program has stream %d closed, as alone" % stream, os.path.exists(place + "/seen"), got.describe())
        if os.path.exists(place + "/seen"):
            os.unlink(place + "/seen")


def file_limits():
    """A limit of file sizes ends in a message, nothing is left, and recorded programs have the signal as they had it."""
    place = folder()
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    for words in (["analyze", "-q", "--no-cache", KINETO, "-o", "a.html"], ["export", "-q", "--no-cache", KINETO, "--to", "perfetto", "-o", "a.pf"],
                  ["export", "-q", "--no-cache", KINETO, "--to", "csv", "-o", "a.csv"], ["add", "-q", KINETO, "--ledger", "ledger"]):
        before = set(os.listdir(place)) | {"ledger"}
        got = neurolens(words, cwd=place, preexec=limit)
        tally.check("%s under a limit of file sizes" % words[0], got.status in (4, 5) and "neurolens: " in got.stderr and
                    set(os.listdir(place)) <= before, "%s %s" % (os.listdir(place), got.describe()))
    got = neurolens(["run", "-q", "-o", "r.nlt", "--", "/bin/sh", "-c", "grep SigIgn /proc/self/status; grep SigCgt /proc/self/status"], cwd=place)
    alone = subprocess.run(["/bin/sh", "-c", "grep SigIgn /proc/self/status; grep SigCgt /proc/self/status"], stdout=subprocess.PIPE, check=True).stdout.decode()
    bit = 1 << (signal.SIGXFSZ - 1)
    same = [int(line.split()[1], 16) & bit for line in got.stdout.splitlines()] == [int(line.split()[1], 16) & bit for line in alone.splitlines()]
    tally.check("a recorded program is ended by the limit as alone", same, got.describe() + alone)


def main():
    wanted = sys.argv[1:]
    for part in (names_that_lead_elsewhere, digests_that_lead_elsewhere, links_inside, journals, schemas, rows,
                 other_people, second_account, leftovers, shrinking, rot, odd_profiles, longest_kernels, waits_among_kernels, outputs, terminals, sheets,
                 permissions, closed_streams, file_limits):
        if not wanted or any(word in part.__name__ for word in wanted):
            part()
    tally.finish()


if __name__ == "__main__":
    main()
