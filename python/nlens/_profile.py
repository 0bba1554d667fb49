"""Reading profiles from Python: what the command answers in JSON, as objects. Times are int nanoseconds; unknown is None."""
import math
import os
import re
from importlib import import_module
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

from . import _native
from ._engine import Document, NeuroLensError, UsageError, ask, run

Row = Dict[str, Any]
Path = Union[str, "os.PathLike[str]"]
Value = Union[None, bool, int, float, str, bytes]
Params = Union[Sequence[Value], Mapping[str, Value]]
Bound = Union[int, str, None]
_ALL_ROWS = "1000000000"
_TOKENS = re.compile(r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*` | \[[^\]]*\] | --[^\n]* | /\*.*?\*/ | \? | [:@$][A-Za-z_]\w*""",
                     re.S | re.X)


class Table:
    """Rows of an answer: a sequence of tuples in the order of ``columns``.

    ``units`` has the unit of each column (``ns``, ``bytes``, …) or None. ``truncated`` is True when rows are missing. Answers of
    SQL about files offer themselves to Arrow (``__arrow_c_stream__``): ``pyarrow.table(t)``, ``polars.DataFrame(t)``,
    ``pandas.DataFrame.from_arrow(t)`` and DuckDB take the columns without a copy.
    """

    def __init__(self, columns: List[str], units: List[Optional[str]], rows: List[Tuple[Any, ...]], truncated: bool,
                 native: Optional[_native.Answer] = None) -> None:
        self.columns = columns
        self.units = dict(zip(columns, units))
        self.truncated = truncated
        self._rows: Optional[List[Tuple[Any, ...]]] = None if native else rows
        self._native = native

    @property
    def rows(self) -> List[Tuple[Any, ...]]:
        """All rows as Python's values; of a native answer they are made when they are first asked for."""
        if self._rows is None:
            assert self._native is not None
            self._rows = self._native.rows()
        return self._rows

    def __getstate__(self) -> Dict[str, Any]:
        """For pickle and copy: the rows; memory of the library stays in its process."""
        return dict(self.__dict__, _rows=self.rows, _native=None)

    def __len__(self) -> int:
        return self._native.count if self._native else len(self.rows)

    def __iter__(self) -> Iterator[Tuple[Any, ...]]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> Tuple[Any, ...]:
        return self.rows[index]

    def __repr__(self) -> str:
        return "<nlens.Table of %d rows: %s>" % (len(self), ", ".join(self.columns))

    def column(self, name: str) -> List[Any]:
        """The values of a column. Raises KeyError when there is none of this name."""
        if name not in self.columns:
            raise KeyError("no column %s; there are %s" % (name, ", ".join(self.columns)))
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def dicts(self) -> List[Row]:
        """A dict for each row."""
        return [dict(zip(self.columns, row)) for row in self.rows]

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Arrow's PyCapsule interface. ``requested_schema`` is not followed: consumers cast. Raises UsageError for answers that the
        command gave (of runs in the ledger, or where libneurolens is missing): use ``to_arrow``."""
        if self._native is None:
            raise UsageError("this answer came from the command, which has no Arrow stream; use to_arrow() or rows", 2)
        return self._native.capsule()

    def to_pandas(self) -> Any:
        """A pandas.DataFrame. Raises ImportError when pandas is not installed."""
        pandas: Any = import_module("pandas")
        if self._native is not None:
            try:
                return self.to_arrow().to_pandas()
            except ImportError:
                pass
        return pandas.DataFrame.from_records(self.rows, columns=self.columns)

    def to_arrow(self) -> Any:
        """A pyarrow.Table; without a copy where the answer has a stream. Raises ImportError when pyarrow is not installed."""
        pyarrow: Any = import_module("pyarrow")
        if self._native is not None:
            return pyarrow.RecordBatchReader._import_from_c_capsule(self._native.capsule()).read_all()
        return pyarrow.table([pyarrow.array(self.column(name)) for name in self.columns], names=self.columns)


class Answer:
    """What a command answered: ``result`` as its documentation says, ``coverage`` (what is missing), ``profile``, and the
    exit ``status``; ``document`` is all of it."""

    def __init__(self, status: int, document: Document) -> None:
        self.status = status
        self.document = document
        self.result: Any = document["result"]
        self.profile: Any = document.get("profile")
        self.coverage: List[Row] = (document.get("coverage") or {}).get("items", [])

    def __repr__(self) -> str:
        return "<nlens.Answer %s, status %d>" % (self.document.get("schema"), self.status)


class CheckAnswer(Answer):
    """What the gate said: ``passed``, ``regressed`` or ``inconclusive``, of which one is True."""

    @property
    def passed(self) -> bool:
        return self.status == 0

    @property
    def regressed(self) -> bool:
        return self.status == 1

    @property
    def inconclusive(self) -> bool:
        return self.status == 3


class Profile:
    """A profile, or a window of it. Make one with ``nlens.open``.

    Each question is one run of the command, which caches imported files; but SQL about files is answered inside this process by
    libneurolens, where it is installed: the profile is then kept in memory as long as this object. Raises InputError when a file
    cannot be read, and UsageError for a name that does not exist.
    """

    def __init__(self, name: str, window: str = "", memory: Union[None, int, str] = None, ledger: Optional[str] = None) -> None:
        self._base = name
        self._window = window
        self._memory = memory
        self._ledger = ledger
        self._full: Optional[Document] = None
        self._native: Optional[_native.Profile] = None

    def __getstate__(self) -> Dict[str, Any]:
        """For pickle and copy: the name and what was answered; another process opens the profile again."""
        return dict(self.__dict__, _native=None)

    @property
    def name(self) -> str:
        """How the command names this profile, window included."""
        return self._base + ("[%s]" % self._window if self._window else "")

    def __repr__(self) -> str:
        return "nlens.open(%r)" % self.name

    def _options(self) -> List[str]:
        """Of the command: its budget of memory, and the ledger that has the run."""
        words = [] if self._memory is None else ["--memory", str(self._memory)]
        return words + ([] if self._ledger is None else ["--ledger", self._ledger])

    def _document(self) -> Document:
        if self._full is None:
            self._full = ask(["analyze"] + self._options() + ["--", self.name])[1]
        return self._full

    @property
    def info(self) -> Row:
        """Formats, devices, processes, first and last time (``…_ns``), counts of events, window."""
        found: Row = self._document()["profile"]
        return found

    @property
    def coverage(self) -> List[Row]:
        """What is missing, cut or was repaired: ``item``, ``count``, ``file``, ``detail``."""
        found: List[Row] = (self._document().get("coverage") or {}).get("items", [])
        return found

    @property
    def answer(self) -> Row:
        """Class, one sentence, culprit and what could be saved (``…_ns``)."""
        found: Row = self._member("answer")
        return found

    @property
    def findings(self) -> List[Row]:
        """Findings, the most costly first: ``title``, ``cause``, ``confidence`` (0 to 1), ``cost_ns``, ``saving_ns``, …"""
        found: List[Row] = self._member("findings")
        return found

    @property
    def account(self) -> List[Row]:
        """Every nanosecond of the devices booked once: ``phase``, ``part``, ``culprit``, ``ns``, ``share`` (0 to 1), …"""
        return self.section("account")

    def _member(self, name: str) -> Any:
        result = self._document()["result"]
        if name not in result:
            raise UsageError("this neurolens has no %s in its analysis; install a newer one" % name, 2)
        return result[name]

    def section(self, name: str) -> List[Row]:
        """All rows of one analysis (``neurolens help sections`` lists them), such as ``kernels``."""
        document = ask(["analyze", "--all", "--section", name] + self._options() + ["--", self.name])[1]
        rows: List[Row] = document["result"].get(name, [])
        return rows

    def sql(self, query: str, params: Optional[Params] = None, limit: Optional[int] = None) -> Table:
        """Asks one question in SQL (tables: docs/sql.md); ``ts`` and ``dur`` are ns from the profile's first event.

        ``params`` are values for ``?``, in order, or for ``:name``. ``limit``: at most so many rows, all when None. A column that mixes
        numbers and texts holds texts, except in answers of the command (runs of the ledger; with ``limit``). SQL reads whole
        profiles: of a window this raises UsageError, whose message has the WHERE that says the same.
        """
        text = bind(query, params) if params is not None else query
        if limit is None and not self._window and (os.path.exists(self._base) or self._ledger is not None):
            library = _native.find()
            if library is not None:
                if self._native is None:
                    self._native = _native.Profile(library, [self._base], memory_bytes(self._memory), self._ledger)
                answer = self._native.sql(text)
                return Table(answer.names, answer.units, [], False, answer)
        document = ask(["sql", "--limit", _ALL_ROWS if limit is None else str(limit)] + self._options() + ["--", self.name, text])[1]
        result = document["result"]
        if isinstance(result, list):
            if len(result) != 1:
                raise UsageError("sql takes one statement with an answer, not %d" % len(result), 2)
            result = result[0]
        return Table([column["name"] for column in result["columns"]], [column["unit"] for column in result["columns"]],
                     [tuple(row) for row in result["rows"]], bool(result["truncated"]))

    def table(self, name: str, limit: Optional[int] = None) -> Table:
        """A whole table or view of SQL, such as ``kernels``; not of a window, as ``sql``."""
        if not re.match(r"[A-Za-z_]\w*\Z", name):
            raise UsageError("%r is no name of a table" % name, 2)
        return self.sql("SELECT * FROM " + name, limit=limit)

    def window(self, *, step: Optional[Tuple[Bound, Bound]] = None, time: Optional[Tuple[Bound, Bound]] = None,
               nvtx: Optional[str] = None, rank: Optional[int] = None, gpu: Optional[int] = None) -> "Profile":
        """A part of the profile: steps from the first up to and without the last, times (int ns, or text as ``"1.2s"``), ranges
        by name (``forward*``), one rank, one device; several must all hold. Windows of windows narrow."""
        parts = [self._window] if self._window else []
        if step is not None:
            parts.append("step=%s:%s" % (_bound(step[0], ""), _bound(step[1], "")))
        if time is not None:
            parts.append("%s:%s" % (_bound(time[0], "ns"), _bound(time[1], "ns")))
        if nvtx is not None:
            if '"' in nvtx:
                raise UsageError('a range name with " cannot be a window', 2)
            parts.append('nvtx="%s"' % nvtx)
        if rank is not None:
            parts.append("rank=%d" % rank)
        if gpu is not None:
            parts.append("gpu=%d" % gpu)
        return Profile(self._base, ",".join(parts), self._memory, self._ledger)

    def report(self, path: Path) -> None:
        """Writes a report: ``.html`` (one file that needs no network), ``.md`` or ``.json``."""
        run(["report", "--quiet", "--output", os.fspath(path)] + self._options() + ["--", self.name])

    def export(self, to: str, path: Path) -> None:
        """Writes the profile in another form, such as ``perfetto`` (``neurolens export --help`` lists them)."""
        run(["export", "--quiet", "--to", to, "--output", os.fspath(path)] + self._options() + ["--", self.name])


def _bound(value: Bound, unit: str) -> str:
    return "" if value is None else value if isinstance(value, str) else "%d%s" % (value, unit)


def _name(profile: Union[Path, Profile]) -> str:
    return profile.name if isinstance(profile, Profile) else os.fspath(profile)


def memory_bytes(memory: Union[None, int, str]) -> int:
    """A budget in bytes; 0 for None. Raises UsageError for what the command would not take either."""
    if memory is None or isinstance(memory, int):
        return int(memory or 0)
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)(?:i?[bB])?", memory)
    if not found:
        raise UsageError("%r is no size, such as 512MiB or 4GiB" % memory, 2)
    return int(float(found.group(1)) * 1024 ** " kmgt".index(found.group(2).lower() or " "))


def open(path: Path, *, memory: Union[None, int, str] = None, ledger: Optional[Path] = None) -> Profile:
    """A profile: a file of any supported format, a folder, or a run of the ledger (``@``, an id, a tag).

    It is read now; raises InputError when that is not possible. A run stays the one that the name means now, whatever is added later.
    ``memory``: what each question may take, in bytes or as ``"4GiB"`` (half of the free memory when None); SurroundingsError is raised for
    more. ``ledger``: the folder that has the run; the usual one when None.
    """
    folder = None if ledger is None else os.path.abspath(os.fspath(ledger))
    profile = Profile(_settled(os.fspath(path), folder), "", memory, folder)
    profile._document()
    return profile


def _settled(name: str, ledger: Optional[str]) -> str:
    """The name with a run's id for ``@``, ``@~1`` or a tag, which would mean another run once one is added. Names of files, and those that
    the ledger does not know, stay."""
    base, bracket, window = name.partition("[")
    if os.path.exists(name) or os.path.exists(base):
        return name
    options = [] if ledger is None else ["--ledger", ledger]
    try:
        shown = ask(["show", "--section", "metadata"] + options + ["--", base])[1]["result"]
    except NeuroLensError:
        return name  # several names, a pattern, or nothing at all: reading it says which
    ids: List[str] = [row["value"] for row in shown["metadata"] if row["key"] == "run.id"]
    return ids[0] + bracket + window if ids else name


def _names(profiles: Union[Path, Profile, Sequence[Union[Path, Profile]]]) -> str:
    if isinstance(profiles, (str, Profile, os.PathLike)):
        return _name(profiles)
    return ",".join(_name(each) for each in profiles)


def diff(a: Union[Path, Profile, Sequence[Union[Path, Profile]]],
         b: Union[Path, Profile, Sequence[Union[Path, Profile]]]) -> Answer:
    """What changed from A to B (docs/diff.md). Several captures per side make it surer. ``status`` 3: not comparable; why is in
    ``result`` and ``coverage``."""
    return Answer(*ask(["diff", "--", _names(a), _names(b)], (0, 3)))


def check(new: Union[Path, Profile, Sequence[Union[Path, Profile]]],
          baseline: Union[None, Path, Profile, Sequence[Union[Path, Profile]]] = None, rules: Optional[Path] = None, *,
          fail_on: Sequence[str] = (), allow: Sequence[str] = ()) -> CheckAnswer:
    """The gate: is ``new`` as fast as ``baseline``? A regression is an answer, not an exception. ``rules``: a file of rules; ``fail_on``:
    rules as text (``"step.p50 > +3%"``; budgets such as ``"step.p95 > 120ms"`` need no baseline); ``allow``: facts that may differ."""
    words = ["check"]
    if baseline is not None:
        words += ["--baseline", _names(baseline)]
    if rules is not None:
        words += ["--rules", os.fspath(rules)]
    for rule in fail_on:
        words += ["--fail-on", rule]
    for fact in allow:
        words += ["--allow", fact]
    return CheckAnswer(*ask(words + ["--", _names(new)], (0, 1, 3)))


def literal(value: Value) -> str:
    """A value as SQL writes it. Raises UsageError for what SQL has no words for."""
    if value is None:
        return "NULL"
    if isinstance(value, (bool, int)):
        number = int(value)
        if not -(1 << 63) <= number < 1 << 63:
            raise UsageError("%d does not fit into 64 bits" % number, 2)
        return str(number) if number > -(1 << 63) else "(-9223372036854775807 - 1)"
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, str) and "\0" not in value:
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes):
        return "X'" + value.hex() + "'"
    raise UsageError("%r cannot be a parameter: only None, int, finite float, str and bytes" % (value,), 2)


def bind(query: str, params: Params) -> str:
    """The query with its placeholders filled: ``?`` in order, or ``:name``, ``@name``, ``$name``; texts and comments stay.

    Raises UsageError when values are missing or too many.
    """
    named = isinstance(params, Mapping)
    used: Set[Any] = set()

    def fill(match: "re.Match[str]") -> str:
        token = match.group(0)
        if token == "?" and not named:
            key: Any = len(used)
        elif named and token[0] in ":@$":
            key = token[1:]
        else:
            return token
        used.add(key)
        try:
            return literal(params[key])
        except (KeyError, IndexError):
            raise UsageError("no value for placeholder %s" % (token if named else "%d" % (key + 1)), 2) from None

    text = _TOKENS.sub(fill, query)
    if len(used) != len(params):
        raise UsageError("%d values for %d placeholders" % (len(params), len(used)), 2)
    return text
