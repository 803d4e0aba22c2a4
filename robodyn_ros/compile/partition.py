"""In which order and in which pieces a tape is compiled.

Sines and cosines are brought together, so that a single sample computes several in one vector. A long tape is cut into
pieces, each a function of its own, which hand values on through memory: the time LLVM takes grows faster than the
length of a function, and values that live through thousands of operations would be kept in memory anyhow.
"""

from typing import NamedTuple

from robodyn_ros.compile import operations as op
from robodyn_ros.compile.tape import Tape

LONGEST = 1500
"""Operations up to which a tape stays in one piece."""

PIECE = 500
"""Operations in a piece of a longer one."""

Step = int | tuple[int, ...]
"""A tape entry to compute, or several whose sine and cosine are computed together."""


class Partition(NamedTuple):
    """The pieces of a tape.

    Attributes:
        pieces: The steps of each.
        slots: Where in the memory between the pieces a value is kept, by entry; only those that a later piece uses.
        slot_count: Size of that memory.
        sines: Entry that is the sine of an entry, where the tape has one.
        cosines: The same for the cosine.
    """

    pieces: list[list[Step]]
    slots: dict[int, int]
    slot_count: int
    sines: dict[int, int]
    cosines: dict[int, int]


def partition(tape: Tape, angles_at_once: int) -> Partition:
    """Cut a tape into pieces.

    Args:
        tape: What to compute.
        angles_at_once: Most entries in a step of sines and cosines.
    """
    codes, operands = tape.codes.tolist(), tape.operands.tolist()
    sines = {operands[entry][0]: entry for entry, code in enumerate(codes) if code == op.SIN}
    cosines = {operands[entry][0]: entry for entry, code in enumerate(codes) if code == op.COS}
    steps = _steps(codes, operands, angles_at_once)
    size = PIECE if len(steps) > LONGEST else max(1, len(steps))
    pieces = [steps[start : start + size] for start in range(0, len(steps), size)] or [[]]

    made_in: dict[int, int] = {}
    last_use: dict[int, int] = {}
    for number, piece in enumerate(pieces):
        for step in piece:
            if isinstance(step, tuple):
                used = list(step)
                made = [of[angle] for angle in step for of in (sines, cosines) if angle in of]
            else:
                used, made = [operand for operand in operands[step] if operand >= 0], [step]
            for entry in used:
                if codes[entry] > op.CONSTANT:
                    last_use[entry] = number
            for entry in made:
                made_in[entry] = number
    slots, count = _slots(len(pieces), made_in, last_use)
    return Partition(pieces, slots, count, sines, cosines)


def _steps(codes: list[int], operands: list[list[int]], angles_at_once: int) -> list[Step]:
    """All that is computed, operands first: stage by stage, a stage being what needs equally many sines in a row."""
    depth: list[int] = []
    stages: list[list[int]] = [[]]
    angles: list[dict[int, None]] = [{}]
    for entry, (code, used) in enumerate(zip(codes, operands, strict=True)):
        if code <= op.CONSTANT:
            depth.append(0)
            continue
        trigonometric = code in (op.SIN, op.COS)
        own = max(depth[operand] for operand in used if operand >= 0) + trigonometric
        depth.append(own)
        while own >= len(stages):
            stages.append([])
            angles.append({})
        if trigonometric:
            angles[own][used[0]] = None
        else:
            stages[own].append(entry)
    steps: list[Step] = []
    for needed, stage in zip(angles, stages, strict=True):
        together = list(needed)
        steps += [tuple(together[at : at + angles_at_once]) for at in range(0, len(together), angles_at_once)]
        steps += stage
    return steps


def _slots(piece_count: int, made_in: dict[int, int], last_use: dict[int, int]) -> tuple[dict[int, int], int]:
    """Places for the values that outlive their piece; a place is used again once its value is not needed any more."""
    begin: list[list[int]] = [[] for _ in range(piece_count)]
    end: list[list[int]] = [[] for _ in range(piece_count)]
    for entry, piece in made_in.items():
        last = last_use.get(entry, piece)
        if last > piece:
            begin[piece].append(entry)
            end[last].append(entry)
    slots: dict[int, int] = {}
    free: list[int] = []
    count = 0
    for piece in range(piece_count):
        for entry in begin[piece]:
            if free:
                slots[entry] = free.pop()
            else:
                slots[entry], count = count, count + 1
        free += [slots[entry] for entry in end[piece]]
    return slots, count
