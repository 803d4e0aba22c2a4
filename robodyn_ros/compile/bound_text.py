"""How Python calls a procedure that is bound to its memory, as LLVM assembly.

As in `fast_call`, CPython calls the machine code itself. The function's ``__self__`` is the array that holds the frame
and, behind it, the counts.
"""

from robodyn_ros.compile import c_api


def entry_text(name: str, counts: tuple[str, ...], frame_size: int) -> str:
    """LLVM text of ``entry``, which takes the counts as integers, runs ``program`` and returns None.

    Args:
        name: What error messages call the procedure.
        counts: Names of the counts.
        frame_size: Where in the memory the counts are [float64].
    """
    message = f"{counts_message(name, counts)}\0".encode()
    escaped = "".join(f"\\{byte:02X}" for byte in message)
    lines = [
        "@error_type = external global i8",
        "@python_none = external global i8",
        "declare i64 @python_size(ptr, ptr)",
        "declare void @python_raise(ptr, ptr)",
        "declare void @python_keep(ptr)",
        f'@message = private constant [{len(message)} x i8] c"{escaped}"',
        "define ptr @entry(ptr %self, ptr %arguments, i64 %given, ptr %names) nounwind {",
        f"  %memory_at = getelementptr i8, ptr %self, i64 {c_api.DATA}",
        "  %frame = load ptr, ptr %memory_at",
        f"  %words = getelementptr double, ptr %frame, i64 {frame_size}",
        f"  %enough = icmp eq i64 %given, {len(counts)}",
        "  %unnamed = icmp eq ptr %names, null",
        "  %expected = and i1 %enough, %unnamed",
        "  br i1 %expected, label %count0, label %wrong, !prof !1",
    ]
    for number in range(len(counts)):
        lines += [
            f"count{number}:",
            f"  %place{number} = getelementptr ptr, ptr %arguments, i64 {number}",
            f"  %argument{number} = load ptr, ptr %place{number}",
            f"  %size{number} = call i64 @python_size(ptr %argument{number}, ptr @error_type)",
            f"  %word{number} = getelementptr i64, ptr %words, i64 {number}",
            f"  store i64 %size{number}, ptr %word{number}",
            f"  %good{number} = icmp sge i64 %size{number}, 0",
            f"  br i1 %good{number}, label %count{number + 1}, label %wrong, !prof !1",
        ]
    lines += [
        f"count{len(counts)}:",
        "  call void @program(ptr %frame, ptr %words)",
        "  call void @python_keep(ptr @python_none)",
        "  ret ptr @python_none",
        "wrong:",
        "  call void @python_raise(ptr @error_type, ptr @message)",
        "  ret ptr null",
        "}",
        '!1 = !{!"branch_weights", i32 100000, i32 1}',
        "",
    ]
    return "\n".join(lines)


def counts_message(name: str, counts: tuple[str, ...]) -> str:
    """What is said of wrong counts."""
    return f"{name}: run: expected {len(counts)} integers of 0 or more by position ({', '.join(counts) or 'no counts'})"
