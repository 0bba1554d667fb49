"""nlens.Ledger: the runs that were kept, as `neurolens add`, `ls`, `show`, `tag`, `note` and `trend` know them."""
import os
from typing import Any, List, Mapping, Optional, Union

from ._engine import UsageError, ask
from ._profile import Path, Profile, Row
from ._profile import open as open_profile


class Ledger:
    """A folder of runs.

        ledger = nlens.Ledger()                       # the usual one; or Ledger("folder")
        ledger.add("train.nlt", tags=["nightly"], facts={"batch_size": 32})
        ledger.runs("tag=nightly", "added>-7d")       # the newest first
        ledger.open("@~1").answer                     # a run as a profile: @, @~1, an id, a tag
        ledger.trend("step.p50")["changes"]

    Every call is one run of the command; several processes may use a ledger at once. Raises SurroundingsError when the folder cannot be
    used, InputError when there is no such run, UsageError for a wrong filter or name.
    """

    def __init__(self, folder: Optional[Path] = None) -> None:
        self.folder = None if folder is None else os.path.abspath(os.fspath(folder))

    def __repr__(self) -> str:
        return "nlens.Ledger(%s)" % ("" if self.folder is None else repr(self.folder))

    def _ask(self, command: str, words: List[str]) -> Any:
        options = [] if self.folder is None else ["--ledger", self.folder]
        return ask([command] + options + words)[1]["result"]

    def runs(self, *filters: str, sort: Optional[str] = None, limit: Optional[int] = None, columns: Optional[str] = None) -> List[Row]:
        """Runs that all filters hold for (``"batch_size=32"``, ``"mean_step_ns>200ms"``), the newest first: ``id``, ``name``, ``added``, ``tags``,
        facts and metrics (``…_ns`` are ns). ``sort``: a name, ``-name`` the largest first; ``columns``: names, ``+names`` for more."""
        words = [] if sort is None else ["--sort", sort]
        words += [] if limit is None else ["--limit", str(limit)]
        words += [] if columns is None else ["--columns", columns]
        found: List[Row] = self._ask("ls", words + ["--"] + list(filters))
        return found

    def add(self, path: Path, *, tags: Union[str, List[str], None] = None, facts: Optional[Mapping[str, object]] = None) -> str:
        """Keeps a profile as a run; its id. The same content is kept once. ``facts`` override what the file says."""
        words = [word for key, value in (facts or {}).items() for word in ("--set", "%s=%s" % (key, value))]
        added: Row = self._ask("add", words + ["--", os.fspath(path)])[0]
        name: str = added["id"]
        for tag in [tags] if isinstance(tags, str) else tags or []:
            self.tag(name, tag)
        return name

    def open(self, run: str = "@", *, memory: Union[None, int, str] = None) -> Profile:
        """A run as a profile: ``@`` is the newest, ``@~2`` two before it; an id or its first 6 digits; a tag. It stays that
        run when others are added. ``memory`` as in ``nlens.open``."""
        if os.path.exists(run):
            raise UsageError("there is a file %s here, which would be read; name the run by its id" % run, 2)
        return open_profile(run, memory=memory, ledger=self.folder)

    def show(self, run: str = "@") -> Row:
        """All that is known of a run: ``metadata`` (with where each came from), ``metrics``, …"""
        found: Row = self._ask("show", ["--", run])
        return found

    def tag(self, run: str, tag: str) -> None:
        """Names a run. Other runs keep the tag; the newest that got it is meant by it."""
        self._ask("tag", ["--", run, tag])

    def note(self, run: str, text: str) -> None:
        """Attaches a note to a run."""
        self._ask("note", ["--", run, text])

    def trend(self, metric: str, *filters: str) -> Row:
        """The metric of the runs in the order in which they were added: ``series`` (``value``, ``unit``, ``id``, ``added``), ``changes`` of its level,
        ``headline``."""
        found: Row = self._ask("trend", ["--all", "--", metric] + list(filters))
        return found
