"""For tests of what records inside a program: the recording library, a stand-in for a driver's library and a program that uses
it, compiled plainly or to watch for data races (ThreadSanitizer); the recorder as it is."""
import os
import re
import shutil
import subprocess

from harness import PROGRAM, ROOT, TESTS, scratch


def compiler():
    return os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")


def build(mock, app):
    """Compiles the two, each (source in tests/record, path of the result); False when there is no compiler."""
    if not compiler():
        return False
    sources = os.path.join(TESTS, "record")
    flags = ["-O2", "-Wall", "-Wextra", "-I", os.path.join(ROOT, "src"), "-I", sources]
    for (source, path), more in ((mock, ["-shared", "-fPIC", "-fvisibility=hidden"]), (app, [])):
        subprocess.run([compiler()] + flags + more + ["-o", path, os.path.join(sources, source), "-lpthread", "-ldl"], check=True)
    return True


def can_watch():
    """Some systems have no room in the address space for it, or no library."""
    watched = os.path.join(scratch(), "watched")
    done = subprocess.run([compiler(), "-fsanitize=thread", "-x", "c", "-o", watched, "-"],
                          input=b"int main(void) { return 0; }", stderr=subprocess.DEVNULL)
    return done.returncode == 0 and subprocess.run([watched], stderr=subprocess.DEVNULL).returncode == 0


def watch(mock, app, words, **variables):
    """Records APP LIBRARY FILE WORDS…; what is wrong, or None. `{mock}` in variables is the stand-in's path."""
    folder = os.path.join(scratch(), "tsan")
    capture, sources = os.path.join(ROOT, "src", "capture"), os.path.join(TESTS, "record")
    with open(os.path.join(capture, "meson.build")) as file:
        lists = re.findall(r"^(?:agent|shared)_sources = files\((.*?)\)", file.read(), re.M | re.S)
    agent = [os.path.join(capture, name) for text in lists for name in re.findall(r"'([^']+)'", text)]
    os.mkdir(folder)
    shutil.copy(PROGRAM, os.path.join(folder, "neurolens"))
    flags = [compiler(), "-g", "-O1", "-fsanitize=thread", "-std=gnu17", "-I", os.path.join(ROOT, "src"), "-I", sources,
             "-I", os.path.join(ROOT, "include"), '-DNL_VERSION="0"']
    library = ["-shared", "-fPIC", "-fvisibility=hidden"]
    ends = ["-Wl,-init,nl_capture_loaded", "-Wl,-fini,nl_capture_unloaded", "-Wl,-z,nodelete", "-lpthread", "-ldl"]
    stand_in = os.path.join(folder, "mock.so")
    for more in (library + ["-o", os.path.join(folder, "libneurolens-capture.so")] + agent +
                 [os.path.join(ROOT, "src", "base", "err.c")] + ends,
                 library + ["-o", stand_in, os.path.join(sources, mock), "-lpthread", "-ldl"],
                 ["-o", os.path.join(folder, "app"), os.path.join(sources, app), "-lpthread", "-ldl"]):
        if subprocess.run(flags + more, stderr=subprocess.DEVNULL).returncode:
            return "cannot be compiled"
    variables = {name: value.format(mock=stand_in) for name, value in variables.items()}
    done = subprocess.run([os.path.join(folder, "neurolens"), "run", "-o", os.path.join(folder, "t.nlt"), "--",
                           os.path.join(folder, "app"), stand_in, os.path.join(folder, "truth")] + words,
                          stderr=subprocess.PIPE, timeout=120, env=dict(os.environ, TSAN_OPTIONS="exitcode=66", **variables))
    said = done.stderr.decode(errors="replace")
    return None if done.returncode == 0 and "ThreadSanitizer" not in said else said[-3000:] or "status %d" % done.returncode
