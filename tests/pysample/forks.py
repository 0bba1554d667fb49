"""Children of all sorts, each in a function of its own; some end in the middle of a sample."""
import multiprocessing
import os
import sys
import time


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def in_fork():
    spin(0.3)


def in_spawned():
    spin(0.3)


def main():
    child = os.fork()
    if not child:
        in_fork()
        os._exit(7)
    spawned = multiprocessing.get_context("spawn").Process(target=in_spawned)
    spawned.start()
    spawned.join()
    for _ in range(40):
        quick = os.fork()
        if not quick:
            spin(0.01)
            os._exit(0)
        os.waitpid(quick, 0)
    _, status = os.waitpid(child, 0)
    print(os.WEXITSTATUS(status), spawned.exitcode)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-c", "import time\ndef after():\n end = time.perf_counter() + 0.3\n"
                              " while time.perf_counter() < end: pass\nafter()\nraise SystemExit(5)"])


if __name__ == "__main__":
    main()
