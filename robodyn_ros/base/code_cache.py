# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Keeps compiled code on disk from one process to the next.

The name of a file is a digest of everything that the code depends on, so an entry is never out of date. Its content
carries a digest, so damaged code is compiled again and replaced. The process runs the code that it finds; therefore
the directory and its files must belong to this user, and nobody else may write them. Without such a directory, or with
a full disk, code is compiled each time. The environment variable ROBODYN_CACHE_DIR names the directory; an empty value
or ``off`` turns the cache off. The default directory, `user_folder`, is made private, whatever its permissions were.
"""

import contextlib
import hashlib
import logging
import os
import re
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

VARIABLE = "ROBODYN_CACHE_DIR"
MAX_SIZE = 256 * 2**20
"""Bytes kept. Above it the entries unused for longest are removed, until three quarters are left."""

_SUFFIX = ".code"
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_CACHE_FILE = re.compile(r"[0-9a-f]{64}\.code(\..*)?")
_logger = logging.getLogger(__name__)
_logged: set[tuple[Path, int]] = set()
_left: dict[Path, int] = {}
"""What this process stores in a folder before it lists the files there anew, which may be thousands [bytes]."""


class _NotPrivate(PermissionError):
    """Another user could have written the code."""


class Contents(NamedTuple):
    """Number of entries, and the size of all [bytes]."""

    entries: int
    size: int


def digest(*parts: str | bytes) -> str:
    """Return the name of an entry that depends on exactly these parts, in this order."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "little") + data)
    return found.hexdigest()


def user_folder() -> Path:
    """The folder robodyn_ros in the user's cache directory.

    Raises:
        RuntimeError: The user has no home directory.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "robodyn_ros"


def make_private(folder: Path) -> None:
    """Make a folder, or remove other users' permission to write from one that this user owns.

    Raises:
        OSError: It cannot be made, or belongs to another user.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        info = os.fstat(handle)
        if info.st_uid == os.geteuid() and info.st_mode & _WRITABLE_BY_OTHERS:
            os.fchmod(handle, 0o700)
        _check_private(os.fstat(handle), stat.S_ISDIR, folder)
    finally:
        os.close(handle)


def directory() -> Path | None:
    """The cache's directory: ROBODYN_CACHE_DIR, else `user_folder`; None for no cache."""
    if not hasattr(os, "geteuid"):  # such a system cannot identify the owner of a file
        return None
    given = os.environ.get(VARIABLE)
    if given in ("", "off"):
        return None
    with contextlib.suppress(RuntimeError):  # no home directory
        return user_folder() if given is None else Path(given).expanduser().absolute()
    return None


def load(key: str) -> bytes | None:
    """Return the code stored under a key; None if there is none, it is damaged, or another user could write it."""
    folder = directory()
    if folder is None:
        return None
    try:
        _check_folder(folder)
        # Non-blocking: opening a FIFO in the place of an entry would otherwise wait for a writer.
        with open(os.open(folder / (key + _SUFFIX), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            info = os.fstat(file.fileno())
            _check_private(info, stat.S_ISREG, folder)
            content = file.read() if info.st_size <= MAX_SIZE else b""
            with contextlib.suppress(OSError):
                os.utime(file.fileno())  # the entries unused for longest are removed first
    except FileNotFoundError:
        return None
    except OSError as error:
        _log_not_kept(folder, error)
        return None
    checksum, image = content[:32], content[32:]
    return image if checksum == _checksum(key, image) else None


def store(key: str, image: bytes) -> None:
    """Store code under a key, if the cache is on."""
    folder = directory()
    if folder is None:
        return
    try:
        if not folder.exists():
            make_private(folder)
        _check_folder(folder)
        handle, temporary = tempfile.mkstemp(prefix=f"{key}{_SUFFIX}.", dir=folder)
        try:  # written to a temporary file, then moved: other processes see either nothing or the whole entry
            with open(handle, "wb") as file:
                file.write(_checksum(key, image) + image)
            os.replace(temporary, folder / (key + _SUFFIX))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _left[folder] = _left.get(folder, 0) - len(image)
        if _left[folder] <= 0:
            files = _files(folder)
            if sum(info.st_size for _, info in files) > MAX_SIZE:
                _remove_oldest(files, MAX_SIZE * 3 // 4)
            _left[folder] = MAX_SIZE // 64
    except OSError as error:
        _log_not_kept(folder, error)


def contents() -> Contents:
    """Count the entries and their bytes."""
    sizes = [info.st_size for entry, info in _files(directory()) if entry.name.endswith(_SUFFIX)]
    return Contents(len(sizes), sum(sizes))


def clear() -> Contents:
    """Remove all entries; return their number and size."""
    return _remove_oldest(_files(directory()), -1)


def _checksum(key: str, image: bytes) -> bytes:
    return bytes.fromhex(digest(key, image))


def _check_folder(folder: Path) -> None:
    """Reject a directory that other users may write, except the user's own one, which is made private."""
    info = os.stat(folder)
    if info.st_mode & _WRITABLE_BY_OTHERS and VARIABLE not in os.environ:
        make_private(folder)
    else:
        _check_private(info, stat.S_ISDIR, folder)


def _check_private(info: os.stat_result, is_kind: Callable[[int], bool], folder: Path) -> None:
    """Reject an entry of the wrong kind, one of another owner, and one that other users may write."""
    if not is_kind(info.st_mode):
        raise _NotPrivate(f"{folder} is not a directory of plain files")
    if info.st_uid != os.geteuid() or info.st_mode & _WRITABLE_BY_OTHERS:
        raise _NotPrivate(f"{folder} or a file in it belongs to another user, or may be written by one")


def _log_not_kept(folder: Path, error: OSError) -> None:
    """Log once that caching is off: WARNING for unsafe permissions, else DEBUG."""
    level = logging.WARNING if isinstance(error, _NotPrivate) else logging.DEBUG
    if (folder, level) not in _logged:
        _logged.add((folder, level))
        _logger.log(level, "compiled code is not kept in %s: %s; set %s to a directory of your own, or to 'off'",
                    folder, error, VARIABLE)


def _files(folder: Path | None) -> list[tuple[os.DirEntry[str], os.stat_result]]:
    """The cache's files, the longest unused first, without files that another process has just removed."""
    found = []
    if folder is not None and folder.is_dir():
        with os.scandir(folder) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):
                    if _CACHE_FILE.fullmatch(entry.name):
                        found.append((entry, entry.stat(follow_symlinks=False)))
    return sorted(found, key=lambda file: file[1].st_mtime)


def _remove_oldest(files: list[tuple[os.DirEntry[str], os.stat_result]], largest: int) -> Contents:
    """Remove the files unused for longest until the rest is at most this size [bytes]; return what was removed."""
    left, removed = sum(info.st_size for _, info in files), []
    for entry, info in files:
        if left <= largest:
            break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(entry.path)
            removed.append(info.st_size)
        left -= info.st_size
    return Contents(len(removed), sum(removed))
