# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""The order of a tape's operations, and the pieces into which a long tape is cut.

Several sines and cosines are computed in one vector, so the schedule groups them. Each piece becomes a function, and
pieces pass values through spill slots in memory: LLVM's compile time grows faster than the length of a function, and
values that live through thousands of operations are kept in memory anyway.
"""

from collections.abc import Iterable
from typing import NamedTuple

from robodyn_ros.compile import operations as op
from robodyn_ros.compile.tape import Tape

MAX_UNCUT_LENGTH = 1500
"""Greatest number of operations of a tape that stays in one piece."""

PIECE_LENGTH = 500
"""Operations per piece of a longer tape."""

MAX_MEMORY_OPERATIONS = 400
"""Loads and stores after which a piece ends. LLVM compares each store with the loads around it: a piece of 500
operations with 900 of them took 200 ms, most others 15 ms. A lower limit would slow calls down by a few per cent."""

Step = int | tuple[int, ...]
"""A tape entry to compute, or several entries whose sines and cosines are computed together."""


class Schedule(NamedTuple):
    """The pieces of a tape."""

    pieces: list[list[Step]]  # the steps of each piece
    slots: dict[int, int]  # spill slot of each entry that a later piece uses
    slot_count: int  # number of spill slots
    load_count: int  # number of loads from spill slots
    sines: dict[int, int]  # the sine entry of each angle entry
    cosines: dict[int, int]  # the cosine entry of each angle entry


def schedule(tape: Tape, angles_at_once: int) -> Schedule:
    """Order a tape's operations, with at most ``angles_at_once`` sines and cosines per step, and cut it into pieces."""
    codes, operands = tape.codes.tolist(), tape.operands.tolist()
    stages: list[int] = []  # length of the longest chain of sines and cosines up to and including each entry
    for code, used in zip(codes, operands, strict=True):
        before = max([stages[each] for each in used if each >= 0]) if code > op.CONSTANT else 0
        stages.append(before + (code in (op.SIN, op.COS)))
    as_traced = _cut(codes, operands, _steps(codes, operands, stages, range(len(codes)), angles_at_once))
    if len(as_traced.pieces) == 1:
        return as_traced
    # Formulas written row by row keep unused values for long; depth first avoids that but makes other formulas worse.
    order = _depth_first(codes, operands, tape.outputs.tolist())
    as_needed = _cut(codes, operands, _steps(codes, operands, stages, order, angles_at_once))
    return min(as_traced, as_needed, key=lambda plan: len(plan.slots) + plan.load_count)


def _depth_first(codes: list[int], operands: list[list[int]], outputs: list[int]) -> Iterable[int]:
    """The entries in the order in which the results need them, one result after the other, longest chain first."""
    needed = [[each for each in used if each >= 0 and codes[each] > op.CONSTANT] if code > op.CONSTANT else []
              for code, used in zip(codes, operands, strict=True)]
    height: list[int] = []
    for used in needed:
        height.append(1 + max([height[each] for each in used], default=-1))
    order: dict[int, None] = {}
    waiting = outputs[::-1]
    while waiting:
        if missing := [each for each in needed[waiting[-1]] if each not in order]:
            waiting += sorted(missing, key=height.__getitem__)
        else:
            order[waiting.pop()] = None
    return order


def _cut(codes: list[int], operands: list[list[int]], steps: list[Step]) -> Schedule:
    """Cut the steps into pieces, with spill slots for the values that pass between them."""
    sines = {operands[entry][0]: entry for entry, code in enumerate(codes) if code == op.SIN}
    cosines = {operands[entry][0]: entry for entry, code in enumerate(codes) if code == op.COS}
    last_step: dict[int, int] = {}
    for number, step in enumerate(steps):
        for entry in step if isinstance(step, tuple) else operands[step]:
            last_step[entry] = number
    pieces: list[list[Step]] = [[]]
    made_in: dict[int, int] = {}  # piece that computes each entry, inputs excluded
    last_use: dict[int, int] = {}
    load_count = loads = kept = 0  # the last two count in the current piece; kept: values for later steps
    for number, step in enumerate(steps):
        if len(steps) > MAX_UNCUT_LENGTH and (len(pieces[-1]) >= PIECE_LENGTH or loads + kept >= MAX_MEMORY_OPERATIONS):
            pieces.append([])
            loads = kept = 0
        piece = len(pieces) - 1
        pieces[-1].append(step)
        if isinstance(step, tuple):
            used, made = list(step), [of[angle] for angle in step for of in (sines, cosines) if angle in of]
        else:
            used, made = [entry for entry in set(operands[step]) if entry >= 0], [step]
        for entry in used:
            if codes[entry] != op.CONSTANT:
                if made_in.get(entry) != piece and last_use.get(entry) != piece:
                    loads, load_count = loads + 1, load_count + (entry in made_in)
                kept -= made_in.get(entry) == piece and last_step[entry] == number
                last_use[entry] = piece
        for entry in made:
            made_in[entry] = piece
            kept += entry in last_step
    return Schedule(pieces, *_slots(made_in, last_use), load_count, sines, cosines)


def _steps(codes: list[int], operands: list[list[int]], stages: list[int], order: Iterable[int],
           angles_at_once: int) -> list[Step]:
    """All steps, stage by stage: first its sines and cosines, then the rest in the given order."""
    angles: list[dict[int, None]] = [{} for _ in range(max(stages, default=0) + 1)]
    others: list[list[Step]] = [[] for _ in angles]
    for entry in order:
        if codes[entry] in (op.SIN, op.COS):
            angles[stages[entry]][operands[entry][0]] = None
        elif codes[entry] > op.CONSTANT:
            others[stages[entry]].append(entry)
    steps: list[Step] = []
    for needed, stage in zip(map(list, angles), others, strict=True):
        steps += [tuple(needed[at : at + angles_at_once]) for at in range(0, len(needed), angles_at_once)]
        steps += stage
    return steps


def _slots(made_in: dict[int, int], last_use: dict[int, int]) -> tuple[dict[int, int], int]:
    """Spill slots for the values that outlive their piece; a slot is reused after its value's last use."""
    slots: dict[int, int] = {}
    free: list[int] = []
    ends: dict[int, list[int]] = {}  # slots by the piece of their last use
    count = begun = 0
    for entry, piece in made_in.items():  # in the order of the pieces
        for ended in range(begun, piece):
            free += ends.pop(ended, [])
        begun, last = piece, last_use.get(entry, piece)
        if last > piece:
            if not free:
                free.append(count)
                count += 1
            slots[entry] = free.pop()
            ends.setdefault(last, []).append(slots[entry])
    return slots, count
