"""Work that Ctrl-C ends: it goes on in a thread of its own, where no signal is handled, while the caller's thread waits for it and for
Ctrl-C, and stops it."""
import threading
from typing import Callable, List, TypeVar

_Given = TypeVar("_Given")
_LOOK_S = 0.05  # how long Ctrl-C may wait for the interpreter
_POLITELY_S = 0.1  # what work that was asked to stop has for it
_BY_FORCE_S = 0.05


def finish(work: Callable[[], _Given], stop: Callable[[bool], None]) -> _Given:
    """What the work gives or raises. Whatever is raised here meanwhile (Ctrl-C, a time limit of somebody's) stops it: ``stop(False)`` asks it
    to end, ``stop(True)`` makes it. Both may come before the work begins, and after its end. What does not end within 0.15 s goes on alone, and
    nobody sees what it gives.

    Another thread stops the work: one Ctrl-C after the other can break off whatever this one does about the first."""
    given: List[_Given] = []
    wrong: List[BaseException] = []
    ended = threading.Lock()  # no Event, Thread.join: an exception inside of them leaves them in any state
    ended.acquire()
    waiting = threading.Lock()  # held while somebody waits for the work; `with` lets it go in one step

    def run() -> None:
        try:
            given.append(work())
        except BaseException as problem:
            wrong.append(problem)
        ended.release()

    def over() -> bool:
        return bool(given or wrong)

    def watch() -> None:
        waiting.acquire()
        if not over():
            _end(stop, ended, over)

    try:
        with waiting:
            try:
                threading.Thread(target=watch, name="nlens").start()  # the interpreter waits for it, too
                threading.Thread(target=run, name="nlens", daemon=True).start()
            except RuntimeError:  # no thread can be had: the interpreter ends
                run()
            while not over():
                ended.acquire(timeout=_LOOK_S)
    except BaseException:
        try:
            if not over() and ended.acquire(timeout=_POLITELY_S + _BY_FORCE_S):
                ended.release()
        finally:  # whoever does not wait for it may end the interpreter next, and with it the other thread
            stop(True)
        raise
    if wrong:
        raise wrong.pop()
    return given[0]


def _end(stop: Callable[[bool], None], ended: threading.Lock, over: Callable[[], bool]) -> None:
    stop(False)
    if not over() and ended.acquire(timeout=_POLITELY_S):
        ended.release()
    stop(True)
