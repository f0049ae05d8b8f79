"""The store: results of earlier runs, in the user's cache folder.

A result is kept with everything that it was made from: the task's name, the versions of Python and of the packages
that it needs, the processor, and the content of every file that the process which made it had read by then: our modules, a
user's own, data.  It is given out only if all of these are the same now.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import re
import sqlite3
import sys
import sysconfig
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec, source_from_cache
from pathlib import Path
from stat import S_ISREG
from typing import Any

import diskcache
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from platformdirs import user_cache_dir

from fedtheory import plugins
from fedtheory.simulations.checked import reason

FLOORS = ("theory", "simulations", "bounds", "figures")
_HOME = Path(__file__).resolve().parent
_FOLDERS = (_HOME, *((_HOME / floor).resolve() for floor in FLOORS))  # in a clone, the floors are links
ROOT = Path(os.path.commonpath(_FOLDERS))
_SIZE = 2**30  # bytes; what was not used for longest goes first
_VARIANTS = 4  # of one result: for as many states of the code, such as branches
_MARGIN = 2_000_000_000  # nanoseconds: some file systems count in steps of two seconds
_SWITCHES = (
    "OPENBLAS_CORETYPE",
    "NPY_",
    "NUMBA_",
    "MKL_CBWR",
    "PYTHONHASHSEED",
    "FEDTHEORY_PAPERS",
    "FEDTHEORY_MEMORY",
    "FEDTHEORY_HOURS",
)
_EXTRAS = ("networks", "proofs", "fast")  # of our packages: those that results depend on
_PLACES = ("stdlib", "platstdlib", "purelib", "platlib")
LIBRARIES = tuple({os.path.realpath(sysconfig.get_path(name)) + os.sep for name in _PLACES})
_WRITES = os.O_WRONLY | os.O_CREAT
_DRAWN = str((_HOME / "figures").resolve() / "drawn") + os.sep
_SYSTEM = ("/proc/", "/sys/", "/dev/")
_DAMAGED = "the store of results in {} is damaged: what is lost is computed again; delete the folder to mend it"
_NOT_KEPT = "no more results are kept in {}"
_DIGEST = hashlib.sha256().digest_size

Files = frozenset[tuple[str, str]]  # names, each with the digest of its content
_opened: set[str] = set()  # since they were last told
_told: set[str] = set()  # the modules whose files have been told


def folder() -> Path:
    """The store's folder: FEDTHEORY_STORE, or `fedtheory` in the user's cache folder."""
    return Path(os.environ.get("FEDTHEORY_STORE") or user_cache_dir("fedtheory", appauthor=False))


class Store:
    """Results by the name of their task.  Raises OSError if the folder cannot be used.

    A damaged entry counts as none.  After one that cannot be kept, as on a full disk, no more are kept.  Both are said once,
    on standard error.
    """

    def __init__(self, where: Path | None = None, fresh: bool = False) -> None:
        """`fresh` keeps results and gives none out."""
        self.fresh, self._where = fresh, where or folder()
        try:
            self._kept = diskcache.Cache(str(self._where), size_limit=_SIZE, eviction_policy="least-recently-used")
        except sqlite3.Error as error:
            raise OSError(f"{self._where}: cannot be used as the store of results ({error})") from None
        self._digests: dict[str, str] = {}
        self._states: dict[str, Files | None] = {}
        self._said: set[str] = set()

    def find(self, name: str) -> tuple[Any, Files] | None:
        """The result of a task and the files that it was made from; None if there is none for things as they are now."""
        for state, result in [] if self.fresh else self._read(_key(name)) or []:
            if (files := self._as_now(state)) is not None:
                return pickle.loads(result), files
        return None

    def keep(self, name: str, result: Any, files: Files) -> None:
        """Keep a result that was made from these files."""
        state = _state(files)
        if self._states.get(state) is None:
            self._write(state, files)
            self._states[state] = files
        others = [kept for kept in self._read(_key(name)) or [] if kept[0] != state]
        self._write(_key(name), [(state, pickle.dumps(result)), *others][:_VARIANTS])

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """A result from here, or made and kept; `name` says all that it depends on."""
        if (found := self.find(name)) is not None:
            return found[0]
        result = make()
        self.keep(name, result, frozenset())
        return result

    def _as_now(self, state: str) -> Files | None:
        """The files of this state, which many results share; None if one of them is different now."""
        if state not in self._states:
            files = self._read(state)
            same = files is not None and all(self._digest(file) == content for file, content in files)
            self._states[state] = files if same else None
        return self._states[state]

    def _read(self, key: str) -> Any:
        """An entry; None where there is none, or where its bytes are not those that were written."""
        try:
            found = self._kept.get(key)
            if found is None or found[:_DIGEST] == _signed(found[_DIGEST:])[:_DIGEST]:
                return None if found is None else pickle.loads(found[_DIGEST:])
            raise ValueError("an entry's checksum is another one")
        except Exception as error:  # of damaged bytes, anything
            self._say(_DAMAGED, error)
        return None

    def _write(self, key: str, value: Any) -> None:
        try:
            if _NOT_KEPT not in self._said:
                self._kept[key] = _signed(pickle.dumps(value))
        except (sqlite3.Error, OSError, diskcache.Timeout) as error:
            self._say(_NOT_KEPT, error)

    def _say(self, what: str, error: Exception) -> None:
        """Say once in one line what is wrong with the store."""
        if what not in self._said:
            self._said.add(what)
            print(f"fedtheory: {what.format(self._where)} ({reason(error)})", file=sys.stderr)

    def _digest(self, file: str) -> str:
        if file not in self._digests:
            self._digests[file] = digest(file)
        return self._digests[file]


def _signed(content: bytes) -> bytes:
    """The content after its checksum."""
    return hashlib.sha256(content).digest() + content


@cache
def _state(files: Files) -> str:
    return hashlib.sha256(repr(sorted(files)).encode()).hexdigest()


def _key(name: str) -> str:
    return hashlib.sha256(f"{environment()}\n{name}".encode()).hexdigest()


@cache
def environment() -> str:
    """What all results depend on besides files: Python, libraries, the processor, switches, our modules' names."""
    switches = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(_SWITCHES))
    return repr((sys.version, platform.platform(), _processor(), _libraries(), switches, _modules()))


def _libraries() -> list[str]:
    """The installed packages that our modules need, directly or not, with their versions; tools beside them do not count."""
    found: dict[str, str] = {}
    left = [need for extra in ("", *_EXTRAS) for need in _needs("fedtheory", extra)]
    while left:
        name = canonicalize_name(left.pop())
        if name not in found:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                continue
            left += _needs(name, "")
    return sorted(f"{name}=={number}" for name, number in found.items())


def _needs(package: str, extra: str) -> list[str]:
    """The names of the packages that an installed one needs here."""
    lines = map(Requirement, requires(package) or ())
    return [one.name for one in lines if one.marker is None or one.marker.evaluate({"extra": extra})]


@cache
def code() -> str:
    """A digest of our modules, data files and the versions of the libraries: the same where numbers are the same."""
    ours = sorted({path for folder in _FOLDERS for end in ("py", "toml") for path in folder.rglob(f"*.{end}")})
    needed = [line for line in requires("fedtheory") or () if "extra ==" not in line]
    versions = [f"{name}=={version(name)}" for line in needed if (name := re.split(r"[^\w.-]", line)[0])]
    return hashlib.sha256("\n".join([sys.version, *versions, *contents(ours)]).encode()).hexdigest()


def everything(since: int) -> str | None:
    """A digest of all files of our packages but bytecode and the drawn figures: modules, records, templates.

    since  a time before this process read them, in nanoseconds; None if one may have changed after it
    """
    every = (path for folder in _FOLDERS for path in folder.rglob("*") if path.suffix != ".pyc" and path.is_file())
    ours = sorted(path for path in every if not str(path).startswith(_DRAWN))
    if any(max(path.stat().st_ctime_ns, path.stat().st_mtime_ns) > since - _MARGIN for path in ours):
        return None
    return hashlib.sha256("\n".join(contents(ours)).encode()).hexdigest()


def contents(paths: Iterable[Path]) -> list[str]:
    """The files below our packages' folder, each with the digest of its content."""
    return [f"{path.relative_to(ROOT)} {digest(str(path))}" for path in paths]


def _modules() -> list[str]:
    """The modules of our packages, and of others' papers beside them: whether one is there changes what a paper has."""
    specs = [spec for name in filter(None, plugins.packages().values()) if (spec := find_spec(name))]
    places = [*_FOLDERS, *(Path(place) for spec in specs for place in spec.submodule_search_locations or ())]
    return sorted(f"{place.name}/{path.relative_to(place)}" for place in places for path in place.rglob("*.py"))


def _processor() -> str:
    """The processor's instructions where the system tells them."""
    told = Path("/proc/cpuinfo")
    if not told.exists():
        return platform.processor()
    return next((line for line in told.read_text().splitlines() if line.startswith(("flags", "Features"))), "")


# ---------------------------------------------------------------------------------------------- in a worker process


def watch() -> None:
    """From now on, note the files that this process reads."""

    def note(event: str, given: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(given[0], str) and not given[2] & _WRITES:
            _opened.add(os.path.abspath(given[0]))

    sys.addaudithook(note)


def files_read(since: int) -> Files | None:
    """The files that this process has read since it was last asked, with their contents; None if one may have changed.

    since  a time before this process began, in nanoseconds: a file that is older is still as it was read
    """
    modules = sys.modules.keys() - _told
    _told.update(modules)
    opened = _opened.copy()
    _opened.difference_update(opened)
    sources = [getattr(sys.modules[name], "__file__", None) for name in modules]
    found = set()
    for file in {own for file in (*sources, *opened) if file and (own := _input(file))}:
        try:
            status = os.stat(file)
        except OSError:
            found.add((_short(file), ""))  # looked for and not there
            continue
        if max(status.st_ctime_ns, status.st_mtime_ns) > since - _MARGIN:
            return None
        if S_ISREG(status.st_mode):
            found.add((_short(file), _content(file, status.st_mtime_ns)))
    return frozenset(found)


@cache
def _input(file: str) -> str:
    """The whole path of a file that is an input; empty for one that the version of a package covers, or the system's."""
    real = os.path.realpath(file)
    ours = real.startswith(tuple(f"{folder}{os.sep}" for folder in _FOLDERS))
    if real.startswith((*LIBRARIES, *_SYSTEM)) and not ours:
        return ""
    if real.startswith(_DRAWN):  # a drawing is taken from there only if it is the same
        return ""
    if real.endswith((".nbi", ".nbc")):  # numba's cache: made of a module that is read too
        return ""
    compiled = real.endswith(".pyc") and Path(real).parent.name == "__pycache__"
    return source_from_cache(real) if compiled else real


@cache
def _short(file: str) -> str:
    """A file below our packages' folder by its path from there: clones share results."""
    path = Path(file)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else file


@cache
def _content(file: str, changed: int) -> str:
    return digest(file)


def digest(file: str) -> str:
    """The digest of a file's content, of an absolute path or one from our packages' folder; empty if it cannot be read."""
    try:
        return hashlib.sha256((ROOT / file).read_bytes()).hexdigest()
    except OSError:
        return ""
