"""Compiled code kept on disk from one process to the next.

An entry is a file whose name is a digest of all that the code depends on, so that what is found is never out of date,
and whose content carries a digest, so that what is damaged is not used but made and written anew. Files appear whole
or not at all; processes that write the same one write the same bytes. Because the code found is run, the directory and
its files must belong to this user and be writable by nobody else. Without a directory that will do, or with a full
disk, everything works and is compiled each time.

The environment variable ROBODYN_CACHE_DIR names the directory; empty or ``off``, nothing is kept.
"""

import contextlib
import hashlib
import logging
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

VARIABLE = "ROBODYN_CACHE_DIR"
LARGEST_SIZE = 256 * 2**20
"""Bytes kept. Beyond it the entries longest unused are removed, down to three quarters."""

_ENDING = ".code"
_OURS = re.compile(r"[0-9a-f]{64}\.code(\..*)?")
_logger = logging.getLogger(__name__)
_complaints: set[tuple[Path, bool]] = set()


class _NotPrivate(PermissionError):
    """Somebody else might have put code there."""


class Contents(NamedTuple):
    """What a cache holds.

    Attributes:
        entries: How many.
        size: Bytes of all of them.
    """

    entries: int
    size: int


def digest(*parts: str | bytes) -> str:
    """A name for what depends on all these parts, in this order, and on nothing else."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.hexdigest()


def directory() -> Path | None:
    """Where code is kept, if it is: by ROBODYN_CACHE_DIR, else robodyn_ros in the user's directory for caches."""
    if not hasattr(os, "geteuid"):  # a system that does not say whose a file is
        return None
    given, base = os.environ.get(VARIABLE), os.environ.get("XDG_CACHE_HOME", "")
    if given in ("", "off"):
        return None
    with contextlib.suppress(RuntimeError):  # there may be no home
        if given is not None:
            return Path(given).expanduser().absolute()
        return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "robodyn_ros"
    return None


def load(key: str) -> bytes | None:
    """The code kept under a name from `digest`; None if there is none, or it is damaged or not this user's."""
    folder = directory()
    if folder is None:
        return None
    try:
        _check_private(os.stat(folder), stat.S_ISDIR, folder)
        with open(os.open(folder / (key + _ENDING), os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            _check_private(os.fstat(file.fileno()), stat.S_ISREG, folder)
            content = file.read()
            with contextlib.suppress(OSError):
                os.utime(file.fileno())  # so that what is used is not what is removed
    except FileNotFoundError:
        return None
    except OSError as error:
        _complain(folder, error)
        return None
    checksum, image = content[:32], content[32:]
    return image if checksum == _checksum(key, image) else None


def store(key: str, image: bytes) -> None:
    """Keep code under a name from `digest`, if there is a place for it."""
    folder = directory()
    if folder is None:
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        _check_private(os.stat(folder), stat.S_ISDIR, folder)
        handle, temporary = tempfile.mkstemp(prefix=f"{key}{_ENDING}.", dir=folder)
        try:
            with open(handle, "wb") as file:
                file.write(_checksum(key, image) + image)
            os.replace(temporary, folder / (key + _ENDING))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _make_room(folder)
    except OSError as error:
        _complain(folder, error)


def contents() -> Contents:
    """What is kept."""
    sizes = [info.st_size for entry, info in _files() if entry.name.endswith(_ENDING)]
    return Contents(len(sizes), sum(sizes))


def clear() -> Contents:
    """Remove what is kept; returns what was removed."""
    removed = []
    for entry, info in _files():
        with contextlib.suppress(FileNotFoundError):
            os.unlink(entry.path)
            removed.append(info.st_size)
    return Contents(len(removed), sum(removed))


def _checksum(key: str, image: bytes) -> bytes:
    return bytes.fromhex(digest(key, image))


def _check_private(info: os.stat_result, is_kind: Callable[[int], bool], folder: Path) -> None:
    """Refuse a directory or file that is something else, that somebody else owns, or may write."""
    if not is_kind(info.st_mode):
        raise _NotPrivate(f"{folder} is not a directory of plain files")
    if info.st_uid != os.geteuid() or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _NotPrivate(f"{folder} or a file in it belongs to another user, or may be written by one")


def _complain(folder: Path, error: OSError) -> None:
    """Say once that code cannot be kept; aloud where that is a matter of trust."""
    serious = isinstance(error, _NotPrivate)
    if (folder, serious) not in _complaints:
        _complaints.add((folder, serious))
        _logger.log(
            logging.WARNING if serious else logging.DEBUG,
            "compiled code is not kept in %s: %s; set %s to a directory of your own, or to 'off'",
            folder,
            error,
            VARIABLE,
        )


def _files(folder: Path | None = None) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    """The cache's files with their sizes and times; those that another process just removed are left out."""
    folder = folder or directory()
    if folder is None or not folder.is_dir():
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name):
                with contextlib.suppress(FileNotFoundError):
                    yield entry, entry.stat(follow_symlinks=False)


def _make_room(folder: Path) -> None:
    """Remove the files longest unused where all together are too large."""
    files = sorted(_files(folder), key=lambda file: file[1].st_mtime)
    size = sum(info.st_size for _, info in files)
    if size <= LARGEST_SIZE:
        return
    for entry, info in files:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(entry.path)
        size -= info.st_size
        if size <= LARGEST_SIZE * 3 // 4:
            return
