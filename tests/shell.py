#!/usr/bin/env python3
"""The SQL shell as a person meets it: on a terminal, with keys."""
import os
import pty
import re
import select
import stat
import subprocess
import time

from harness import FIXTURES, PROGRAM, Tally, environment, least, scratch

PROFILE = os.path.join(FIXTURES, "ort_cpu_mlp.json.gz")
SETTLE_S = 0.2  # from the prompt until the line editor has the terminal
tally = Tally("shell")


class Terminal:
    """The program on a pseudo-terminal; expect() waits for a text to appear."""

    def __init__(self):
        master, slave = pty.openpty()
        env = environment(scratch())
        env.update(TERM="xterm", NO_COLOR="1")
        self.process = subprocess.Popen([PROGRAM, "sql", "--no-cache", PROFILE], env=env,
                                        stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True,
                                        preexec_fn=lambda: self.control(slave))
        os.close(slave)
        self.master = master
        self.seen = ""
        self.log = ""

    @staticmethod
    def control(slave):
        import fcntl
        import termios
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    def type(self, keys):
        time.sleep(SETTLE_S)
        os.write(self.master, keys.encode())

    def expect(self, pattern, seconds=30):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.seen):
            ready, _, _ = select.select([self.master], [], [], 0.1)
            if ready:
                try:
                    part = os.read(self.master, 65536).decode("utf-8", "replace")
                except OSError:
                    part = ""
                if not part:
                    break
                self.seen += part
                self.log += part
            elif time.monotonic() > end:
                break
        match = re.search(pattern, self.seen)
        if match:
            self.seen = self.seen[match.end():]
        return match is not None

    def leave(self, seconds=30):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None


def check(name, terminal, good):
    tally.check(name, good, repr(terminal.log[-600:]))


def main():
    try:
        shell = Terminal()
    except OSError as missing:
        tally.skip("all", "no pseudo-terminal here (%s)" % missing)
        tally.finish()
    check("greets and prompts", shell, shell.expect(r"\.help\r\n.*neurolens> "))
    shell.type("SELECT count(*)\r")
    check("waits for the semicolon", shell, shell.expect(r"\.\.\.> "))
    shell.type("FROM slices;\r")
    check("answers", shell, shell.expect(r"\b122\b") and shell.expect("neurolens> "))
    shell.type("SELECT nonsense\x03")
    check("Ctrl-C drops the line", shell, shell.expect(r"\^C") and shell.expect("neurolens> "))
    shell.type("SELECT count(*) FROM coll\t")
    check("Tab completes", shell, shell.expect("ectives"))
    shell.type(";\r")
    check("the completed statement runs", shell, shell.expect(r"\b0\b") and
          shell.expect("neurolens> "))
    shell.type("SELECT wrong FROM slices;\r")
    check("an error is told and survived", shell, shell.expect("no such column: wrong") and
          shell.expect("neurolens> "))
    told = []

    def took():
        """Seconds until a statement without an end has stopped."""
        shell.type("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
                   "SELECT sum(x) FROM c;\r")
        time.sleep(0.5)
        shell.type("\x03")
        start = time.monotonic()
        told.append(shell.expect("stopped"))
        end = time.monotonic()
        told.append(shell.expect("neurolens> "))
        return end - start
    soonest = least(took, 2, 3)
    check("Ctrl-C stops a statement, not the shell", shell, soonest < 2 and all(told))
    shell.type(".format csv\rSELECT 6 * 7 AS answer;\r")
    check(".format", shell, shell.expect(r"answer\r\n42\r\n"))
    shell.type(".quit\r")
    check(".quit ends it with 0", shell, shell.leave() == 0)
    history = os.path.join(scratch(), ".local", "state", "neurolens", "history")
    good = os.path.exists(history) and stat.S_IMODE(os.stat(history).st_mode) == 0o600
    check("history is kept, for its owner only", shell, good)
    shell = Terminal()
    shell.expect("neurolens> ")
    shell.type("\x04")
    check("Ctrl-D ends it with 0", shell, shell.leave() == 0)
    tally.finish()


main()
