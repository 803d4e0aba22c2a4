# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The one reader of structured data from outside: regular files, YAML and JSON, of bounded size, depth and expansion.

Opening a FIFO would wait for a writer, and a kilobyte of YAML aliases can expand to more nodes than fit into memory.
Every error says in one line what was expected; `fields.section` checks keys and numbers.
"""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO

from robodyn_ros.base.errors import InputError

MAX_URDF_BYTES = 16 * 2**20
"""Bytes of a URDF."""

MAX_YAML_BYTES = 256 * 2**10
"""Bytes of a YAML file."""

MAX_YAML_NODES = 20_000
"""Nodes of a YAML file with every alias expanded."""

MAX_YAML_DEPTH = 50
"""Collections inside each other in a YAML file."""

MAX_JSON_BYTES = 8 * 2**20
"""Bytes of a JSON file."""

_OPEN_PIPE = re.compile(r"/dev/stdin|/(dev|proc/self)/fd/\d+")


_INTEGER_TAG, _FLOAT_TAG = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_INTEGER = re.compile(r"([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", re.ASCII)
_FLOAT = re.compile(r"([-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+|\.[0-9]+[eE][-+]?[0-9]+)"
                    r"|[-+]?\.?(inf|Inf|INF)|\.?(nan|NaN|NAN))$", re.ASCII)

def expand_user(path: str | Path) -> Path:
    """Return a path with ``~`` replaced by the home directory.

    Raises:
        InputError: There is no such user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise InputError(f"path '{path}': {error}; give the path without '~'") from None


def is_file(path: Path) -> bool:
    """Whether a path is that of a regular file; False also for a path that no file system allows."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # such as a name of 300 characters
        return False


def open_file(path: Path) -> BinaryIO:
    """Open a regular file to read, without waiting for a writer.

    Args:
        path: The file.

    Raises:
        OSError: The file cannot be read.
        InputError: It is not a regular file.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except ValueError as error:  # a null character
        raise InputError(f"path {str(path)!r}: {error}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputError(f"{path}: expected a regular file, received a directory, FIFO or device")
    return open(handle, "rb")


def read_file(path: Path, largest: int) -> bytes:
    """Return the content of a regular file.

    Args:
        path: The file.
        largest: Greatest size [bytes].

    Raises:
        OSError: The file cannot be read.
        InputError: It is not a regular file, or larger.
    """
    with open_file(path) as file:
        content: bytes | None = file.read(largest + 1)
    if content is None:  # a file of the kernel, such as /proc/kmsg
        raise InputError(f"{path}: expected a regular file, received one that has no content yet")
    if len(content) > largest:
        raise InputError(f"{path}: expected at most {largest} bytes, received more; is it the right file?")
    return content


def is_pipe_of_shell(path: Path) -> bool:
    """Whether a path is a pipe that the shell opened for this process: ``/dev/stdin``, ``<(command)``."""
    try:
        return bool(_OPEN_PIPE.fullmatch(str(path))) and stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def read_pipe(path: Path, largest: int) -> bytes:
    """Return all that a pipe of the shell delivers until its writer ends; see `is_pipe_of_shell`.

    Args:
        path: The pipe.
        largest: Greatest size [bytes].

    Raises:
        OSError: The pipe cannot be read.
        InputError: It delivers more than that, or nothing.
    """
    with open(path, "rb") as pipe:
        content = pipe.read(largest + 1)
    if not content:
        raise InputError(f"{path}: the command that writes to this pipe has written nothing; run it by itself")
    if len(content) > largest:
        raise InputError(f"{path}: expected at most {largest} bytes, received more; is it the right command?")
    return content


def read_yaml(path: Path, construct: bool = True, largest: int = MAX_YAML_BYTES) -> Any:
    """Return the content of a YAML file.

    Args:
        path: The file.
        construct: Make Python values; False: return PyYAML's nodes (None: the file is empty), where a plain scalar
            has a tag only if the file gives one.
        largest: Greatest size [bytes].

    Raises:
        InputError: The file cannot be read, is not YAML, or exceeds ``largest``, `MAX_YAML_NODES` or
            `MAX_YAML_DEPTH`.
    """
    try:
        text = read_file(path, largest).decode("utf-8")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: expected a readable YAML file, received: {error}") from error
    return yaml_value(text, str(path), construct, largest)


def yaml_value(text: str, where: str, construct: bool = True, largest: int = MAX_YAML_BYTES) -> Any:
    """Return the value of YAML given as text; bounds and errors as for `read_yaml`.

    Args:
        text: The YAML.
        where: Origin of the text, for messages.
        construct: As for `read_yaml`.
        largest: Greatest number of characters.
    """
    import yaml  # takes 20 ms, and most robots need no YAML

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
        """Stops at the bounds, before nodes become Python values; reads numbers as YAML 1.2 does.

        PyYAML reads them as YAML 1.1 does, where 1e-3 is text, 010 is 8 and 1:30 is 90.
        """

        yaml_implicit_resolvers = {  # noqa: RUF012 - as PyYAML has it
            first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_INTEGER_TAG, _FLOAT_TAG)]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            return super().resolve(kind, value, implicit) if construct else ""

        def __init__(self, text: str) -> None:
            super().__init__(text)
            self.depth = 0
            self.sizes: dict[int, int] = {}

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()
            mark, is_alias = event.start_mark, isinstance(event, yaml.AliasEvent)
            self.depth += 1
            if self.depth > MAX_YAML_DEPTH:
                raise yaml.composer.ComposerError(None, None, f"more than {MAX_YAML_DEPTH} levels", mark)
            node = super().compose_node(parent, index)
            self.depth -= 1
            if is_alias and id(node) not in self.sizes:
                raise yaml.composer.ComposerError(None, None, "a collection that contains itself", mark)
            if not is_alias:
                pairs = isinstance(node, yaml.MappingNode)
                children = ([child for pair in node.value for child in pair] if pairs
                            else node.value if isinstance(node, yaml.SequenceNode) else [])
                self.sizes[id(node)] = 1 + sum(self.sizes[id(child)] for child in children)
            if self.sizes[id(node)] > MAX_YAML_NODES:
                problem = f"more than {MAX_YAML_NODES} nodes with its aliases expanded"
                raise yaml.composer.ComposerError(None, None, problem, mark)
            return node

    for tag, pattern, number in ((_INTEGER_TAG, _INTEGER, _whole), (_FLOAT_TAG, _FLOAT, _real)):
        Loader.add_implicit_resolver(tag, pattern, list("+-.0123456789inIN"))
        Loader.add_constructor(tag, lambda _, node, number=number: number(str(node.value)))
    try:
        if len(text) > largest:
            raise ValueError(f"{len(text)} characters, more than {largest}")
        loader = Loader(text.rstrip().removesuffix("\n---"))  # ends messages that `ros2 topic echo` has printed
        node = loader.get_single_node()
        return loader.construct_document(node) if construct and node is not None else node
    except (ValueError, OverflowError, yaml.YAMLError) as error:  # ValueError: dates and immense integers
        raise InputError(f"{where}: expected a readable YAML file, received: {_why(error)}") from error


def _whole(text: str) -> int:
    digits = text.lstrip("+-")
    return int(text, {"0x": 16, "0o": 8}.get(digits[:2], 10))


def _real(text: str) -> float:
    return float(text.replace(".", "") if text[-1].isalpha() else text)


def _why(error: Exception) -> str:
    """The problem and its place in one line."""
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    place = f" in line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    return f"{' '.join(str(problem or error).split())}{place}"


def json_value(text: str | bytes, where: str) -> Any:
    """Return the value of JSON. NaN and infinity pass; the caller checks the numbers.

    Args:
        text: The JSON.
        where: Origin of the text, for messages.

    Raises:
        InputError: It is longer than `MAX_JSON_BYTES`, no JSON, too deep, or has an integer of more than 18 digits.
    """
    def whole(digits: str) -> int:
        if len(digits) > 18:
            raise ValueError(f"an integer of {len(digits)} digits")
        return int(digits)

    if len(text) > MAX_JSON_BYTES:
        raise InputError(f"{where}: expected at most {MAX_JSON_BYTES} bytes of JSON, received {len(text)}")
    try:
        return json.loads(text, parse_int=whole)
    except RecursionError:
        raise InputError(f"{where}: expected JSON, received lists or mappings in each other, too deep to be read"
                         ) from None
    except ValueError as error:  # also an error of the encoding
        raise InputError(f"{where}: expected JSON, received: {error}") from None
