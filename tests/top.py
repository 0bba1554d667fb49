#!/usr/bin/env python3
"""`neurolens top` on a terminal that is only a screen (vt.py), with GPUs of a library made for the test, on a /proc and a
/sys made for the test. Screens are compared with tests/screen/NAME; --accept writes them anew."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

from harness import PROGRAM, ROOT, TESTS, Tally, environment, has_terminal, least, neurolens, scratch
from vt import Screen

SCREENS = os.path.join(TESTS, "screen")
ACCEPT = "--accept" in sys.argv
PLOT = re.compile(" *[\u2581-\u2588]+| +[_*#]+(?= |$)", re.M)
tally = Tally("top")


def path(*names):
    return os.path.join(scratch(), *names)


def write(name, text):
    name = path(name)
    os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


def process(pid, name, words, resident_mib, threads=1):
    stat = "%d (%s) S 1 1 1 0 -1 0 10 0 1 0 250 50 0 0 20 0 %d 0 1000 1000000 %d" % (
        pid, name, threads, resident_mib << 20 >> 12)
    write("root/proc/%d/stat" % pid, stat + " 0" * 28 + "\n")
    write("root/proc/%d/cmdline" % pid, "".join(word + "\0" for word in words))


def make_root():
    write("root/proc/loadavg", "1.25 1.00 0.75 2/345 9999\n")
    write("root/proc/meminfo", "MemTotal:       65536000 kB\nMemFree:        1000 kB\nMemAvailable:   32768000 kB\n")
    write("root/proc/stat", "cpu  1000 0 500 8000 500 0 0 0 0 0\n" +
          "".join("cpu%d 250 0 125 2000 125 0 0 0 0 0\n" % i for i in range(4)) + "intr 0\n")
    process(4242, "python", ["python", "train.py", "--api-key", "sekret123", "--url=https://me:word@host/x"], 9000, 64)
    process(77, "a) b (c", ["./a) b (c", "\x1b[31mred\x07", "caf\u00e9 \u4e2d"], 50)
    process(2, "kthreadd", [], 0)
    for pid in range(100, 130):
        process(pid, "worker", ["worker", str(pid)], pid)
    write("amd/sys/class/drm/card1/device/vendor", "0x1002\n")
    for name, text in (("device", "0x74a1\n"), ("product_name", "Made-up Instinct\n"), ("gpu_busy_percent", "55\n"),
                       ("mem_info_vram_used", "%d\n" % (192 << 30)), ("mem_info_vram_total", "%d\n" % (192 << 30)),
                       ("hwmon/hwmon3/power1_average", "600000000\n"), ("hwmon/hwmon3/power1_cap", "750000000\n"),
                       ("hwmon/hwmon3/temp1_input", "61000\n"), ("hwmon/hwmon3/freq1_input", "2100000000\n"),
                       ("unique_id", "abcdef\n"), ("mem_busy_percent", "not a number\n")):
        write("amd/sys/class/drm/card1/device/" + name, text)
    write("amd/sys/class/drm/card0/device/vendor", "0x8086\n")
    write("amd/sys/class/drm/card1-DP-1/device/vendor", "0x1002\n")
    shutil.copytree(path("root", "proc"), path("amd", "proc"))


def make_mocks():
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return False
    source = os.path.join(TESTS, "record", "nvmlmock.c")
    for name, flags in (("nvml.so", []), ("old.so", ["-DOLD"])):
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", path(name), source] + flags, check=True)
    write("garbage.so", "no library\n")
    return True


def settings(mock="", library="nvml.so", root="root", **more):
    values = {"NEUROLENS_NVML": path(library), "NVML_MOCK": mock, "NEUROLENS_ROOT": path(root)}
    values.update(more)
    return values


# ---- on a terminal ----

class Live:
    """A running top; .screen is what its terminal shows."""

    def __init__(self, rows, columns, words=(), term="xterm-256color", **more):
        self.screen = Screen(rows, columns)
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            values = environment(scratch())
            values.pop("COLUMNS")  # the size is that of the terminal
            values.update(TERM=term, LC_ALL="C.UTF-8")
            values.update(settings(**more))
            time.sleep(0.05)       # the size is set by then
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, and would stay so
            os.execve(PROGRAM, [PROGRAM, "top", "--interval", "100ms"] + list(words), values)
        self.size(rows, columns)
        self.status = None
        self.raw = b""

    def size(self, rows, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, rows, columns):
        self.read(0.3)
        self.screen.resize(rows, columns)
        self.size(rows, columns)

    def read(self, seconds):
        until = time.time() + seconds
        while time.time() < until:
            ready, _, _ = select.select([self.terminal], [], [], 0.05)
            if not ready:
                continue
            try:
                data = os.read(self.terminal, 65536)
            except OSError:
                return False
            if not data:
                return False
            self.raw += data
            cut = len(self.raw)
            while cut and self.raw[cut - 1] & 0xc0 == 0x80:
                cut -= 1
            if cut and self.raw[cut - 1] >= 0xc0:
                need = 2 if self.raw[cut - 1] < 0xe0 else 3 if self.raw[cut - 1] < 0xf0 else 4
                cut = cut - 1 if len(self.raw) - cut + 1 < need else len(self.raw)
            else:
                cut = len(self.raw)
            self.screen.feed(self.raw[:cut].decode("utf-8"))
            self.raw = self.raw[cut:]
        return True

    def wait_until(self, holds, seconds=30):
        """Reads until what is on the screen holds; whether it came to that. A busy machine draws late, a wrong screen stays wrong."""
        until = time.time() + seconds
        while time.time() < until:
            alive = self.read(0.25)
            if holds():
                return True
            if not alive:
                break
        return False

    def wait_for(self, *words, seconds=30):
        """Reads until all words are on the screen, and the screen is whole."""
        if not self.wait_until(lambda: all(word in self.screen.text() for word in words), seconds):
            raise AssertionError("%r is not on the screen:\n%s" % (words, self.screen.text()))

    def press(self, keys):
        os.write(self.terminal, keys.encode())

    def end(self, seconds=30):
        until = time.time() + seconds
        while time.time() < until:
            self.read(0.1)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read(0.2)
                os.close(self.terminal)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)
        raise AssertionError("it does not end")

    def quit(self):
        self.press("q")
        status = self.end()
        if status != 0 or self.screen.alternate or not self.screen.cursor_shown:
            raise AssertionError("left with status %s, the terminal's own screen %s, cursor %s" % (
                status, not self.screen.alternate, self.screen.cursor_shown))


def still(text):
    """Plots grow with time: one mark each."""
    return PLOT.sub(" ~", text)


def wanted(name):
    with open(os.path.join(SCREENS, name), encoding="utf-8") as file:
        return file.read()


def same(name, text):
    expected = os.path.join(SCREENS, name)
    if ACCEPT:
        os.makedirs(SCREENS, exist_ok=True)
        with open(expected, "w", encoding="utf-8") as file:
            file.write(text)
        return None
    return None if text == wanted(name) else "screen %s\n--- wanted\n%s--- got\n%s" % (name, wanted(name), text)


def check(name, test, *words, **more):
    try:
        problem = test(*words, **more)
    except (AssertionError, OSError, ValueError, KeyError, subprocess.SubprocessError) as wrong:
        problem = "%s: %s" % (type(wrong).__name__, wrong)
    tally.check(name, not problem, problem or "")


def golden(name, rows, columns, waits, keys="", **more):
    live = Live(rows, columns, **more)
    live.wait_for(*waits)
    live.press(keys)
    live.read(0.8)
    live.wait_until(lambda: ACCEPT or still(live.screen.text()) == wanted(name))
    text = still(live.screen.text())
    live.quit()
    if any(len(line) > columns for line in text.splitlines()):
        return "a line is too long"
    return same(name, text)


def resizing():
    live = Live(24, 80)
    live.wait_for("93%", "idle")
    for rows, columns in ((50, 132), (10, 40), (1, 1), (2, 300), (100, 300), (24, 80)):
        live.resize(rows, columns)
        live.read(0.8)
    live.wait_until(lambda: ACCEPT or still(live.screen.text()) == wanted("80x24"))
    text = still(live.screen.text())
    live.quit()
    return same("80x24", text)


def colours():
    live = Live(24, 80, mock="hot")
    live.wait_for("HOT")
    with_colour = live.screen.colours
    live.quit()
    counts = []
    for words, more in ((["--color", "never"], {}), ([], {"NO_COLOR": "1"}), ([], {"term": "vt100"})):
        live = Live(24, 80, words, mock="hot", **more)
        live.wait_for("HOT", "POWER CAP", "MEMORY FULL")
        counts.append(live.screen.colours)
        live.quit()
    return None if with_colour and counts == [0, 0, 0] else "colours %d, without %s" % (with_colour, counts)


def keys():
    live = Live(24, 80)
    live.wait_for("93%", "train.py")
    live.press("i")
    live.wait_for("by PID")
    if not live.wait_until(lambda: any("./a) b (c" in line for line in live.screen.lines()[:14])):
        return "not by PID:\n" + live.screen.text()
    live.press("p")
    live.wait_for("PAUSED")
    live.press("h")
    live.wait_for("share of time in which")
    live.press("hp")
    live.wait_for("by PID", "worker")
    live.press("\x1b[6~")
    if not live.wait_until(lambda: "./a) b (c" not in live.screen.text()):
        return "the page did not turn:\n" + live.screen.text()
    live.press("\x1b[5~")
    live.wait_for("./a) b (c")
    live.quit()
    return None


def signals():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        live = Live(24, 80)
        live.wait_for("93%")
        os.kill(live.pid, number)
        live.end()
        if live.screen.alternate or not live.screen.cursor_shown:
            return "signal %d leaves the terminal as it was not" % number
    return None


def no_terminal():
    done = neurolens(["top"], extra=settings())
    if done.status == 0 or "--once" not in done.stderr:
        return done.describe()
    live = Live(24, 80, term="no-such-terminal")
    live.read(1)
    status = live.end()
    text = live.screen.text()
    return None if status != 0 and "--once" in text.replace("\n", "") else "status %d: %s" % (status, text)


# ---- once ----

def once(mock="", seconds=60, words=("--format", "json"), **more):
    done = neurolens(["top", "--once", "--interval", "100ms"] + list(words), timeout=seconds,
                     extra=settings(mock, **more))
    if done.status != 0:
        raise AssertionError(done.describe())
    return done.stdout


def once_json():
    text = once(words=("--format", "json", "-n", "3"))
    json.loads(text)
    return same("once.json", re.sub(r'("(?:energy_j|pcie_\w+_bytes)": )[0-9.]+', r"\1 (some)", text))


def secrets():
    text = once(words=("--format", "json", "-n", "1000"))
    if "sekret123" in text or "me:word" in text or "(redacted)" not in text or "\\u001b" in text:
        return text
    return None if json.loads(text)["result"]["processes_left_out"] == 0 else "some are left out"


def fault(mock, seconds=60, library="nvml.so", **wanted):
    """What JSON says of a GPU driver that misbehaves: values, or null where there are none."""
    answer = json.loads(once(mock, seconds, library=library))["result"]
    found = {"gpus": len(answer["gpus"]), "note": answer["gpu_note"] or ""}
    found.update(answer["gpu_losses"])
    if answer["gpus"]:
        found.update(answer["gpus"][0])
    if len(answer["processes"]) < 20:
        return "processes are missing"
    for key, value in wanted.items():
        got = found[key]
        good = value(got) if callable(value) else got == value
        if not good:
            return "%s: %r" % (key, got)
    return None


FAULTS = (
    ("library missing", "", {"library": "absent.so", "gpus": 0, "note": lambda n: "absent.so" in n}),
    ("library is none", "", {"library": "garbage.so", "gpus": 0, "note": lambda n: n.startswith("no NVIDIA driver")}),
    ("driver not loaded", "noinit", {"gpus": 0, "note": lambda n: "Driver Not Loaded" in n}),
    ("driver of another version", "mismatch", {"gpus": 0, "note": lambda n: "version mismatch" in n}),
    ("no device", "nodevices", {"gpus": 0, "note": lambda n: "no GPU" in n}),
    ("counting fails", "badcount", {"gpus": 0, "note": lambda n: "count" in n}),
    ("starts slowly", "slowstart", {"gpus": 2, "utilisation_percent": 93}),
    ("old library", "", {"library": "old.so", "gpus": 2, "power_w": 612.5, "memory_used_bytes": 60 << 30,
                         "power_average_w": None, "sm_active_percent": None, "failed_calls": 0}),
    ("newer structs", "newer", {"memory_used_bytes": 60 << 30, "power_w": 612.5, "pcie_sent_bytes": None}),
    ("errors", "errors", {"gpus": 2, "failed_calls": lambda n: n > 0}),
    ("nothing supported", "unsupported", {"utilisation_percent": None, "power_w": None, "failed_calls": 0,
                                          "throttle": None, "memory_used_bytes": 60 << 30}),
    ("slow calls", "slow", {"utilisation_percent": 93, "slow_calls": lambda n: n > 5}),
    ("call never comes back", "hang", {"gpus": 2}),
    ("too many processes", "many", {"unlisted_processes": lambda n: n >= 200000}),
    ("over thresholds", "hot", {"alerts": ["HOT", "MEMORY FULL", "SLOWED", "POWER CAP"],
                                "throttle": "power cap, hardware thermal"}),
)


def amd():
    answer = json.loads(once(library="absent.so", root="amd"))["result"]
    if len(answer["gpus"]) != 1:
        return "GPUs: %s" % answer["gpus"]
    gpu = answer["gpus"][0]
    wanted = {"name": "Made-up Instinct", "vendor": "amd", "uuid": "GPU-abcdef", "utilisation_percent": 55,
              "memory_used_bytes": 192 << 30, "power_w": 600, "power_limit_w": 750, "temperature_c": 61,
              "clock_mhz": 2100, "energy_j": None, "memory_utilisation_percent": None, "alerts": ["MEMORY FULL"]}
    wrong = {key: gpu[key] for key, value in wanted.items() if gpu[key] != value}
    if wrong:
        return "got %s" % wrong
    return None if answer["gpu_losses"]["failed_calls"] > 0 else "the value that is none was not counted"


def amd_at_once():
    """What sysfs never has is not waited for."""
    shutil.copytree(path("amd"), path("amd-plain"))
    os.unlink(path("amd-plain/sys/class/drm/card1/device/mem_busy_percent"))
    answer = {}

    def took():
        begun = time.time()
        answer.update(json.loads(once(library="absent.so", root="amd-plain"))["result"])
        return time.time() - begun
    soonest = least(took, 2.5)
    return None if soonest < 2.5 and answer["gpus"][0]["power_w"] == 600 else "%.1f s, %s" % (soonest, answer["gpus"])


def own_process():
    """On the real /proc: a process that works is seen to work."""
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        for _ in range(10):
            done = neurolens(["top", "--once", "--interval", "1s", "--format", "json", "-n", "100000"], timeout=20,
                             extra={"NEUROLENS_NVML": path("absent.so")})
            rows = [p for p in json.loads(done.stdout)["result"]["processes"] if p["pid"] == child.pid]
            if rows and 0.02 < rows[0]["processors_used"] < 1.3 and rows[0]["resident_bytes"] > 1 << 20:
                return None
        return "got %s" % rows
    finally:
        child.kill()
        child.wait()


def recorded():
    """On the real /proc: a process that `neurolens run` records, and its steps."""
    subprocess.run([shutil.which("cc") or "gcc", "-O2", "-I", os.path.join(ROOT, "include"), "-o", path("stepper"),
                    os.path.join(TESTS, "record", "stepper.c"), "-ldl"], check=True)
    values = environment(scratch())
    run = subprocess.Popen([PROGRAM, "run", "-o", path("steps.nlt"), "--", path("stepper"), "50"], env=values,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1.5)
        for _ in range(30):  # on a busy machine a program takes its time to begin, and a step may take long
            answer = json.loads(neurolens(["top", "--once", "--interval", "100ms", "--format", "json", "-n", "100000"], timeout=20,
                                          extra={"NEUROLENS_NVML": path("absent.so")}).stdout)["result"]
            marked = [p for p in answer["processes"] if p["recording"] and path("stepper") in p["command"].split()[0]]
            others = [p["pid"] for p in answer["processes"] if p["recording"] and p["pid"] == run.pid]
            now = marked[0]["recording"] if marked else {}
            if marked and not others and now["steps"] > 3 and now["step"] == now["steps"] + 99 and \
                    0.045 < now["step_seconds"] < 1 and 0.5 < now["seconds"] < 60 and now["bytes"] >= 65536 and \
                    now["dropped_events"] == 0:
                return None
        return "got %s" % marked
    finally:
        run.terminate()
        run.wait()


def no_recording():
    """Environments that name what is no recording: nothing is marked, nothing hangs."""
    folder = path("odd.parts")
    os.makedirs(folder)
    os.mkfifo(os.path.join(folder, "100-0.nlrec"))
    os.symlink("/dev/zero", os.path.join(folder, "101-0.nlrec"))
    os.makedirs(os.path.join(folder, "102-0.nlrec"))
    with open(os.path.join(folder, "103-0.nlrec"), "wb") as file:
        file.write(b"NLREC\r\n\x1a" + bytes(2000))
    with open(os.path.join(folder, "104-0.nlrec"), "wb") as file:
        file.write(b"NLREC\r\n\x1a" + struct.pack("<II", 1, 4096) + bytes([255]) * 4080)
    shutil.copytree(path("root"), path("odd"))
    for pid in range(100, 130):
        write("odd/proc/%d/environ" % pid, "A=1\0NEUROLENS_RECORDING=%s\0B=2\0" %
              (folder if pid < 110 else "/" + "x" * 5000 if pid < 120 else ""))
    answer = json.loads(once(root="odd", words=("--format", "json", "-n", "1000")))["result"]
    marked = [p["pid"] for p in answer["processes"] if p["recording"]]
    return "marked: %s" % marked if marked or len(answer["processes"]) != 32 else None


def bad_options():
    for words in (["--interval", "50ms"], ["--interval", "2s"], ["--once", "--format", "csv"], ["--sort", "x"]):
        done = neurolens(["top"] + words, extra=settings())
        if done.status != 2 or done.stdout:
            return done.describe()
    return None


def screens():
    ready = ("93%", "idle", "0.00")
    for rows, columns in ((10, 40), (24, 80), (30, 90), (40, 120), (60, 200), (100, 300)):
        check("screen %dx%d" % (columns, rows), golden, "%dx%d" % (columns, rows), rows, columns,
              ready + (("100%",) if columns >= 130 else ()))
    check("screen with alerts, 80x24", golden, "alerts", 24, 80, ("ALERT", "MEMORY FULL", "0.00"), mock="hot")
    check("screen with alerts, 40x10", golden, "alerts-small", 10, 40, ("ALERT GPU 0 HOT", "0.00"), mock="hot")
    check("screen without a GPU", golden, "no-gpu", 24, 80, ("no GPU", "train.py", "0.00"), mock="noinit")
    check("screen of help", golden, "help", 24, 80, ready, keys="h")
    check("screen in ASCII", golden, "ascii", 24, 80, ready, LC_ALL="C", term="vt100", keys="p")
    check("resizing", resizing)
    check("colours", colours)
    check("keys", keys)
    check("signals", signals)
    check("no terminal", no_terminal)


def main():
    make_root()
    if not make_mocks():
        tally.skip("all", "no C compiler")
        tally.finish()
    if has_terminal():
        screens()
    else:
        tally.skip("screens", "no pseudo-terminal to be had")
    check("--once as text", lambda: same("once.txt", once(words=("-n", "4"))))
    check("--once as JSON", once_json)
    check("no secrets", secrets)
    for name, mock, wanted in FAULTS:
        check("driver: " + name, fault, mock, **wanted)
    check("AMD by sysfs", amd)
    check("AMD by sysfs, at once", amd_at_once)
    check("a process that works", own_process)
    check("a process that is recorded", recorded)
    check("processes that only seem recorded", no_recording)
    check("options", bad_options)
    tally.finish()


main()
