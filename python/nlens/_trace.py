"""nlens.trace_handler: what torch.profiler calls when a trace is ready. Nothing in here may stop or slow the training for long:
the export is PyTorch's own, the reading happens in a thread behind it, and whatever fails is a line of the log."""
import atexit
import logging
import os
import socket
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from ._engine import NeuroLensError, ask

Path = Union[str, "os.PathLike[str]"]
_log = logging.getLogger("nlens")
_MAX_FINDINGS = 3
_SKEW_S = 5.0  # clocks of hosts and of their file server differ by less
_AT_EXIT_S = 60.0


class TraceHandler:
    """Give it to ``torch.profiler.profile(on_trace_ready=…)``; make one with ``nlens.trace_handler``.

    ``traces``: the files written by this process, in order. ``answers``: what was read from them, a dict each with ``trace``
    (file, or folder of all ranks), ``cycle``, ``sentence``, ``findings``, and ``run`` (id in the ledger, or None).
    """

    def __init__(self, folder: Path, name: Optional[str], ledger: Union[bool, Path], facts: Mapping[str, Any], say: Callable[[str], Any],
                 use_gzip: bool, wait: bool, ranks_within: float) -> None:
        self.traces: List[str] = []
        self.answers: List[Dict[str, Any]] = []
        self._folder = os.fspath(folder)
        self._name = name
        self._ledger = ledger
        self._facts = dict(facts)
        self._say = say
        self._use_gzip = use_gzip
        self._wait = wait
        self._ranks_within = ranks_within
        self._began = time.time()
        self._cycle = 0
        self._process = os.getpid()
        self._threads: List[threading.Thread] = []
        atexit.register(self.wait, _AT_EXIT_S)

    def __call__(self, profiler: Any) -> None:
        """Writes the trace of ``profiler`` and has it read. Raises nothing but what ends the program (KeyboardInterrupt, SystemExit)."""
        try:
            self._take(profiler)
        except Exception as wrong:
            _log.warning("no trace was written: %s: %s", type(wrong).__name__, wrong)

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Waits for what is still being read, at most ``timeout`` seconds. True when all is done."""
        if os.getpid() != self._process:  # threads stay in the process that forked
            return True
        end = None if timeout is None else time.monotonic() + timeout
        for thread in self._threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        return not self._threads

    def _take(self, profiler: Any) -> None:
        rank, ranks = _rank()
        cycle, self._cycle = self._cycle, self._cycle + 1
        path = self._place(cycle, rank, ranks)
        ending = ".pt.trace.json" + (".gz" if self._use_gzip else "")
        part = "%s.part%d%s" % (path[:-len(ending)], os.getpid(), ".gz" if self._use_gzip else "")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            profiler.export_chrome_trace(part)
            os.replace(part, path)  # other ranks see it whole or not at all
        except BaseException:
            if os.path.exists(part):
                os.remove(part)
            raise
        self.traces.append(path)
        if rank != 0:
            return
        if self._wait:
            self._read(cycle, path, ranks)
            return
        thread = threading.Thread(target=self._read, args=(cycle, path, ranks), name="nlens trace", daemon=True)
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        thread.start()

    def _place(self, cycle: int, rank: int, ranks: int) -> str:
        ending = ".pt.trace.json" + (".gz" if self._use_gzip else "")
        if ranks > 1:
            return os.path.join(self._folder, (self._name or "cycle") + "%d" % cycle, "rank%d%s" % (rank, ending))
        name = self._name or "%s_%d" % (socket.gethostname(), os.getpid())
        return os.path.join(self._folder, "%s.%d%s" % (name, cycle, ending))

    def _read(self, cycle: int, path: str, ranks: int) -> None:
        try:
            there = 1
            if ranks > 1:
                path = os.path.dirname(path)
                there = self._others(path, ranks)
            document = ask(["analyze", "--", path])[1]
            answer: Dict[str, Any] = {"trace": path, "cycle": cycle, "sentence": document["result"]["answer"]["sentence"],
                                      "findings": document["result"]["findings"], "run": self._add(path)}
            self.answers.append(answer)
            self._say(_text(answer, there, ranks))
        except NeuroLensError as wrong:
            _log.warning("%s is written, but was not read: %s", path, wrong)
        except Exception as wrong:
            _log.warning("%s is written, but was not read: %s: %s", path, type(wrong).__name__, wrong)

    def _others(self, folder: str, ranks: int) -> int:
        """Waits until each rank has written its file; files of an earlier job do not count. How many are there."""
        end = time.monotonic() + self._ranks_within
        while True:
            there = 0
            for each in os.scandir(folder):
                if ".pt.trace.json" in each.name and each.stat().st_mtime >= self._began - _SKEW_S:
                    there += 1
            if there >= ranks or time.monotonic() >= end:
                return there
            time.sleep(0.05)

    def _add(self, path: str) -> Optional[str]:
        if self._ledger is False:
            return None
        words = ["add"]
        if self._ledger is not True:
            words += ["--ledger", os.fspath(self._ledger)]
        for key, value in self._facts.items():
            words += ["--set", "%s=%s" % (key, value)]
        run: str = ask(words + ["--", path])[1]["result"][0]["id"]
        return run


def _rank() -> Tuple[int, int]:
    """Rank and number of ranks: of torch.distributed where it is used, else of the launcher."""
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank()), int(distributed.get_world_size())
    for rank, ranks in (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")):
        if os.environ.get(rank, "").isdigit() and os.environ.get(ranks, "").isdigit():
            return int(os.environ[rank]), int(os.environ[ranks])
    return 0, 1


def _text(answer: Dict[str, Any], there: int, ranks: int) -> str:
    lines = ["nlens: %s" % answer["sentence"]]
    for number, finding in enumerate(answer["findings"][:_MAX_FINDINGS], 1):
        lines.append("nlens:   %d. %s" % (number, finding["title"]))
    if there < ranks:
        lines.append("nlens:   %d of %d ranks wrote their trace in time" % (there, ranks))
    lines.append("nlens: more: neurolens analyze %s" % (answer["run"][:8] if answer["run"] else answer["trace"]))
    return "\n".join(lines)


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def trace_handler(folder: Path = "traces", *, name: Optional[str] = None, ledger: Union[bool, Path] = False,
                  facts: Optional[Mapping[str, Any]] = None, say: Optional[Callable[[str], Any]] = None, use_gzip: bool = False,
                  wait: bool = False, ranks_within: float = 30.0) -> TraceHandler:
    """``torch.profiler.profile(on_trace_ready=nlens.trace_handler("traces"))``: writes each trace, reads it, and says what limits the program.

    One process: ``folder/NAME.CYCLE.pt.trace.json`` (``name``: host and process id when not given). Several ranks:
    ``folder/cycleN/rankR.pt.trace.json``; rank 0 waits ``ranks_within`` seconds for the others' files, beside the training, and reads the
    folder as one profile. A later job writes over the files of an earlier one in the same folder. ``ledger``: True or a folder keeps
    each trace as a run, with ``facts`` (``{"batch_size": 32}``). ``say`` gets the text instead of stderr. ``wait``: read before going on.
    The program's end waits for what is still being read, at most a minute. What fails is logged (logger ``nlens``) and never raised.
    """
    return TraceHandler(folder, name, ledger, facts or {}, say or _print, use_gzip, wait, ranks_within)
