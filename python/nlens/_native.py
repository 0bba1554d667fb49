"""SQL inside this process: libneurolens through ctypes, answers as Arrow without a copy. ``find()`` is None where there is no library;
``nlens.open(...).sql`` then asks the command."""
import ctypes
import os
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, TypeVar

from ._engine import UsageError, status_error
from ._patience import finish

_Kind = TypeVar("_Kind")
_STREAM = b"arrow_array_stream"
_SONAME = "libneurolens.so.0"
_ROWS_AT_ONCE = 1 << 18  # a multiple of 8; Ctrl-C is heeded between them


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("memory_bytes", ctypes.c_uint64), ("threads", ctypes.c_uint32), ("cache", ctypes.c_char_p),
                ("task", ctypes.c_void_p), ("ledger", ctypes.c_char_p)]


_release_schema = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))
_release_array = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))
_release_stream = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))
_Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p), ("flags", ctypes.c_int64),
                    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
                    ("dictionary", ctypes.c_void_p), ("release", _release_schema), ("private_data", ctypes.c_void_p)]
_Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
                   ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
                   ("children", ctypes.POINTER(ctypes.POINTER(_Array))), ("dictionary", ctypes.c_void_p), ("release", _release_array),
                   ("private_data", ctypes.c_void_p)]
_Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
                    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
                    ("get_last_error", ctypes.c_void_p), ("release", _release_stream), ("private_data", ctypes.c_void_p)]

_handed: Dict[int, _Stream] = {}  # streams in capsules, by address
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


def _drop_capsule(capsule: int) -> None:
    stream = _handed.pop(_capsule_pointer(capsule, _STREAM), None)
    if stream is not None and stream.release:  # nobody took it
        stream.release(ctypes.byref(stream))


_drop = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_drop_capsule)  # lives as long as any capsule


class Answer:
    """An answer in the library's memory: ``names``, ``units``, ``rows`` as Python's values, and Arrow."""

    def __init__(self, library: ctypes.CDLL, handle: int) -> None:
        self._library = library
        self._handle = handle
        self._formats: List[bytes] = []
        self.names: List[str] = []
        self.units: List[Optional[str]] = []
        self.count: int = library.nlens_answer_rows(handle)
        stream, schema = self._stream(), _Schema()
        stream.get_schema(ctypes.byref(stream), ctypes.byref(schema))
        for i in range(schema.n_children):
            field = schema.children[i].contents
            self._formats.append(field.format)
            self.names.append(field.name.decode("utf-8", "replace"))
            self.units.append(_unit(field.metadata))
        schema.release(ctypes.byref(schema))
        stream.release(ctypes.byref(stream))

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.nlens_answer_free(self._handle)

    def _stream(self) -> _Stream:
        stream = _Stream()
        self._library.nlens_answer_stream(self._handle, ctypes.byref(stream))
        return stream

    def capsule(self) -> Any:
        """A PyCapsule "arrow_array_stream", as Arrow's PyCapsule interface has it."""
        stream = self._stream()
        address = ctypes.addressof(stream)
        _handed[address] = stream
        return _new_capsule(address, _STREAM, ctypes.cast(_drop, ctypes.c_void_p))

    def rows(self) -> List[Tuple[Any, ...]]:
        stream, array = self._stream(), _Array()
        try:
            stream.get_next(ctypes.byref(stream), ctypes.byref(array))
            if not array.release:
                return []
            try:
                found: List[Tuple[Any, ...]] = []
                for first in range(0, array.length, _ROWS_AT_ONCE):
                    end = min(first + _ROWS_AT_ONCE, array.length)
                    found.extend(zip(*[_values(array.children[i].contents, form, first, end) for i, form in enumerate(self._formats)]))
            finally:
                array.release(ctypes.byref(array))
        finally:
            stream.release(ctypes.byref(stream))
        return found


def _unit(metadata: Optional[int]) -> Optional[str]:
    """Of the library's own metadata, which have that one pair."""
    if not metadata:
        return None
    at = metadata + 4
    length = ctypes.c_int32.from_address(at).value
    at += 4 + length
    length = ctypes.c_int32.from_address(at).value
    return ctypes.string_at(at + 4, length).decode()


def _values(array: _Array, form: bytes, first: int, end: int) -> List[Any]:
    """Of the rows from the first, a multiple of 8, to before the end."""
    count = end - first
    if form == b"n":
        return [None] * count
    if form == b"U":
        ends = (ctypes.c_int64 * (count + 1)).from_address(array.buffers[1] + 8 * first)[:]
        start = ends[0]
        text = ctypes.string_at(array.buffers[2] + start, ends[-1] - start) if ends[-1] > start else b""
        values: List[Any] = [text[ends[i] - start:ends[i + 1] - start].decode() for i in range(count)]
    else:
        kind: Any = ctypes.c_int64 if form == b"l" else ctypes.c_double
        values = (kind * count).from_address(array.buffers[1] + 8 * first)[:]
    if array.null_count:
        known = ctypes.string_at(array.buffers[0] + first // 8, (count + 7) // 8)
        values = [value if known[i >> 3] >> (i & 7) & 1 else None for i, value in enumerate(values)]
    return values


class _Task:
    """Of the library: cancelled by one thread, freed by another."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._lock = threading.Lock()
        self.handle: Optional[int] = library.nlens_task_new()

    def __del__(self) -> None:
        self.free()

    def cancel(self) -> None:
        with self._lock:
            if self.handle:
                self._library.nlens_task_cancel(self.handle)

    def free(self) -> None:
        with self._lock:
            if self.handle:
                self._library.nlens_task_free(self.handle)
            self.handle = None


class _Opened:
    """Closes the profile when nobody refers to it."""

    def __init__(self, library: ctypes.CDLL, handle: int) -> None:
        self._library = library
        self.handle = handle

    def __del__(self) -> None:
        self._library.nlens_close(self.handle)


class Profile:
    """A profile that stays open, in memory, until nobody refers to it. Any thread may ask."""

    def __init__(self, library: ctypes.CDLL, paths: Sequence[str], memory: int = 0, ledger: Optional[str] = None) -> None:
        self._library = library
        words = (ctypes.c_char_p * len(paths))(*[os.fsencode(path) for path in paths])
        cache = _cache()

        def opened(task: Optional[int], error: Any) -> Any:
            options = _Options(ctypes.sizeof(_Options), memory, 0, cache, task, os.fsencode(ledger) if ledger else None)
            return library.nlens_open(words, len(paths), ctypes.byref(options), error)
        self._opened: _Opened = _call(library, opened, ["open"] + list(paths), _Opened)

    def sql(self, query: str) -> Answer:
        text, opened = query.encode("utf-8", "surrogatepass"), self._opened
        return _call(self._library, lambda task, error: self._library.nlens_sql(opened.handle, text, task, error), ["sql", query], Answer)


def _call(library: ctypes.CDLL, function: Callable[[Optional[int], Any], Any], words: List[str], kind: Callable[[ctypes.CDLL, int], _Kind]) -> _Kind:
    """What the function gave, as an object that frees it. Ctrl-C cancels, and waits for the end no longer than ``finish`` does: some steps of
    SQLite, such as sorting, end when they are done."""
    if any("\0" in word for word in words):
        raise UsageError("a NUL character cannot stand in a name or query", 2)
    task = _Task(library)

    def work() -> _Kind:
        error = ctypes.c_void_p()
        try:
            answer = function(task.handle, ctypes.byref(error))
        finally:
            task.free()
        if answer:
            return kind(library, answer)
        status, message = 70, "the library gave neither an answer nor an error"
        if error.value:
            message, status = library.nlens_error_text(error).decode("utf-8", "replace"), library.nlens_error_status(error)
            library.nlens_error_free(error)
        raise status_error(status, message, ["libneurolens"] + words)
    return finish(work, lambda by_force: task.cancel())


def _cache() -> Optional[bytes]:
    """The cache of the user's own ledger, unless a ledger is named by a URL. Nothing of the current folder is used."""
    ledger = os.environ.get("NEUROLENS_LEDGER")
    if not ledger:
        ledger = os.path.join(os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"), "neurolens")
    return None if "://" in ledger or not os.path.isabs(ledger) else os.fsencode(os.path.join(ledger, "cache"))


_found: List[Optional[ctypes.CDLL]] = []


def find() -> Optional[ctypes.CDLL]:
    """The library beside this package (wheel, build folder, installation), of the system, or $NEUROLENS_LIBRARY ("": not wanted)."""
    if not _found:
        _found.append(_load())
    return _found[0]


def _load() -> Optional[ctypes.CDLL]:
    package = os.path.dirname(os.path.abspath(__file__))
    given = os.environ.get("NEUROLENS_LIBRARY")
    places = [given] if given is not None else [os.path.normpath(os.path.join(package, place, _SONAME))
                                                for place in (".", "../../..", "../../src/engine")] + [_SONAME]
    for path in places:
        if path and (path == _SONAME or os.path.isfile(path)):
            try:
                return _declare(ctypes.CDLL(path))
            except (OSError, AttributeError):  # not to be loaded; of an older version, without one of the functions
                continue
    return None


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    for name, gives, takes in (
            ("open", pointer, [ctypes.POINTER(text), ctypes.c_size_t, pointer, pointer]), ("close", None, [pointer]),
            ("sql", pointer, [pointer, text, pointer, pointer]), ("answer_rows", ctypes.c_int64, [pointer]),
            ("answer_stream", None, [pointer, pointer]), ("answer_free", None, [pointer]), ("task_new", pointer, []),
            ("task_cancel", None, [pointer]), ("task_free", None, [pointer]), ("error_text", text, [pointer]),
            ("error_status", ctypes.c_int, [pointer]), ("error_free", None, [pointer])):
        function = getattr(library, "nlens_" + name)
        function.restype, function.argtypes = gives, takes
    return library
