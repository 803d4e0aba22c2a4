"""A program as LLVM assembly: its loops, and a function for each computation.

All variables are in one piece of memory, the frame, behind the LLVM pointer ``block``: one number for each element, or
one vector with a sample per lane. What a caller's arrays are and how often loops run is in a second one, the words.
"""

import math
from collections.abc import Iterable

from robodyn_ros.compile.fusion import TracedProgram
from robodyn_ros.compile.layout_text import ROW_WORDS, layout_call, layout_functions
from robodyn_ros.compile.lowering import DECLARATIONS, Helpers, Memory, Place, lower
from robodyn_ros.compile.program import Compute, Program, Read, Record, Repeat, RepeatWhile, Statement, walk
from robodyn_ros.compile.tape import Tape
from robodyn_ros.compile.trigonometry import float_type, literal


class ProcedureText:
    """A module with ``void @program(block, words)`` for one sample, or ``void @batch(first, end, words, block)``.

    Words: the counts; then `ROW_WORDS` for each sequence, record, and in a batch each input and each output. Of
    a single sample's sequences and records only the first is read: their rows follow each other.

    Args:
        program: The program.
        traced: Its statements, with what their computations do.
        helpers: For how many samples.

    Attributes:
        text: The module.
        starts: Where in the frame each variable begins [numbers, or vectors].
        frame_size: Size of the frame [numbers, or vectors].
        arrays: What the words describe: sequence, record, input or output, and its name.
    """

    def __init__(self, program: Program, traced: TracedProgram, helpers: Helpers) -> None:
        self._program, self._traced, self._helpers = program, traced, helpers
        self._width, self._kind = helpers.width, float_type(helpers.width)
        self._sizes = {name: math.prod(shape) for name, shape in program.variables.items()}
        self.starts: dict[str, int] = {}
        self.frame_size = 0
        for name, size in self._sizes.items():
            self.starts[name] = self._reserve(size)
        described = {"sequence": tuple(program.sequences), "record": tuple(program.records)}
        if self._width > 1:
            described |= {"input": program.inputs, "output": program.outputs}
        self.arrays = [(role, name) for role, names in described.items() for name in names]
        self._functions: dict[Compute, str] = {}
        self._lines: list[str] = []
        self._fresh = 0
        self.text = self._module()

    def _module(self) -> str:
        helpers, attributes = self._helpers, self._helpers.attributes
        computations = self._computations()
        parameters = "ptr noalias %block, ptr noalias %words"
        if self._width == 1:
            head = f"define void @program({parameters}) {attributes} {{"
        else:
            head = f"define internal void @program({parameters}, i64 %row, i64 %rows) noinline {attributes} {{"
        self._add(head, "start:")
        self._statements(self._traced.statements, "")
        self._add("  ret void", "}", "")
        if self._width > 1:
            self._batch()
        return "\n".join([DECLARATIONS, helpers.text(), computations, *self._layout_helpers(), *self._lines])

    def _reserve(self, size: int) -> int:
        """Where so much more of the frame begins: whole squares for `layout_functions`."""
        start = self.frame_size
        self.frame_size += -(-size // self._width) * self._width
        return start

    def _computations(self) -> str:
        """A function for each computation; all use the same memory between their pieces."""
        texts: list[str] = []
        shared = self.frame_size
        largest = shared
        for statement, tape in self._traced.tapes.items():
            self.frame_size = shared
            self._functions[statement] = f"compute{len(texts)}"
            texts.append(self._computation(statement, tape))
            largest = max(largest, self.frame_size)
        self.frame_size = largest
        return "".join(texts)

    def _computation(self, statement: Compute, tape: Tape) -> str:
        """A function."""
        name = self._functions[statement]
        outputs = [Place("block", self.starts[name] + element) for name, element in self._traced.results[statement]]
        inputs = [
            Place("block", self.starts[input_] + element)
            for input_ in statement.inputs
            for element in range(self._sizes[input_])
        ]
        memory = Memory(("block",), inputs, outputs, Place("block", self.frame_size), 8 * self._width)
        lowered = lower(tape.contracted(shared=True), memory, self._helpers, f"{name}_")
        self.frame_size += lowered.between_count
        return "\n".join(
            [
                lowered.functions,
                f"define internal void @{name}(ptr noalias %block) noinline {self._helpers.attributes} {{",
                lowered.body,
                "  ret void",
                "}",
                "",
            ]
        )

    def _at(self, start: int) -> str:
        """A place in the frame, as a pointer."""
        name = f"%p{self._new()}"
        self._add(f"  {name} = getelementptr {self._kind}, ptr %block, i64 {start}")
        return name

    def _copy(self, source: int, target: int, size: int) -> None:
        """Copy within the frame."""
        align, from_, to = 8 * self._width, self._at(source), self._at(target)
        self._add(
            f"  call void @llvm.memcpy.p0.p0.i64(ptr align {align} {to}, ptr align {align} {from_}, "
            f"i64 {align * size}, i1 false)"
        )

    def _add(self, *lines: str) -> None:
        self._lines += lines

    def _new(self) -> int:
        self._fresh += 1
        return self._fresh

    def _word(self, position: int, kind: str = "i64") -> str:
        """A word, loaded."""
        k = self._new()
        self._add(f"  %w{k}a = getelementptr i64, ptr %words, i64 {position}", f"  %w{k} = load {kind}, ptr %w{k}a")
        return f"%w{k}"

    def _count(self, count: int | str) -> str:
        return str(count) if isinstance(count, int) else self._word(self._program.counts.index(count))

    def _statements(self, statements: Iterable[Statement], round_: str) -> None:
        for statement in statements:
            if isinstance(statement, Compute):
                self._add(f"  call void @{self._functions[statement]}(ptr %block)")
            elif isinstance(statement, Repeat):
                self._repeat(statement)
            elif isinstance(statement, RepeatWhile):
                self._repeat_while(statement)
            elif isinstance(statement, Read):
                self._move("sequence", statement.sequence, statement.variable, round_)
            else:
                self._record(statement, round_)

    def _repeat(self, statement: Repeat) -> None:
        k, count = self._new(), self._count(statement.count)
        self._add(
            f"  br label %enter{k}",
            f"enter{k}:",
            f"  br label %head{k}",
            f"head{k}:",
            f"  %round{k} = phi i64 [0, %enter{k}], [%next{k}, %end{k}]",
            f"  %more{k} = icmp slt i64 %round{k}, {count}",
            f"  br i1 %more{k}, label %body{k}, label %done{k}",
            f"body{k}:",
        )
        self._statements(statement.statements, f"%round{k}")
        self._add(
            f"  br label %end{k}",
            f"end{k}:",
            f"  %next{k} = add i64 %round{k}, 1",
            f"  br label %head{k}",
            f"done{k}:",
        )

    def _repeat_while(self, statement: RepeatWhile) -> None:
        """Lanes that are done get back what they had, but for the first round where that is done by all."""
        k, most, lanes = self._new(), self._count(statement.most), self._width
        truth = "i1" if lanes == 1 else f"<{lanes} x i1>"
        for_all = "true" if statement.at_least else "false"  # whether the first round is
        self._add(f"  br label %enter{k}", f"enter{k}:")
        if statement.at_least:
            active = "zeroinitializer"
            self._add(f"  br label %head{k}")
        else:
            active = f"%positive{k}e"
            self._flag(statement, f"{k}e")
            self._add(f"  br i1 %any{k}e, label %head{k}, label %done{k}")
        self._add(
            f"head{k}:",
            f"  %round{k} = phi i64 [0, %enter{k}], [%next{k}, %test{k}]",
            f"  %active{k} = phi {truth} [{active}, %enter{k}], [%positive{k}, %test{k}]",
        )
        changed = () if lanes == 1 else _changed(statement, self.starts)
        kept = {name: self._reserve(self._sizes[name]) for name in changed}
        if changed:
            self._add(
                f"  %begun{k} = icmp eq i64 %round{k}, 0",
                f"  %first{k} = and i1 %begun{k}, {for_all}",
                f"  br i1 %first{k}, label %body{k}, label %keep{k}",
                f"keep{k}:",
            )
            for name, start in kept.items():
                self._copy(self.starts[name], start, self._sizes[name])
        self._add(f"  br label %body{k}", f"body{k}:")
        self._statements(statement.statements, "")
        if changed:
            self._add(f"  br i1 %first{k}, label %test{k}, label %merge{k}", f"merge{k}:")
            for name, start in kept.items():
                now, before = self._at(self.starts[name]), self._at(start)
                self._add(f"  call void @merge(ptr {now}, ptr {before}, i64 {self._sizes[name]}, {truth} %active{k})")
        self._add(f"  br label %test{k}", f"test{k}:")
        self._flag(statement, str(k))
        self._add(
            f"  %next{k} = add i64 %round{k}, 1",
            f"  %room{k} = icmp slt i64 %next{k}, {most}",
            f"  %again{k} = and i1 %any{k}, %room{k}",
            f"  br i1 %again{k}, label %head{k}, label %done{k}",
            f"done{k}:",
        )

    def _flag(self, statement: RepeatWhile, suffix: str) -> None:
        """Whether a flag is positive, %positive, and for any lane, %any."""
        lanes, kind, flag = self._width, self._kind, self._at(self.starts[statement.flag])
        any_ = f"or i1 %positive{suffix}, false"
        if lanes > 1:
            any_ = f"call i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1> %positive{suffix})"
        self._add(
            f"  %flag{suffix} = load {kind}, ptr {flag}, align {8 * lanes}",
            f"  %positive{suffix} = fcmp ogt {kind} %flag{suffix}, {literal(0.0, lanes)}",
            f"  %any{suffix} = {any_}",
        )

    def _record(self, statement: Record, round_: str) -> None:
        if statement.every == 1:
            self._move("record", statement.record, statement.variable, round_)
            return
        k = self._new()
        self._add(
            f"  %next{k} = add i64 {round_}, 1",
            f"  %rest{k} = urem i64 %next{k}, {statement.every}",
            f"  %full{k} = icmp eq i64 %rest{k}, 0",
            f"  br i1 %full{k}, label %due{k}, label %past{k}",
            f"due{k}:",
            f"  %at{k} = udiv i64 {round_}, {statement.every}",
        )
        self._move("record", statement.record, statement.variable, f"%at{k}")
        self._add(f"  br label %past{k}", f"past{k}:")

    def _move(self, role: str, name: str, variable: str, step: str) -> None:
        """Move a row between a caller's array and a variable."""
        function = "pack" if role in ("sequence", "input") else "unpack"
        k, size, start = self._new(), self._sizes[variable], self.starts[variable]
        first = len(self._program.counts) + ROW_WORDS * self.arrays.index((role, name))
        if self._width > 1:
            self._add(*layout_call(function, f"_{k}", "words", first, size, start, self._kind, step))
            return
        base, place = self._word(first, "ptr"), self._at(start)
        target, source = (place, f"%r{k}") if function == "pack" else (f"%r{k}", place)
        self._add(
            f"  %s{k} = mul i64 {step}, {size}",
            f"  %r{k} = getelementptr double, ptr {base}, i64 %s{k}",
            f"  call void @llvm.memcpy.p0.p0.i64(ptr align 8 {target}, ptr align 8 {source}, i64 {8 * size}, i1 false)",
        )

    def _batch(self) -> None:
        """The loop over blocks of samples: inputs in, the program, outputs out."""
        bytes_ = 8 * self._width
        self._add(
            "define void @batch(i64 %first, i64 %end, ptr noalias %words, ptr noalias %block) "
            f"{self._helpers.attributes} {{",
            "start:",
            "  %some = icmp slt i64 %first, %end",
            "  br i1 %some, label %loop, label %done",
            "loop:",
            "  %row = phi i64 [%first, %start], [%next, %loop]",
            "  %left = sub i64 %end, %row",
            f"  %rows = call i64 @llvm.smin.i64(i64 %left, i64 {self._width})",
        )
        for name, size in self._sizes.items():
            if name in self._program.inputs:
                self._move("input", name, name, "0")
            else:
                place = self._at(self.starts[name])
                given = f"ptr align {bytes_} {place}, i8 0, i64 {bytes_ * size}, i1 false"
                self._add(f"  call void @llvm.memset.p0.i64({given})")
        self._add("  call void @program(ptr %block, ptr %words, i64 %row, i64 %rows)")
        for name in self._program.outputs:
            self._move("output", name, name, "0")
        self._add(
            f"  %next = add i64 %row, {self._width}",
            "  %more = icmp slt i64 %next, %end",
            "  br i1 %more, label %loop, label %done",
            "done:",
            "  ret void",
            "}",
            "",
        )

    def _layout_helpers(self) -> list[str]:
        """What moves and merges vectors."""
        if self._width == 1:
            return []
        kind, truth, align = self._kind, f"<{self._width} x i1>", 8 * self._width
        merge = f"""define internal void @merge(ptr %now, ptr %before, i64 %count, {truth} %active) \
noinline {self._helpers.attributes} {{
start:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %loop, label %done
loop:
  %k = phi i64 [0, %start], [%next, %loop]
  %to = getelementptr {kind}, ptr %now, i64 %k
  %from = getelementptr {kind}, ptr %before, i64 %k
  %new = load {kind}, ptr %to, align {align}
  %old = load {kind}, ptr %from, align {align}
  %chosen = select {truth} %active, {kind} %new, {kind} %old
  store {kind} %chosen, ptr %to, align {align}
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
        return [layout_functions(self._width, self._helpers.attributes), merge]


def _changed(statement: RepeatWhile, variables: Iterable[str]) -> tuple[str, ...]:
    """The variables that a loop changes."""
    computations = [inner for inner in walk(statement.statements) if isinstance(inner, Compute)]
    outputs = {name for computation in computations for name in computation.output_names}
    return tuple(name for name in variables if name in outputs)
