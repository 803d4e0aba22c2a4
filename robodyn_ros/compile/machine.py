# Copyright 2026 robodyn_ros maintainers
#
# Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
# the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0 Unless required by
# applicable law or agreed to in writing, software distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language
# governing permissions and limitations under the License.

"""Compiles the text of an LLVM module to object code for this processor, and links object code.

The two steps are separate so that `code_cache` can keep object code on disk: it refers to everything outside by symbol
and contains no address of this process.
"""

import ctypes
import functools
import itertools
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import llvmlite
import llvmlite.binding as llvm

from robodyn_ros.base import code_cache
from robodyn_ros.base.errors import CompileError


class Host(NamedTuple):
    """The processor that code is compiled for: LLVM's names for system, processor and instruction sets, and two facts.

    Attributes:
        lanes: Number of float64 numbers in the widest vector registers.
        fused: Whether the processor has a fused multiply-add.
    """

    triple: str
    cpu: str
    features: str
    lanes: int
    fused: bool


@functools.cache
def host() -> Host:
    """The processor that this process runs on."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    lanes = 8 if features.get("avx512f") and features.get("avx512dq") else 4 if features.get("avx2") else 2
    triple = llvm.get_process_triple()
    fused = bool(features.get("fma")) or triple.startswith(("aarch64", "arm64"))
    return Host(triple, llvm.get_host_cpu_name(), features.flatten(), lanes, fused)


LONG_MODULE = 200_000
"""Length of a module above which LLVM optimises less [characters]: robots with about 20 joints."""

_LINKS_PER_LINKER = 16
"""LLVM keeps 9 kB per library until its linker is freed, and creating a linker takes as long as five links."""

_options = threading.Lock()
"""Held while LLVM's process-wide options are changed."""


def _target_machine(opt: int = 2) -> llvm.TargetMachine:
    triple, cpu, features, *_ = host()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu=cpu, features=features, opt=opt, reloc="pic", codemodel="default")


@functools.cache
def _compiler() -> str:
    """A digest of everything but the module's text that object code depends on: LLVM, this file, the processor."""
    versions = (llvmlite.__version__, *llvm.llvm_version_info)
    return code_cache.digest(repr(versions), Path(__file__).read_bytes(), repr(host()))


def compile_module(text: str, routines: Sequence[str] = ()) -> bytes:
    """Object code of a module in LLVM assembly, without ``target`` lines; from the cache, or compiled now.

    Args:
        text: The module.
        routines: Modules of functions that it calls, with loops that LLVM should optimise fully.

    Raises:
        CompileError: The module is not valid.
    """
    key = code_cache.digest(_compiler(), text, *routines)
    image = code_cache.load(key)
    if image is None:
        image = _object_code(text, routines)
        code_cache.store(key, image)
    return image


def _object_code(text: str, routines: Sequence[str]) -> bytes:
    """Let LLVM compile a module; docs/compile.md gives reasons for the pass, the levels and the options.

    LLVM's two options are process-wide: they are restored after each module, for other users of LLVM.
    """
    is_long = len(text) > LONG_MODULE
    machine = _target_machine(1 if is_long else 2)
    head = f'target triple = "{host().triple}"\ntarget datalayout = "{machine.target_data}"\n'
    try:
        context = llvm.create_context()
        module = llvm.parse_assembly(head + text, context)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM refused the generated module: {error}") from error
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    for routine in routines:
        module.link_in(llvm.parse_bitcode(_optimised(head + routine, machine, is_long), context))
    with _options:
        llvm.set_option("", "-enable-misched=0")
        llvm.set_option("", f"-greedy-reverse-local-assignment={int(is_long)}")
        try:
            return machine.emit_object(module)
        finally:
            llvm.set_option("", "-enable-misched=1")
            llvm.set_option("", "-greedy-reverse-local-assignment=0")


def _optimised(text: str, machine: llvm.TargetMachine, is_long: bool) -> bytes:
    """Bitcode of a module that LLVM has optimised fully, from the cache, or optimised now: programs share routines."""
    key = code_cache.digest(_compiler(), "optimised", str(is_long), text)
    bitcode = code_cache.load(key)
    if bitcode is None:
        module = llvm.parse_assembly(text, llvm.create_context())
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
        builder.getModulePassManager().run(module, builder)
        bitcode = module.as_bitcode()
        code_cache.store(key, bitcode)
    return bitcode


class Code:
    """Linked code in memory, with the addresses of its exports; it is freed with the last reference to this object.

    ``symbols`` has the addresses of names that the code uses but the process does not export.

    Raises:
        CompileError: A name cannot be found.
    """

    _shared_linker: llvm.LLJIT
    _links_left = 0
    _lock = threading.Lock()
    _number = itertools.count()

    def __init__(self, image: bytes, exports: tuple[str, ...], symbols: Mapping[str, int]) -> None:
        builder = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
        for name in exports:
            builder.export_symbol(name)
        for name, address in symbols.items():
            builder.import_symbol(name, address)
        with Code._lock:
            if Code._links_left == 0:
                Code._shared_linker = llvm.create_lljit_compiler(_target_machine())
                Code._links_left = _LINKS_PER_LINKER
            Code._links_left -= 1
            self._linker = Code._shared_linker  # freed with the last code that it linked
            try:
                self._library = builder.link(self._linker, f"robodyn_{next(Code._number)}")
            except RuntimeError as error:
                raise CompileError(f"compiled code could not be linked: {error}") from error

    def __getitem__(self, name: str) -> int:
        """Address of an exported function or variable."""
        return int(self._library[name])

    def function(self, name: str, result: type | None, *arguments: type) -> "ctypes._FuncPointer":
        """An exported function as a ctypes function, which releases the GIL while it runs."""
        return ctypes.CFUNCTYPE(result, *arguments)(self[name])
