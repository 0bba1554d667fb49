#!/usr/bin/env python3
"""What `make install` puts beside the program: a man page that names every command and option, and
completions that the shells accept.

    tests/installed.py
"""
import os
import re
import shutil
import subprocess
import sys

from harness import PROGRAM, ROOT, Tally, neurolens

tally = Tally("installed")


def accepted(words, text):
    return subprocess.run(words, input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


page = neurolens(["completion", "man"]).stdout
commands = [name for name in re.findall(r"^  (\w+) +\S", neurolens(["help"]).stdout, re.M)
            if neurolens([name, "-h"]).status == 0]
missing = [name for name in commands if '.SS "neurolens %s"' % name not in page]
tally.check("the man page has every command", len(commands) > 15 and not missing, missing)
options = set(re.findall(r"--([a-z][a-z-]+)", neurolens(["run", "--help"]).stdout.split("Examples")[0]))
plain = page.replace("\\-", "-")
missing = sorted(name for name in options if "--" + name not in plain)
tally.check("... and every option of run", len(options) > 15 and not missing, missing)
if shutil.which("groff"):
    done = accepted(["groff", "-K", "utf8", "-man", "-Tutf8", "-ww"], page)
    tally.check("groff takes it without a warning", done.returncode == 0 and not done.stderr,
                done.stderr.decode()[:500])
else:
    tally.skip("groff takes it", "no groff")
for shell in ("bash", "zsh", "fish"):
    if not shutil.which(shell):
        tally.skip("%s takes its completion" % shell, "no " + shell)
        continue
    done = accepted([shell, "-n"], neurolens(["completion", shell]).stdout)
    tally.check("%s takes its completion" % shell, done.returncode == 0, done.stderr.decode()[:500])
build = os.path.dirname(PROGRAM)
if shutil.which("meson") and os.path.exists(os.path.join(build, "meson-info")):
    listed = subprocess.run(["meson", "introspect", "--installed", build], cwd=ROOT,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
    for path in ("man/man1/neurolens.1", "bash-completion/completions/neurolens",
                 "site-functions/_neurolens", "vendor_completions.d/neurolens.fish",
                 "neurolens/libneurolens-capture.so", "cmake/neurolens/neurolens-config.cmake", "cmake/neurolens/neurolens-config-version.cmake"):
        tally.check("installed: " + path, path in listed, listed[-600:])
else:
    tally.skip("installed files", "no meson here")
tally.finish()
