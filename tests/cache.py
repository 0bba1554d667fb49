#!/usr/bin/env python3
"""The cache of imported profiles: the same answers with and without it, two imports at once, an
import killed at any moment, a damaged cache file, a bounded size. Likewise for the reports that are
kept beside a large trace."""
import fcntl
import gzip
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time

from harness import FIXTURES, PROGRAM, ROOT, Tally, environment, neurolens, scratch

tally = Tally("cache")
QUESTION = "SELECT count(*), sum(dur), min(ts), count(DISTINCT name) FROM slices"


def unpacked():
    """A profile large enough to be cached, as its own file."""
    path = os.path.join(scratch(), "profile.json")
    with gzip.open(os.path.join(FIXTURES, "torch_cpu_train.json.gz")) as packed:
        text = packed.read()
    with open(path, "wb") as file:
        file.write(text)
    return path


def ledger(name):
    path = os.path.join(scratch(), name)
    os.makedirs(path, exist_ok=True)
    return path


def cached(folder):
    cache = os.path.join(folder, "cache")
    return sorted(os.listdir(cache)) if os.path.isdir(cache) else []


def ask(profile, folder, *options):
    return neurolens(["sql", profile, QUESTION, "--format", "csv", "--ledger", folder, *options])


def start(profile, folder):
    env = environment(scratch())
    return subprocess.Popen([PROGRAM, "sql", profile, QUESTION, "--format", "csv",
                             "--ledger", folder], env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


def same_answers(profile, truth):
    folder = ledger("same")
    first, second = ask(profile, folder), ask(profile, folder)
    tally.check("first and second look agree",
                first.stdout == truth and second.stdout == truth, first.describe())
    tally.check("one file is kept", len(cached(folder)) == 1, cached(folder))
    os.utime(profile)
    tally.check("a changed file is read again",
                ask(profile, folder).stdout == truth and len(cached(folder)) == 2, cached(folder))


def at_once(profile, truth):
    folder = ledger("race")
    for round_ in range(5):
        runs = [start(profile, folder) for _ in range(4)]
        answers = [run.communicate(timeout=60)[0].decode() for run in runs]
        if not tally.check("four imports at once, round %d" % round_,
                           answers == [truth] * 4 and len(cached(folder)) == 1,
                           "%r %r" % (answers, cached(folder))):
            return
        for name in cached(folder):
            os.unlink(os.path.join(folder, "cache", name))


def killed(profile, truth):
    folder = ledger("killed")
    rng = random.Random(7)
    for _ in range(40):
        run = start(profile, folder)
        time.sleep(rng.uniform(0, 0.06))
        run.send_signal(signal.SIGKILL)
        run.communicate()
    whole = [name for name in cached(folder) if name.endswith(".nlt")]
    result = ask(profile, folder)
    tally.check("40 imports killed at random moments leave no wrong answer",
                result.stdout == truth and len(whole) <= 1, result.describe())


def damaged(profile, truth):
    folder = ledger("damaged")
    ask(profile, folder)
    path = os.path.join(folder, "cache", cached(folder)[0])
    with open(path, "rb") as file:
        good = file.read()
    for name, bad in (("cut in the middle", good[:len(good) // 2]), ("empty", b""),
                      ("of another version", good[:8] + b"\xff" + good[9:]),
                      ("no trace file", b"x" * len(good))):
        with open(path, "wb") as file:
            file.write(bad)
        result = ask(profile, folder)
        tally.check("a cache file that is %s is made again" % name,
                    result.stdout == truth and os.path.getsize(path) == len(good),
                    result.describe())


def bounded(profile):
    folder = ledger("bounded")
    for second in range(6):
        os.utime(profile, (1_700_000_000 + second,) * 2)
        ask(profile, folder)
    size = os.path.getsize(os.path.join(folder, "cache", cached(folder)[0]))
    before = len(cached(folder))
    result = neurolens(["gc", "--ledger", folder, "--max", str(size * 2 + 100)])
    tally.check("gc keeps what fits, the newest", before == 6 and len(cached(folder)) == 2,
                result.describe())


# Words of analyze, window, and whether the answer is another one than those before: limits cut what is
# kept, views of numbers share theirs, those for eyes the folded one; the short page has its own, with fewer tables. --all has findings that are not printed, too.
REPORTS = (([], "", True), (["--limit", "2"], "", False), (["--format", "md"], "", True),
           (["--all"], "", True), (["--format", "json"], "", True),
           (["--format", "json", "--limit", "3"], "", False), (["--format", "csv"], "", False),
           (["--format", "csv", "--section", "ops"], "", True), (["--section", "findings"], "", True),
           (["--format", "json"], "[0.1s:0.9s]", True), ([], "[0.1s:0.9s]", True),
           (["--format", "json"], "[:0.5s]", True), (["--format", "json"], "[step=1:5]", True))


def large(name):
    """A profile whose trace is large enough for its reports to be kept."""
    path = os.path.join(scratch(), name)
    subprocess.run([sys.executable, os.path.join(ROOT, "tools", "scale_chrome.py"),
                    os.path.join(FIXTURES, "torch_cpu_train.json.gz"), path, "40"], check=True,
                   stdout=subprocess.DEVNULL)
    return path


def report(profile, folder, *options):
    return neurolens(["analyze", profile, "-v", "--ledger", folder, *options])


def is_kept(result):
    return "report is from the cache" in result.stderr


def kept(folder):
    return [name for name in cached(folder) if name.endswith(".nla")]


def same_reports(profile):
    folder, answers = ledger("reports"), 0
    for words, window, new in REPORTS:
        what = " ".join(words + [window]).strip() or "plain"
        truth = report(profile + window, folder, "--no-cache", *words)
        first, second = (report(profile + window, folder, *words) for _ in range(2))
        answers += new
        tally.check("report %s: computed, then kept, all bytes equal" % what,
                    truth.status == 0 and truth.stdout == first.stdout == second.stdout,
                    second.describe())
        tally.check("report %s: from where" % what,
                    [is_kept(run) for run in (truth, first, second)] == [False, not new, True] and
                    len(kept(folder)) == answers, "%d files\n%s" % (answers, kept(folder)))
    info = [neurolens(["info", profile, "-v", "--ledger", folder]) for _ in range(2)]
    tally.check("info is kept too", is_kept(info[1]) and info[0].stdout == info[1].stdout,
                info[1].describe())


def page_of_the_whole(profile):
    folder = ledger("whole first")
    truth = report(profile, folder, "--no-cache")
    whole, page = report(profile, folder, "--full"), report(profile, folder)
    tally.check("a kept whole report gives the short page, too",
                not is_kept(whole) and is_kept(page) and page.stdout == truth.stdout and
                len(kept(folder)) == 1 and len(whole.stdout) > len(page.stdout), page.describe())


def changed_source(profile):
    folder, path = ledger("changed"), os.path.join(scratch(), "changed.json")
    shutil.copyfile(profile, path)
    before = report(path, folder)
    with open(path, "r+b") as file:
        text = file.read()
        file.seek(0)
        file.write(text.replace(b'"aten::addmm"', b'"aten::hmmmm"'))
    truth, after = report(path, folder, "--no-cache"), report(path, folder)
    tally.check("a report of a changed file is a new one",
                not is_kept(after) and truth.stdout == after.stdout != before.stdout,
                after.describe())


def damaged_reports(profile):
    folder = ledger("damaged reports")
    truth = report(profile, folder).stdout
    first = kept(folder)
    report(profile, folder, "--format", "json")
    names = first + [name for name in kept(folder) if name not in first]
    paths = [os.path.join(folder, "cache", name) for name in names]
    with open(paths[0], "rb") as file:
        good = file.read()
    with open(paths[1], "rb") as file:
        foreign = file.read()
    flipped = bytes([good[len(good) // 2] ^ 4])
    for name, bad in (("cut", good[:-1]), ("empty", b""), ("longer", good + b"x"),
                      ("of another question", foreign), ("of zeros", b"\0" * len(good)),
                      ("wrong in a bit",
                       good[:len(good) // 2] + flipped + good[len(good) // 2 + 1:])):
        with open(paths[0], "wb") as file:
            file.write(bad)
        words = (), ("--format", "json")
        runs = [report(profile, folder, *word) for word in words for _ in range(2)]
        with open(paths[0], "rb") as file:
            tally.check("a kept report that is %s is made again" % name,
                        runs[0].stdout == runs[1].stdout == truth and file.read() == good and
                        sorted(is_kept(run) for run in runs) == [False, True, True, True],
                        runs[0].describe())


def trace_of(folder):
    return os.path.join(folder, "cache", [name for name in cached(folder) if name.endswith(".nlt")][0])


def only_the_report_is_read(profile):
    """A kept report is the answer whatever became of its trace; where there is none, the trace is checked."""
    folder = ledger("report alone")
    truth, whole = report(profile, folder).stdout, report(profile, folder, "--format", "json").stdout
    path = trace_of(folder)
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        middle = file.read(4096)
        file.seek(os.path.getsize(path) // 2)
        file.write(bytes(255 - byte for byte in middle))
    text, numbers = report(profile, folder), report(profile, folder, "--format", "json")
    tally.check("nothing of the trace is read for a kept report", is_kept(text) and is_kept(numbers) and
                (text.stdout, numbers.stdout) == (truth, whole), text.describe())
    window = profile + "[step=1:5]"
    told = report(window, folder, "--no-cache").stdout
    other = report(window, folder)
    tally.check("a trace that is damaged is loaded again for another question",
                other.stdout == told and not is_kept(other), other.describe())
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        tally.check("and cached again, whole", file.read(4096) == middle)
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        file.write(bytes(255 - byte for byte in middle))
    other = report(profile, folder, "--section", "kernels", "--format", "csv")
    told = report(profile, folder, "--section", "kernels", "--format", "csv", "--no-cache")
    tally.check("also for one without a window", other.status == 0 and other.stdout == told.stdout, other.describe())


def reports_at_once(profile):
    folder = ledger("reports at once")
    env = environment(scratch())
    words = [PROGRAM, "analyze", profile, "--ledger", folder]
    runs = [subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             stdin=subprocess.DEVNULL) for _ in range(4)]
    answers = {run.communicate(timeout=60)[0].decode() for run in runs}
    last = report(profile, folder)
    tally.check("four reports at once", answers == {last.stdout} and is_kept(last) and
                len(cached(folder)) == 2, cached(folder))


def swept_reports(profile):
    folder = ledger("swept")
    report(profile, folder)
    report(profile, folder, "--format", "json")
    cache = os.path.join(folder, "cache")
    trace = [name for name in cached(folder) if name.endswith(".nlt")][0]
    for name in kept(folder):  # used later than their trace, they go first nevertheless
        os.utime(os.path.join(cache, name), (2_000_000_000,) * 2)
    for name in (trace[:16] + "-0123456789abcdef.nla.AbCdEf", "0123456789abcdef-x.nla"):
        open(os.path.join(cache, name), "wb").close()
    orphan = "0" * 16 + "-" + "1" * 16 + ".nla"
    open(os.path.join(cache, orphan), "wb").close()
    size = os.path.getsize(os.path.join(cache, trace))
    dry = neurolens(["gc", "--ledger", folder, "--max", "100G", "--dry-run"])
    tally.check("gc --dry-run counts an answer whose trace is gone",
                "would remove 1," in dry.stdout and orphan in cached(folder), dry.describe())
    neurolens(["gc", "--ledger", folder, "--max", "100G"])
    tally.check("gc removes it", orphan not in cached(folder) and len(kept(folder)) == 3,
                cached(folder))
    neurolens(["gc", "--ledger", folder, "--max", str(size + 100)])
    tally.check("reports go before their trace", trace in cached(folder) and
                kept(folder) == ["0123456789abcdef-x.nla"], cached(folder))
    report(profile, folder)
    neurolens(["gc", "--ledger", folder, "--all"])
    tally.check("gc --all leaves only what is not the cache's, and who may still write",
                len(cached(folder)) == 2 and trace not in cached(folder), cached(folder))


LATER = {"NEUROLENS_CACHE_WRITE": "background"}


def ask_later(profile, folder, **more):
    return neurolens(["sql", profile, QUESTION, "--format", "csv", "--ledger", folder], extra=LATER, **more)


def settled(folder, count=1, seconds=20):
    """Waits until the folder holds so many files and no unfinished one."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        names = cached(folder)
        if len(names) == count and all(name.endswith((".nlt", ".nla")) for name in names):
            return True
        time.sleep(0.005)
    return False


def writers(folder):
    """Processes that write to this ledger: its path is in their command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if words[0] == PROGRAM.encode() and folder.encode() in words:
            found.append(int(pid))
    return found


def number_of(path):
    return os.stat(path).st_ino


def behind(profile, truth):
    """The cache is written after the answer, by a process of its own."""
    folder = ledger("behind")
    first = ask_later(profile, folder)
    tally.check("written behind the answer", first.stdout == truth and settled(folder), cached(folder))
    path = os.path.join(folder, "cache", cached(folder)[0])
    inode = number_of(path)
    again = ask_later(profile, folder)
    tally.check("and read by the next command", again.stdout == truth and settled(folder) and number_of(path) == inode,
                again.describe())
    with open(path, "rb") as file:
        whole = file.read()
    there = ledger("before")
    ask(profile, there)
    with open(os.path.join(there, "cache", cached(there)[0]), "rb") as file:
        tally.check("the same bytes as written before it", file.read() == whole)
    waiting(profile, truth, folder, path, whole)
    left_behind(profile, truth, folder, path, whole)


def waiting(profile, truth, folder, path, whole):
    """This script is the writer; the program waits for it, but not for one that does nothing."""
    os.unlink(path)
    with open(path + ".part", "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        run = start(profile, folder)
        for at in range(0, len(whole), len(whole) // 20 + 1):
            file.write(whole[at:at + len(whole) // 20 + 1])
            file.flush()
            time.sleep(0.005)
        os.rename(path + ".part", path)
        inode = number_of(path)
    answer = run.communicate(timeout=60)[0].decode()
    tally.check("a second command waits for the writer", answer == truth and number_of(path) == inode and
                len(cached(folder)) == 1, cached(folder))
    os.unlink(path)
    with open(path + ".part", "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        idle = ask_later(profile, folder)
        tally.check("not for one that does nothing, whose file it leaves alone", idle.stdout == truth and
                    cached(folder) == [os.path.basename(path) + ".part"] and not writers(folder), cached(folder))
        run = start(profile, folder)
        time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        tally.check("Ctrl-C ends waiting", run.wait(timeout=20) in (130, 0, -signal.SIGINT), run.returncode)
        run.communicate()


def left_behind(profile, truth, folder, path, whole):
    for name, old in (("shorter", b"x" * 100), ("longer", b"x" * (len(whole) + 9)), ("whole but unnamed", whole)):
        for file in cached(folder):
            os.unlink(os.path.join(folder, "cache", file))
        with open(path + ".part", "wb") as file:
            file.write(old)
        result = ask_later(profile, folder)
        good = settled(folder)
        with open(path, "rb") as file:
            tally.check("the unfinished file of a dead writer is taken over (%s)" % name,
                        result.stdout == truth and good and file.read() == whole, cached(folder))


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


def writer_fails(profile, truth):
    folder = ledger("no room")
    result = ask_later(profile, folder, preexec=limited)
    until = time.monotonic() + 20
    while time.monotonic() < until and (writers(folder) or cached(folder)):
        time.sleep(0.005)
    tally.check("a writer without room leaves nothing", result.stdout == truth and not cached(folder) and
                not writers(folder), "%s %s" % (cached(folder), result.describe()))


def crowded():
    """One processor, shared with a busy process, for a child of low priority: it takes its time."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def writer_killed(profile):
    """A writer that is slow: who reads the output does not wait; killed, it leaves nothing wrong."""
    folder = ledger("slow")
    truth = report(profile, folder, "--no-cache").stdout
    words = [PROGRAM, "analyze", profile, "--ledger", folder]
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=crowded)
    seen = {"alive": 0, signal.SIGTERM: 0, signal.SIGKILL: 0}
    wrong = []
    try:
        for number in range(10):
            end = (signal.SIGTERM, signal.SIGKILL)[number % 2]
            run = subprocess.run(words, env=dict(environment(scratch()), **LATER), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=crowded, timeout=60)
            left = writers(folder)  # the output has ended, they have not
            seen["alive"] += len(left)
            for pid in left:
                try:
                    held = {os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)}
                    os.kill(pid, end)
                    seen[end] += 1
                except OSError:
                    continue
                if any(name.startswith(("pipe:", "socket:")) for name in held):
                    wrong.append("holds %s" % held)
            while writers(folder):
                time.sleep(0.005)
            parts = [name for name in cached(folder) if name.endswith(".part")]
            if run.stdout.decode() != truth or (parts and end == signal.SIGTERM and left):
                wrong.append("%s %s" % (end, cached(folder)))
            for name in cached(folder):
                if not name.endswith(".part"):
                    os.unlink(os.path.join(folder, "cache", name))
    finally:
        busy.kill()
        busy.wait()
    print("# seen: %s" % seen)
    tally.check("output ends before the writer, which holds none of it; killed, it leaves nothing wrong", not wrong, wrong[:5])
    after = neurolens(words[1:], extra=LATER)
    tally.check("the command after them keeps trace and report", after.stdout == truth and settled(folder, 2), cached(folder))
    sizes = {name[-4:]: os.path.getsize(os.path.join(folder, "cache", name)) for name in cached(folder)}
    tally.check("both are whole", is_kept(report(profile, folder)) and sizes[".nlt"] > 1 << 20, sizes)


def main():
    profile = unpacked()
    truth = ask(profile, ledger("none"), "--no-cache").stdout
    same_answers(profile, truth)
    at_once(profile, truth)
    killed(profile, truth)
    damaged(profile, truth)
    behind(profile, truth)
    writer_fails(profile, truth)
    bounded(profile)
    profile = large("large.json")
    writer_killed(profile)
    same_reports(profile)
    page_of_the_whole(profile)
    changed_source(profile)
    damaged_reports(profile)
    only_the_report_is_read(profile)
    reports_at_once(profile)
    swept_reports(profile)
    tally.finish()


main()
