"""Files that are written whole or not at all, and never over what is read; links, devices and pipes stay what they are."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from errno import EACCES, EEXIST, EINVAL, EISDIR
from pathlib import Path
from secrets import token_hex
from shutil import copymode
from stat import S_ISCHR, S_ISFIFO
from tempfile import NamedTemporaryFile

from fedtheory.simulations.checked import brief

PARTIAL = ".partial"  # the ending of a file that is not whole yet


def writable(path: Path, endings: Collection[str] | None = None, mark: str = "") -> None:
    """Checks, before long work, that `write` can write the file; creates its folder.

    endings  those that the name may have; None: any
    mark     what the program's own files of this kind have in them; another file is the user's own, and stays

    Raises ValueError for another ending, a folder, a file without the mark, or a place where nothing can be written.
    """
    if endings is not None and path.suffix.removeprefix(".").lower() not in endings:
        raise ValueError(f"{brief(str(path))}: expected a name that ends in .{' or .'.join(endings)}")
    try:
        if _stream(path) is None:
            target = _target(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=target.parent, prefix=".", suffix=PARTIAL):
                pass
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(EACCES, "cannot be written")
        if mark and path.is_file() and mark.encode() not in path.read_bytes():
            raise FileExistsError(EEXIST, "is a file of your own")
    except OSError as error:
        raise ValueError(
            f"{brief(str(path))}: {error.strerror or error}; expected a file that can be written"
        ) from None


def apart(written: Mapping[str, Path | None], read: Mapping[str, Path | None]) -> None:
    """Raises ValueError where a file that is written is also read, or is written twice; None stands for no file.

    written, read  the files by what they are, such as "--out"; links to a file are that file
    """
    files = [(what, path) for what, path in (*read.items(), *written.items()) if path is not None]
    for number, (what, path) in enumerate(files):
        for other, file in files[:number]:
            if what in written and os.path.realpath(path) == os.path.realpath(file) and _stream(path) is None:
                raise ValueError(f"{brief(str(path))} is {other} and {what}: expected two files")


def _target(path: Path) -> Path:
    """The file that is replaced: the one behind links.  Raises OSError for what is no file."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(*((EISDIR, "is a directory") if target.is_dir() else (EINVAL, "is no file")))
    return target


def _stream(path: Path) -> Path | int | None:
    """What is written into, not replaced: our own output (its descriptor), a pipe, a device; None for a file."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    for own in (1, 2):
        with suppress(OSError):  # closed
            if os.path.samestat(status, os.fstat(own)):
                return own
    return path if S_ISFIFO(status.st_mode) or S_ISCHR(status.st_mode) else None


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary file to write to, which takes the place of the file at the end; it vanishes where that fails.

    Raises OSError that names the file, such as on a full disk.
    """
    partial: Path | None = None
    try:
        target = _target(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{target.name[:40]}.{token_hex(4)}{PARTIAL}")
        partial.touch(exist_ok=False)
        yield partial
        if target.exists():
            copymode(target, partial)
        os.replace(partial, target)
    except BaseException as error:
        if partial is not None:
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _unwritten(path, error) from None
        raise


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; into a device, a pipe or our own output as it is.

    Raises OSError that names the file.
    """
    stream = _stream(path)
    if stream is None:
        with whole(path) as partial:
            partial.write_bytes(content)
        return
    try:
        if isinstance(stream, int):
            sys.stdout.flush()
        with open(stream, "wb", closefd=not isinstance(stream, int)) as file:
            file.write(content)
    except OSError as error:
        raise _unwritten(path, error) from None


def _unwritten(path: Path, error: OSError) -> OSError:
    return OSError(f"cannot write {brief(str(path))}: {error.strerror or error}; expected a file that can be written")
