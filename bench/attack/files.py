# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.
"""Files of strangers: recordings, tables, results, checkpoints, scenes; hostile by hand, and mutated by chance."""

from __future__ import annotations

import json
import os
import random
import resource
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from mcap_ros2.writer import Writer
from scipy.io import savemat

from bench.attack.parquet_files import bomb, good_table, hostile_tables, many_groups, mutated_headers
from robodyn_ros.base.errors import RobodynError
from robodyn_ros.base.optional_packages import is_installed
from robodyn_ros.description.resources import robot_file
from robodyn_ros.robot import Robot
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.toolbox.recording.recorded_ticks import RecordedTicks
from robodyn_ros.toolbox.recording.run import Run
from robodyn_ros.toolbox.recording.table_file import Table
from robodyn_ros.toolbox.study.gain_search import Checkpoint
from robodyn_ros.toolbox.study.results import SAMPLE, STREAM, About, Results, ResultStream

ROBOT = "planar_2r"
JOINTS = ["joint1", "joint2"]
SEPARATOR = "=" * 80
STATE = f"""std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
{SEPARATOR}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
"""
SECOND = 1_000_000_000
LONGEST = 5.0
"""Processor time for a hostile file [s]; 8 MB of JSON take 2 s on a slow and busy machine, others less."""

LARGEST_GROWTH = 400
"""Memory for a hostile file [MB]."""

Message = Mapping[str, Any]


def state(time: float = 0.0, names: list[str] | None = None, position: list[float] | None = None) -> Message:
    """A joint state at a time [s]."""
    seconds, rest = divmod(round(time * SECOND), SECOND)
    names = JOINTS if names is None else names
    return {"header": {"stamp": {"sec": seconds, "nanosec": rest}}, "name": names,
            "position": [0.1] * len(names) if position is None else position, "velocity": [0.0] * len(names),
            "effort": [0.0] * len(names)}


def write_recording(path: Path, messages: list[Message], *, definition: str = STATE, parameters: Any = None,
                    texts: Mapping[str, str] | None = None, topics: tuple[str, ...] = ("/joint_states",)) -> Path:
    """Write a recording of joint states.

    Args:
        path: The file.
        messages: By field of the definition.
        definition: Of the messages.
        parameters: Entries of the metadata record of a node's parameters; None: none.
        texts: Text of each further topic, by name.
        topics: Topics with these messages.
    """
    with path.open("wb") as file:
        writer = Writer(file)
        schema = writer.register_msgdef("sensor_msgs/msg/JointState", definition)
        for number, message in enumerate(messages):
            for topic in topics:
                writer.write_message(topic, schema, message, log_time=number * SECOND // 500)
        for topic, text in (texts or {}).items():
            writer.write_message(topic, writer.register_msgdef("std_msgs/msg/String", "string data"), {"data": text}, 0)
        if parameters is not None:
            writer.add_metadata("parameters", parameters)
        writer.finish()
    return path


def states(count: int = 20, begin: float = 0.0, **options: Any) -> list[Message]:
    """Joint states at 500 Hz from a time on [s]."""
    return [state(begin + 0.002 * number, **options) for number in range(count)]


def parameters(**values: Any) -> dict[str, str]:
    """The metadata record of the parameters of the hardware node."""
    return {"node": "/hardware", "time": "0", "values": json.dumps(values)}


def zstd_bomb(path: Path, claimed: int | None = None, size: int = 6 * 10**9) -> Path:
    """A recording whose one chunk grows to some bytes.

    Args:
        path: The file.
        claimed: Size that it says it has; None: the true one.
        size: The size [bytes].
    """
    import zstandard

    compressor = zstandard.ZstdCompressor(level=3).compressobj(size=size)
    zeros = bytes(10**7)
    data = b"".join(compressor.compress(zeros) for _ in range(size // len(zeros))) + compressor.flush()
    body = struct.pack("<QQQI", 0, 0, size if claimed is None else claimed, 0)
    body += struct.pack("<I", 4) + b"zstd" + struct.pack("<Q", len(data)) + data
    magic = b"\x89MCAP0\r\n"
    path.write_bytes(magic + struct.pack("<BQ", 1, 8) + bytes(8) + struct.pack("<BQ", 6, len(body)) + body)
    return path


def hostile_recordings(folder: Path) -> Iterator[Path]:
    """Write recordings of which each is refused, or drawn, but never a traceback, slow or large; one after another."""
    def write(name: str, messages: list[Message] | None = None, **options: Any) -> Path:
        return write_recording(folder / f"{name}.mcap", states() if messages is None else messages, **options)

    for name, values in {"scalar": "3", "text": "x", "list": "[1]", "deep": "[" * 5000 + "]" * 5000,
                         "tag": "!!python/object/apply:os.system ['touch ran']", "bomb": _yaml_bomb(),
                         "integer": "a: " + "1" * 5000, "nothing": "", "cyclic": "&a [*a]"}.items():
        yield write(f"metadata_{name}", parameters={"node": "/hardware", "time": "0", "values": values})
    yield write("metadata_without_node", parameters={"values": "{}"})
    yield write("metadata_without_values", parameters={"node": "/hardware"})
    for name, value in {"text": "x", "short": [1.0], "nan": [0, 0, float("nan")], "mapping": {"a": 1}}.items():
        yield write(f"gravity_{name}", parameters=parameters(gravity=value), texts=_description())
    rates: tuple[Any, ...] = (0, -1, "x", 1e308, [1], float("nan"))
    for number, rate in enumerate(rates):
        yield write(f"rate_{number}", parameters=parameters(update_rate=rate))
    for name, names in {"empty": [], "blank": [""], "long": ["j" * 10**5], "twice": ["j", "j"], "control": ["a\x1b[2J"],
                        "formula": ["$\\frac{", "$x^$"], "many": [f"j{i}" for i in range(20_000)]}.items():
        yield write(f"names_{name}", states(names=names))
    for name, angle in {"huge": 1e308, "infinite": float("inf"), "negative": -1e308, "nan": float("nan")}.items():
        yield write(f"position_{name}", states(position=[angle, 0.1]))
    yield write("positions_missing", states(position=[]))
    yield write("positions_many", states(position=[0.1] * 1000))
    yield write("time_apart", [state(0.0), state(2e9)])
    yield write("time_back", [state(1.0), state(0.0)])
    yield write("one_state", [state()])
    for name, definition in {"fieldless": "", "without_header": "string[] name\nfloat64[] position\n",
                             "texts": STATE.replace("float64[]", "string[]"),
                             "no_array": STATE.replace("float64[]", "float64"),
                             "itself": "sensor_msgs/JointState inner\n", "immense": "float64[4000000000] position\n",
                             "nonsense": "{[(\x00", "wide": "wstring[] name\n"}.items():
        yield _with_definition(folder / f"definition_{name}.mcap", definition)
    for name, text in {"path": "/etc/passwd", "xacro": "evil.urdf.xacro", "open": "<robot", "long": "<" * 10**6,
                       "entities": '<!DOCTYPE r [<!ENTITY a "b">]><robot name="&a;"/>'}.items():
        yield write(f"description_{name}", texts={"/robot_description": text})
    yield zstd_bomb(folder / "bomb.mcap", size=6 * 10**9)
    yield zstd_bomb(folder / "bomb_that_lies.mcap", claimed=1000, size=10**9)
    good = write("whole").read_bytes()
    for name, content in {"empty": b"", "magic": good[:8], "half": good[:len(good) // 2], "zeros": bytes(10**6),
                          "length": good[:9] + b"\xff" * 8 + good[17:]}.items():
        (folder / f"bytes_{name}.mcap").write_bytes(content)
        yield folder / f"bytes_{name}.mcap"
    os.mkfifo(folder / "fifo.mcap")
    yield folder / "fifo.mcap"
    (folder / "folder_with_fifo").mkdir()
    os.mkfifo(folder / "folder_with_fifo" / "run_0.mcap")
    yield folder / "folder_with_fifo"


def _with_definition(path: Path, definition: str) -> Path:
    """Joint states whose definition is another one than that of their bytes."""
    from mcap.writer import Writer as Plain

    message = b"\0\1\0\0" + struct.pack("<IIIIII", 0, 0, 1, 0, 1, 2) + b"j\0" + bytes(200)
    with path.open("wb") as file:
        writer = Plain(file)
        writer.start(profile="ros2", library="attack")
        schema = writer.register_schema("sensor_msgs/msg/JointState", "ros2msg", definition.encode())
        channel = writer.register_channel("/joint_states", "cdr", schema)
        for number in range(3):
            writer.add_message(channel, number, message, number)
        writer.finish()
    return path


def _description() -> dict[str, str]:
    return {"/robot_description": robot_file(ROBOT).read_text(encoding="utf-8")}


def _yaml_bomb() -> str:
    return "a: &a0 [x]\n" + "".join(f"b{i}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]\n" for i in range(12))


def hostile_scenes(folder: Path) -> Iterator[Path]:
    """Write scenes of MuJoCo of which each is refused soon, one after another."""
    def write(name: str, world: str = "", before: str = "") -> Path:
        path = folder / f"{name}.xml"
        path.write_text(f"<mujoco>{before}<worldbody><site name='base_link'/>{world}</worldbody></mujoco>")
        return path

    def field(rows: float, columns: float) -> str:
        return f"<asset><hfield name='f' nrow='{rows:g}' ncol='{columns:g}' size='1 1 1 1'/></asset>"

    body, box = "<body><geom size='1'/></body>", "<geom type='box' size='1 1 1'/>"
    os.mkfifo(folder / "fifo.xml")
    yield folder / "fifo.xml"
    yield write("field", before=field(60000, 60000))
    yield write("fields", before="".join(field(2000, 2000).replace("'f'", f"'f{n}'") for n in range(400)))
    for kind, size in (("2d", 60000), ("skybox", 30000)):
        yield write(f"texture_{kind}", before=f"<asset><texture name='t' type='{kind}' builtin='flat' width='{size}' "
                    f"height='{size}'/></asset>")
    yield write("include_of_fifo", before="<include file='fifo.xml'/>")
    yield write("include_of_itself", before="<include file='include_of_itself.xml'/>")
    yield write("include_of_passwd", before="<include file='/etc/passwd'/>")
    yield write("include_of_nothing", before="<include/>")
    yield write("mesh_of_fifo", before="<asset><mesh name='m' file='fifo.xml'/></asset>")
    yield write("mesh_of_zeros", before="<asset><mesh name='m' file='/dev/zero' content_type='model/stl'/></asset>")
    (folder / "inner.xml").write_text("<mujoco><include file='fifo.xml'/></mujoco>")
    yield write("include_of_include", before="<include file='inner.xml'/>")
    yield write("replicate", f"<replicate count='2000000000'>{box}</replicate>")
    yield write("replicate_twice", f"<replicate count='3000'><replicate count='3000'>{box}</replicate></replicate>")
    yield write("composite", "<body><composite type='cable' count='1000000000 1 1' size='1'><geom size='1'/>"
                             "</composite></body>")
    yield write("flexcomp", "<flexcomp name='f' type='grid' count='5000 5000 50' spacing='1 1 1' mass='1'/>")
    yield write("bodies", body * 20_000)
    yield write("deep", "<body><geom size='1'/>" * 20_000 + "</body>" * 20_000)
    yield write("memory", before="<size memory='1000G'/>")
    yield write("nstack", before="<size nstack='100000000000'/>")
    yield write("sensors", before="<size nuserdata='2000000000'/>")
    yield write("entities", before="&lol;")
    yield write("number", "<geom size='1e999'/>")
    (folder / "cut.xml").write_text("<mujoco><worldbody>")
    yield folder / "cut.xml"
    (folder / "zeros.xml").write_bytes(bytes(10**6))
    yield folder / "zeros.xml"
    (folder / "large.xml").write_text("<mujoco>" + " " * 40_000_000 + "</mujoco>")
    yield folder / "large.xml"


def hostile_parquet_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Make tables and results, with their names; those of results begin with the word."""
    yield from hostile_tables()
    good = write_results(folder / "good.parquet").read_bytes()
    yield "results_bomb", bomb(good, "zstd")
    yield "results_groups", many_groups(good)


def write_results(path: Path) -> Path:
    """Write results of a study beside their stream."""
    about = About("arm.yaml", "digest", "", "", 0, 8, ("payload.mass",), {})
    stream = ResultStream(path.with_name(STREAM), about)
    stream.append({"law": "pd", SAMPLE: np.arange(8), "rms_error": np.ones(8), "payload.mass": np.ones(8)})
    stream.close()
    Results.read(path.with_name(STREAM)).write(path)
    return path


def hostile_checkpoints(folder: Path) -> Iterator[Path]:
    """Write states of searches, one after another; all but infinite costs are refused."""
    for name, costs in {"none": "null", "short": "[[]]", "ragged": "[[1.0], [1.0, 2.0]]", "text": '[["1.0"]]',
                        "nan": "[[NaN]]", "infinite": "[[Infinity]]", "negative": "[[-1e308]]",
                        "digits": f"[[1{'0' * 400}]]", "deep": "[" * 5000 + "]" * 5000,
                        "long": f"[{'[1.0],' * 10**6}[1.0]]", "mapping": "{}"}.items():
        path = folder / f"costs_{name}.json"
        path.write_text(f'{{"digest": "d", "costs": {costs}}}')
        yield path


def hostile_files(folder: Path) -> Iterator[Path]:
    """Write all hostile files, one after another."""
    yield from hostile_recordings(folder)
    yield from hostile_checkpoints(folder)
    for name, content in hostile_parquet_files(folder):
        path = folder / f"{name}.parquet"
        path.write_bytes(content)
        yield path
        path.unlink()
    if is_installed("mujoco"):
        yield from hostile_scenes(folder)


def fault_of_file(path: Path) -> str | None:
    """Read a hostile file; empty: it was accepted, None: it was refused by an error of the family.

    Raises:
        Exception: Reading raised an error outside the family.
    """
    begin, before, refused = time.thread_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, False
    try:
        if path.suffix == ".xml":
            MujocoPlant(Robot.from_urdf(robot_file(ROBOT)), scene=str(path))
        elif path.suffix == ".json":
            Checkpoint(path, "d", resume=True).check((1,), 10)
        elif path.suffix == ".parquet":
            (Results.read if path.stem.startswith("results") else Table.from_file)(path)
        else:
            _read_recording(path)
    except RobodynError as error:
        refused = True
        if "\n" in str(error):
            return f"an error of several lines: {error}"
    if (seconds := time.thread_time() - begin) > LONGEST:
        return f"it took {seconds:.1f} s"
    if (grown := (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10) > LARGEST_GROWTH:
        return f"it took {grown} MB"
    return None if refused else ""


class MutatedFiles:
    """Good files with one to four faults each, and what reads them.

    Args:
        folder: For the files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        results = write_results(folder / "samples.parquet").read_bytes()
        recording = write_recording(folder / "run.mcap", states(50), parameters=parameters(update_rate=500), texts={
            **_description()})
        columns = dict(zip(("t", "q_1", "q_2"), np.random.default_rng(0).normal(size=(3, 50)), strict=True))
        np.savetxt(folder / "table.csv", np.stack(list(columns.values())).T, delimiter=",", header=",".join(columns),
                   comments="")
        np.savez_compressed(folder / "table.npz", **columns)
        savemat(folder / "table.mat", columns, do_compression=True)
        (folder / "table.parquet").write_bytes(good_table())
        search = json.dumps({"digest": "d", "costs": [[1.0, 2.0, 3.0]] * 4}).encode()
        self.kinds: dict[str, tuple[bytes, Path, Callable[[Path], object]]] = {
            **{f"{kind} tables": ((folder / f"table.{kind}").read_bytes(), folder / f"mutated_table.{kind}",
                                  Table.from_file) for kind in ("csv", "npz", "mat", "parquet")},
            "headers of tables": (good_table(), folder / "headers.parquet", Table.from_file),
            "headers of results": (results, folder / "mutated.parquet", Results.read),
            "recordings": (recording.read_bytes(), folder / "mutated.mcap", _read_recording),
            "streams of results": ((folder / STREAM).read_bytes(), folder / f"mutated_{STREAM}", Results.read),
            "tables of results": (results, folder / "mutated.parquet", Results.read),
            "checkpoints": (search, folder / "search.json", lambda path: Checkpoint(path, "d", resume=True)),
        }

    def fault(self, kind: str, seed: int, number: int) -> str | None:
        """Read a mutated file; empty: it was accepted, None: it was refused by an error of the family.

        Raises:
            Exception: Reading raised an error outside the family.
        """
        good, path, read = self.kinds[kind]
        mutate = mutated_headers if kind.startswith("headers") else mutated
        path.write_bytes(mutate(good, random.Random(f"{seed} {number} {kind}")))
        try:
            read(path)
        except (RobodynError, pa.ArrowException) as error:
            return None if isinstance(error, RobodynError) else f"{type(error).__name__}: {error}"
        return ""


def mutated(good: bytes, chance: random.Random) -> bytes:
    """Bytes with one to four faults: changed, removed, repeated and inserted ones, immense lengths."""
    data = bytearray(good)
    for _ in range(chance.randint(1, 4)):
        at, length = chance.randrange(len(data) + 1), chance.choice((1, 2, 4, 8, 64))
        match chance.randrange(5):
            case 0:
                data[at:at + length] = chance.randbytes(min(length, len(data) - at))
            case 1:
                del data[at:at + length]
            case 2:
                data[at:at] = data[at:at + length]
            case 3:
                data[at:at + 8] = chance.choice((b"\xff" * 8, b"\xff" * 4 + bytes(4), bytes(8), b"\0" * 7 + b"\x7f"))
            case _:
                del data[at:]
        if not data:
            break
    return bytes(data)


def _read_recording(path: Path) -> None:
    run = Run(path)
    _ = run.parameters, run.gravity, run.commands, run.control, run.actuators, run.robot_description
    if run.robot_description:
        _ = run.robot
    _ = RecordedTicks(run, 0.0).end
