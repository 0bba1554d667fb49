"""nlens.ProfilerManager: several profiles of one program under names, what each says, and regions that the program times itself."""
import functools
import json
import os
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from . import _capture
from ._decorate import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from ._engine import UsageError, program, run_to_end, status_error
from ._profile import Answer, Path, Profile, Row, diff
from ._profile import open as open_profile

_Function = TypeVar("_Function", bound=Callable[..., Any])
Which = Union[None, str, Profile]
_DASHBOARD = ("account", "kernels", "layer_times", "ops", "step_summary", "collectives", "memory")
_ROWS = 20


class Region:
    """A part of the program, as ``with`` or as a decorator: a scope of the recording, and a row of ``ProfilerManager.regions``.

    It may be used by any number of threads at once, and inside itself.
    """

    def __init__(self, manager: "ProfilerManager", name: str) -> None:
        self._manager = manager
        self._name = name
        self._open = threading.local()

    def __enter__(self) -> "Region":
        scope = _capture.scope(self._name)
        scope.__enter__()
        if not hasattr(self._open, "stack"):
            self._open.stack = []
        self._open.stack.append((scope, time.perf_counter_ns()))
        return self

    def __exit__(self, *problem: Any) -> None:
        scope, began = self._open.stack.pop()
        self._manager._took(self._name, time.perf_counter_ns() - began)
        scope.__exit__(*problem)

    def __call__(self, function: _Function) -> _Function:
        if function.__code__.co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR) if hasattr(function, "__code__") else False:
            raise UsageError("a region times calls; of coroutines and generators use nlens.scope, which tells their parts apart", 2)

        @functools.wraps(function)
        def call(*arguments: Any, **words: Any) -> Any:
            with self:
                return function(*arguments, **words)
        return call  # type: ignore[return-value]


class ProfilerManager:
    """Profiles by name, and one place to ask them.

        manager = nlens.ProfilerManager()
        manager.record([sys.executable, "train.py"], name="before")
        manager.open("after.nlt", name="after")
        manager.bottlenecks("after"); manager.compare("before", "after").result
        manager.write("dashboard.json")

    As ``with nlens.ProfilerManager() as manager:`` it opens the recording of ``neurolens run --paused`` for the block. Methods may be called from several
    threads. ``which`` is a name, a Profile, or None for the newest. Times are int ns; unknown is None. Errors are those of ``nlens.open`` and
    ``Profile``; a name that is not known raises UsageError.
    """

    def __init__(self, folder: Path = ".") -> None:
        """``folder``: where ``record`` puts its recordings."""
        self._folder = os.fspath(folder)
        self._lock = threading.Lock()
        self._profiles: Dict[str, Profile] = {}
        self._regions: Dict[str, List[int]] = {}

    def __enter__(self) -> "ProfilerManager":
        _capture.start()
        return self

    def __exit__(self, *problem: Any) -> None:
        _capture.stop()

    # ---- profiles ----

    def open(self, path: Path, name: Optional[str] = None) -> Profile:
        """Opens a profile and keeps it under a name (the path when not given)."""
        return self._keep(name or os.fspath(path), open_profile(path))

    def record(self, command: Sequence[str], name: Optional[str] = None, options: Sequence[str] = (),
               environment: Optional[Mapping[str, str]] = None) -> Profile:
        """Runs a command under ``neurolens run``, with further ``options`` of it, and opens the recording.

        Raises the error of the exit status, with what the command wrote, when it fails.
        """
        os.makedirs(self._folder, exist_ok=True)
        name = name or os.path.basename(command[0])
        path = os.path.join(self._folder, "%s.nlt" % name.replace(os.sep, "_"))
        words = [program(), "run", "--quiet"] + list(options) + ["-o", path, "--"] + list(command)
        status, said = run_to_end(words, dict(os.environ, **(environment or {})), None)
        if status != 0:
            raise status_error(status, said, words)
        return self._keep(name, open_profile(path))

    def _keep(self, name: str, profile: Profile) -> Profile:
        with self._lock:
            self._profiles.pop(name, None)  # the newest is the last
            self._profiles[name] = profile
        return profile

    @property
    def names(self) -> List[str]:
        """Names of the profiles, the newest last."""
        with self._lock:
            return list(self._profiles)

    def __getitem__(self, name: str) -> Profile:
        return self._which(name)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def _which(self, which: Which) -> Profile:
        if isinstance(which, Profile):
            return which
        with self._lock:
            if which is None and self._profiles:
                return list(self._profiles.values())[-1]
            if which in self._profiles:
                return self._profiles[str(which)]
            known = ", ".join(self._profiles) or "none"
        raise UsageError("no profile %r; there are: %s" % (which, known) if which is not None else "no profile was opened or recorded", 2)

    # ---- what they say ----

    def layers(self, which: Which = None) -> List[Row]:
        """A row per layer: ``name``, ``count``, ``mean_ns``, ``p50_ns`` …"""
        return self._which(which).section("layer_times")

    def memory(self, which: Which = None) -> List[Row]:
        """A row per memory that was watched: peaks and what was in use at the end (bytes)."""
        return self._which(which).section("memory")

    def bottlenecks(self, which: Which = None, least_share: float = 0.0) -> List[Row]:
        """Findings, the most costly first; those that cost at least this share (0 to 1) of the profile. Unknown costs count as 0."""
        return [finding for finding in self._which(which).findings if (finding.get("cost_share") or 0.0) >= least_share]

    def distributed(self, which: Which = None) -> Dict[str, List[Any]]:
        """``ranks``, ``collectives`` (a row per kind), ``overlap`` (communication with compute, a row per device)."""
        profile = self._which(which)
        return {"ranks": list(profile.info["ranks"]), "collectives": profile.section("collectives"), "overlap": profile.section("overlap")}

    def gpu(self, which: Which = None) -> Dict[str, List[Row]]:
        """``devices``, ``breakdown`` (compute, communication, copies, idle: ns a device), ``kernels``, ``idle_causes``."""
        profile = self._which(which)
        return {"devices": list(profile.info["devices"]), "breakdown": profile.section("breakdown"), "kernels": profile.section("kernels"),
                "idle_causes": profile.section("idle_causes")}

    def compare(self, a: Which, b: Which = None) -> Answer:
        """``nlens.diff`` of two of them."""
        return diff(self._which(a), self._which(b))

    # ---- regions ----

    def region(self, name: str) -> Region:
        """``with manager.region("load"):`` or ``@manager.region("load")``; functions that are neither coroutines nor generators."""
        return Region(self, name)

    def profile(self, function: _Function) -> _Function:
        """A decorator: the region of a function has its qualified name."""
        return self.region(function.__qualname__)(function)

    def _took(self, name: str, ns: int) -> None:
        with self._lock:
            row = self._regions.setdefault(name, [0, 0, ns, ns])
            row[0] += 1
            row[1] += ns
            row[2] = min(row[2], ns)
            row[3] = max(row[3], ns)

    @property
    def regions(self) -> List[Row]:
        """``name``, ``count``, ``total_ns``, ``min_ns``, ``max_ns`` of each region of this process, recorded or not; the longest first."""
        with self._lock:
            rows: List[Tuple[str, List[int]]] = [(name, list(row)) for name, row in self._regions.items()]
        return [{"name": name, "count": row[0], "total_ns": row[1], "min_ns": row[2], "max_ns": row[3]}
                for name, row in sorted(rows, key=lambda each: (-each[1][1], each[0]))]

    # ---- for others ----

    def dashboard(self) -> Dict[str, Any]:
        """All of it as JSON takes it: per profile the answer, findings, and the first 20 rows of what a page shows; and the regions."""
        shown = []
        for name in self.names:
            profile = self._which(name)
            sections = {section: profile.section(section)[:_ROWS] for section in _DASHBOARD}
            shown.append({"name": name, "profile": profile.info, "answer": profile.answer, "findings": profile.findings, "coverage": profile.coverage,
                          "sections": sections})
        return {"schema": "nlens.dashboard/1", "profiles": shown, "regions": self.regions}

    def to_json(self) -> str:
        """``dashboard`` as text."""
        return json.dumps(self.dashboard(), ensure_ascii=False, allow_nan=False)

    def write(self, path: Path) -> None:
        """Writes ``to_json`` to a file, all at once."""
        part = "%s.%d.tmp" % (os.fspath(path), os.getpid())
        with open(part, "w", encoding="utf-8") as file:
            file.write(self.to_json())
        os.replace(part, path)
