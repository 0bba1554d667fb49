#!/usr/bin/env python3
"""What a recording by `run` knows of its circumstances: planted here, found in the run document.

    tests/provenance.py              all
    tests/provenance.py WORD...      the tests whose name contains a WORD
"""
import getpass
import json
import os
import platform
import shutil
import socket
import subprocess
import sys

from harness import PROGRAM, Tally, environment, neurolens, scratch

tally = Tally("provenance")


def place(name):
    path = os.path.join(scratch(), name)
    shutil.rmtree(path, True)
    os.makedirs(path)
    return path


def git(folder, *words):
    return subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=n@example.org", *words],
                          cwd=folder, env=environment(scratch()), check=True,
                          stdout=subprocess.PIPE).stdout.decode().strip()


def document(folder, *words, extra=None, preexec=None):
    path = os.path.join(folder, "out.nlt")
    if os.path.exists(path):
        os.unlink(path)
    ran = neurolens(["run", "-q", "-o", "out.nlt", "--", *words], cwd=folder, extra=extra,
                    preexec=preexec)
    told = neurolens(["export", "out.nlt", "--to", "run.json"], cwd=folder)
    return ran, json.loads(told.stdout) if told.stdout else None


def check(name, got, wanted):
    tally.check(name, got == wanted, "got %r, want %r" % (got, wanted))


def commits():
    folder = place("git")
    git(folder, "init", "-q", "-b", "feature/x")
    with open(os.path.join(folder, "a.txt"), "w") as file:
        file.write("a")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-q", "-m", "first")
    _, told = document(folder, sys.executable, "-c", "pass")
    head = git(folder, "rev-parse", "HEAD")
    check("commit", told["run"]["git_commit"], head)
    check("branch", told["run"]["git_branch"], "feature/x")
    check("clean", told["run"]["git_dirty"], False)
    with open(os.path.join(folder, "a.txt"), "w") as file:
        file.write("other")
    git(folder, "pack-refs", "--all")
    inside = os.path.join(folder, "below")
    os.makedirs(inside)
    _, told = document(inside, sys.executable, "-c", "pass")
    check("dirty, from a folder below, packed references",
          (told["run"]["git_commit"], told["run"]["git_dirty"]), (head, True))
    git(folder, "checkout", "-q", "--detach")
    _, told = document(folder, sys.executable, "-c", "pass")
    check("a detached head has a commit and no branch",
          (told["run"]["git_commit"], told["run"]["git_branch"]), (head, None))
    git(folder, "worktree", "add", "-q", "-b", "side", "../git-side")
    _, told = document(os.path.join(scratch(), "git-side"), sys.executable, "-c", "pass")
    check("a worktree", (told["run"]["git_commit"], told["run"]["git_branch"]), (head, "side"))
    _, told = document(place("no-git"), sys.executable, "-c", "pass")
    check("no repository", (told["run"]["git_commit"], told["run"]["git_dirty"]), (None, None))


def machine():
    folder = place("machine")
    _, told = document(folder, sys.executable, "-c", "pass")
    run, hardware = told["run"], told["hardware"]
    check("working folder", run["working_folder"], os.path.realpath(folder))
    check("user", run["user"], getpass.getuser())
    check("host", hardware["host_name"], socket.gethostname())
    check("kernel", hardware["kernel"], "%s %s %s" % (platform.system(), platform.release(),
                                                      platform.machine()))
    check("processors", hardware["cpu_count"], os.cpu_count())
    check("memory", hardware["host_memory_bytes"],
          os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    check("system", hardware["os"] is not None, os.path.exists("/etc/os-release"))


def commands():
    folder = place("command")
    ran, told = document(folder, sys.executable, "-c", "import sys; sys.exit(3)", "--token",
                         "hunter2-secret", "it's")
    check("the exit status is the program's", (ran.status, told["run"]["exit_status"]), (3, 3))
    check("the command, without secrets", told["run"]["command"],
          sys.executable + " -c 'import sys; sys.exit(3)' --token (redacted) 'it'\\''s'")
    ran, told = document(folder, sys.executable, "-c", "import os; os.kill(os.getpid(), 11)")
    check("a signal", (told["run"]["exit_status"], told["run"]["exit_signal"]), (None, "SIGSEGV"))
    _, told = document(folder, sys.executable, "-c", "pass", extra={
        "SLURM_JOB_ID": "4711", "GITHUB_SERVER_URL": "https://example.org",
        "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "77", "NEUROLENS_IMAGE": "img:1",
        "KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    run = told["run"]
    check("scheduler, CI, image, container",
          (run["scheduler_job"], run["ci_url"], run["image"], run["container"]),
          ("slurm 4711", "https://example.org/a/b/actions/runs/77", "img:1", "kubernetes"))


def pythons():
    """A made-up virtual environment: the version and the packages of its folder."""
    folder = place("venv")
    for part in ("bin", "lib/python3.9/site-packages/torch-9.8.7.dist-info"):
        os.makedirs(os.path.join(folder, part))
    with open(os.path.join(folder, "pyvenv.cfg"), "w") as file:
        file.write("home = /usr/bin\nversion = 3.9.5\n")
    os.symlink(os.path.realpath(sys.executable), os.path.join(folder, "bin", "python3"))
    script = os.path.join(folder, "bin", "torchrun")
    with open(script, "w") as file:
        file.write("#!%s/bin/python3\nprint('x')\n" % folder)
    os.chmod(script, 0o755)
    _, told = document(folder, script)
    check("Python of a script's first line", told["software"]["python_version"], "3.9.5")
    found = neurolens(["sql", "out.nlt", "SELECT value FROM metadata WHERE key = 'package torch'",
                       "--format", "csv"], cwd=folder)
    check("packages beside it", found.stdout.split()[-1], "9.8.7")
    check("no framework without its operators", told["software"]["framework_version"], None)


def kept():
    """In the ledger, by its filters; and of a recording whose recorder was killed."""
    folder = place("kept")
    document(folder, sys.executable, "-c", "import sys; sys.exit(4)")
    neurolens(["add", "out.nlt", "--ledger", "led"], cwd=folder)
    rows = neurolens(["ls", "exit_status=4", "host_name=" + socket.gethostname(), "--ledger", "led",
                      "--format", "csv", "-c", "exit_status"], cwd=folder)
    check("ls finds it", rows.stdout.split(), ["run.exit_status", "4"])
    show = neurolens(["show", "@", "--ledger", "led"], cwd=folder)
    lines = [line.split() for line in show.stdout.splitlines() if "epoch" in line]
    tally.check("show tells when it started as a date", lines and lines[0][1].endswith("Z"), lines)


def outputs():
    """-o is looked at before the program runs, and nothing but a recording is replaced."""
    folder = place("outputs")
    program = [sys.executable, "-c", "open('ran', 'w').close()"]

    def run(*words):
        if os.path.exists(os.path.join(folder, "ran")):
            os.unlink(os.path.join(folder, "ran"))
        done = neurolens(["run", *words, "--", *program], cwd=folder)
        return done, os.path.exists(os.path.join(folder, "ran"))
    os.makedirs(os.path.join(folder, "there"))
    done, ran = run("-o", "there")
    tally.check("-o a folder: said before the program runs", done.status == 5 and not ran and
                "is a folder" in done.stderr, done.describe())
    with open(os.path.join(folder, "my.py"), "w") as file:
        file.write("print('precious')")
    done, ran = run("-o", "my.py")
    with open(os.path.join(folder, "my.py")) as file:
        tally.check("-o a source file: not replaced", done.status == 5 and not ran and
                    file.read() == "print('precious')", done.describe())
    done, ran = run("-o", "a.nlt")
    tally.check("the next command is said", done.status == 0 and ran and
                done.stderr.splitlines()[-1] == "neurolens: next: neurolens analyze a.nlt",
                done.describe())
    done, ran = run("-o", "a.nlt")
    tally.check("a recording is replaced", done.status == 0 and ran, done.describe())
    os.makedirs(os.path.join(folder, "b.nlt.parts"))
    done, ran = run("-o", "b.nlt")
    tally.check("parts of a killed recorder are set aside",
                done.status == 0 and ran and os.path.isdir(os.path.join(folder, "b.nlt.parts.1")) and
                "b.nlt.parts.1" in done.stderr, done.describe())
    held = subprocess.Popen([PROGRAM, "run", "-q", "-o", "e.nlt", "--", sys.executable, "-c",
                             "import time; print('on', flush=True); time.sleep(60)"], cwd=folder,
                            env=environment(scratch()), stdout=subprocess.PIPE)
    held.stdout.readline()
    done, ran = run("-o", "e.nlt")
    tally.check("parts that are being written stay", done.status == 2 and not ran and
                "is recording there" in done.stderr, done.describe())
    held.terminate()
    held.wait()
    done = neurolens(["run", "-o", "c.nlt", "--", sys.executable, "-c", "raise SystemExit(7)"],
                     cwd=folder)
    tally.check("an exit status is said", done.status == 7 and
                "the program exited with status 7" in done.stderr, done.describe())
    done = neurolens(["run", "-o", "d.nlt", "--", sys.executable, "-c",
                      "import os; os.kill(os.getpid(), 11)"], cwd=folder)
    tally.check("a signal is said", done.status == -11 and "ended by SIGSEGV" in done.stderr,
                done.describe())
    done = neurolens(["compare", "a", "b"])
    tally.check("likely words lead on", done.status == 2 and "neurolens diff" in done.stderr,
                done.describe())


TESTS = [commits, machine, commands, pythons, kept, outputs]

if not shutil.which("git"):
    tally.skip("commits", "no git")
    TESTS.remove(commits)
for test in TESTS:
    if len(sys.argv) < 2 or any(word in test.__name__ for word in sys.argv[1:]):
        test()
tally.finish()
