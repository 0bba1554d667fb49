"""Finds the command and runs it: no shell, one process a question, its JSON as the answer."""
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile
from typing import IO, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._patience import finish

Document = Dict[str, Any]


class NeuroLensError(Exception):
    """The command could not answer.

    ``message``: what went wrong, where (file, byte or table) and what to do next. ``status``: its exit status, None when
    it could not be started. ``command``: the words it was started with; of what the library was asked, "libneurolens" and the question.
    """

    def __init__(self, message: str, status: Optional[int] = None, command: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.command = list(command)


class UsageError(NeuroLensError):
    """Exit status 2: an option, a name or a query is wrong."""


class InconclusiveError(NeuroLensError):
    """Exit status 3: the profiles cannot be compared, or tell too little."""


class InputError(NeuroLensError):
    """Exit status 4: a profile cannot be read."""


class SurroundingsError(NeuroLensError):
    """Exit status 5: something of this machine is missing or not allowed; also when there is no command to run."""


class InternalError(NeuroLensError):
    """Exit status 70, or ended by a signal: a bug of NeuroLens."""


_KINDS = {2: UsageError, 3: InconclusiveError, 4: InputError, 5: SurroundingsError, 70: InternalError}


def program() -> str:
    """The path of the command: $NEUROLENS_PROGRAM, beside this package (wheel, build folder, installation), or on PATH.

    Raises SurroundingsError when there is none.
    """
    given = os.environ.get("NEUROLENS_PROGRAM")
    if given:
        return given
    package = os.path.dirname(os.path.abspath(__file__))
    for place in ("../../../../bin", "../bin", "../.."):
        path = os.path.normpath(os.path.join(package, place, "neurolens"))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    found = shutil.which("neurolens")
    if found is None:
        raise SurroundingsError("the command neurolens is neither beside the package nlens nor on PATH; install the package "
                                "neurolens-profiler again, or name the command with NEUROLENS_PROGRAM=FILE")
    return found


def run(words: Sequence[str], answers: Tuple[int, ...] = (0,)) -> Tuple[int, str]:
    """Runs the command; its exit status and what it wrote to stdout. ``answers``: statuses that are no error.

    Raises a NeuroLensError for every other status. Ctrl-C ends the command, too.
    """
    command = [program()] + list(words)
    with tempfile.TemporaryFile() as errors:
        status, out = _finish(command, errors)
        if status not in answers:
            errors.seek(0)
            raise status_error(status, errors.read().decode("utf-8", "replace"), command)
    return status, out.decode("utf-8", "surrogateescape")


def run_to_end(command: Sequence[str], environment: Mapping[str, str], folder: Optional[str]) -> Tuple[int, str]:
    """Runs any program; its exit status and what it wrote to stdout and stderr."""
    status, out = _finish(command, subprocess.STDOUT, environment, folder)
    return status, out.decode("utf-8", "replace")


class _Command:
    """One run of a program, for ``finish``."""

    def __init__(self, command: Sequence[str], errors: Union[int, IO[bytes]], environment: Optional[Mapping[str, str]], folder: Optional[str]) -> None:
        self._command = command
        self._errors = errors
        self._environment = environment
        self._folder = folder
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._stopped = False

    def work(self) -> Tuple[int, bytes]:
        """Status and stdout."""
        try:
            process = self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors,
                                                       env=self._environment, cwd=self._folder)
        except (OSError, ValueError) as wrong:
            raise SurroundingsError("%s cannot be started: %s" % (self._command[0], wrong), None, self._command) from wrong
        if self._stopped:
            process.kill()
        assert process.stdout is not None
        with process.stdout:
            out = process.stdout.read()
        return process.wait(), out

    def stop(self, by_force: bool) -> None:
        self._stopped = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        if by_force:  # what it records would go on without it
            for pid in _descendants(process.pid):
                _kill(pid)
            process.kill()
        else:
            process.terminate()


def _descendants(pid: int) -> List[int]:
    """Processes that it started, and what these started."""
    found: List[int] = []
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        try:
            with open(path, encoding="ascii") as file:
                children = [int(word) for word in file.read().split()]
        except OSError:  # it has ended
            continue
        for child in children:
            found += _descendants(child) + [child]
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:  # it has ended, or is another user's
        pass


def _finish(command: Sequence[str], errors: Union[int, IO[bytes]], environment: Optional[Mapping[str, str]] = None,
            folder: Optional[str] = None) -> Tuple[int, bytes]:
    """Status and stdout. An exception (Ctrl-C) ends the program first: politely, and after a tenth of a second without a choice."""
    run_of_it = _Command(command, errors, environment, folder)
    return finish(run_of_it.work, run_of_it.stop)


def ask(words: Sequence[str], answers: Tuple[int, ...] = (0,)) -> Tuple[int, Document]:
    """As ``run``, for commands that answer in JSON: status and document."""
    command = [words[0], "--format", "json", "--quiet"] + list(words[1:])
    status, text = run(command, answers)
    try:
        document = json.loads(text)
    except ValueError as wrong:
        raise InternalError("the answer of neurolens is no JSON: %s" % wrong, status, command) from wrong
    if not isinstance(document, dict) or "result" not in document:
        raise InternalError("the answer of neurolens has no result", status, command)
    return status, document


def status_error(status: int, stderr: str, command: List[str]) -> NeuroLensError:
    """The exception for an exit status (negative: a signal) and what was written to stderr."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    text = "\n".join(line[len("neurolens: "):] if line.startswith("neurolens: ") else line for line in lines)
    if status < 0:
        return InternalError(text or "neurolens was ended by signal %d" % -status, status, command)
    return _KINDS.get(status, NeuroLensError)(text or "neurolens ended with status %d" % status, status, command)
