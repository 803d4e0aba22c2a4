"""Sine and cosine of several angles at once, as LLVM assembly without a call or a branch per angle.

An angle x is brought to r = x - k pi/2 with |r| <= pi/4 by subtracting k times three parts of pi/2 (Cody and Waite);
with a fused multiply-add the first subtraction is exact, since x and k C1 are multiples of 2^-53 and r < 1. Then sine
and cosine of r are minimax polynomials, exchanged and negated by the two lowest bits of k. Angles beyond 2^30 rad,
where k no longer has room, go to the C library, as does everything where the processor has no fused multiply-add.
"""

import struct

LARGEST_ANGLE = float(2**30)

HALF_PI_PARTS = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
"""pi/2 = the sum of these, to 160 bits."""

TWO_OVER_PI = 0.6366197723675814

SINE = (
    -0.1666666666666663,
    0.008333333333322005,
    -0.00019841269829495533,
    2.75573135876344e-06,
    -2.5050742310457733e-08,
    1.589590489763986e-10,
)
"""(sin r - r) / r^3 in powers of r^2 on |r| <= pi/4: minimax by Remez' exchange, relative error of sin r 2^-57.9."""

COSINE = (
    0.041666666666666595,
    -0.0013888888888872895,
    2.4801587288748223e-05,
    -2.755731414863447e-07,
    2.087569657415078e-09,
    -1.1358310574836342e-11,
)
"""(cos r - 1 + r^2/2) / r^4 in powers of r^2 on |r| <= pi/4: the same, relative error of cos r 2^-63.9."""

_ROUND = 1.5 * 2.0**52  # adding this rounds to an integer, which then stands in the lowest bits


def float_type(width: int) -> str:
    """LLVM type of ``width`` float64 numbers."""
    return "double" if width == 1 else f"<{width} x double>"


def mangled(width: int) -> str:
    """How that type is written in the name of an LLVM intrinsic."""
    return "f64" if width == 1 else f"v{width}f64"


def literal(value: float, width: int) -> str:
    """An LLVM constant, the same in each lane."""
    bits = f"0x{struct.pack('>d', value).hex().upper()}"
    return bits if width == 1 else f"splat (double {bits})"


def sincos_function(width: int, fused: bool, inlined: str, attributes: str) -> str:
    """LLVM text of ``{sines, cosines} @sincos<width>(angles)``, and of the function it calls for very large angles.

    Args:
        width: Number of angles.
        fused: Whether the processor has a fused multiply-add.
        inlined: ``alwaysinline`` or ``noinline``.
        attributes: LLVM's other function attributes.
    """
    kind = float_type(width)
    far = _library_function(width, attributes)
    if not fused:
        return f"""{far}
define internal {{{kind}, {kind}}} @sincos{width}({kind} %x) {inlined} {attributes} {{
  %result = call {{{kind}, {kind}}} @sincos_library{width}({kind} %x)
  ret {{{kind}, {kind}}} %result
}}
"""
    lanes = "" if width == 1 else f"<{width} x "
    close = "" if width == 1 else ">"
    integer, truth = f"{lanes}i64{close}", f"{lanes}i1{close}"
    suffix = mangled(width)

    def integer_literal(value: int) -> str:
        return str(value) if width == 1 else f"splat (i64 {value})"

    def fma(name: str, a: str, b: str, c: str) -> str:
        return f"  %{name} = call {kind} @llvm.fma.{suffix}({kind} {a}, {kind} {b}, {kind} {c})"

    def horner(name: str, coefficients: tuple[float, ...]) -> list[str]:
        lines, value = [], literal(coefficients[-1], width)
        for power in range(len(coefficients) - 2, -1, -1):
            lines.append(fma(f"{name}{power}", value, "%t", literal(coefficients[power], width)))
            value = f"%{name}{power}"
        return lines

    any_far = (
        "  %any = or i1 %far, false"
        if width == 1
        else f"  %any = call i1 @llvm.vector.reduce.or.v{width}i1({truth} %far)"
    )
    first, second, third = (literal(-part, width) for part in HALF_PI_PARTS)
    one, half, shift = literal(1.0, width), literal(0.5, width), literal(_ROUND, width)
    lines = [
        far,
        f"define internal {{{kind}, {kind}}} @sincos{width}({kind} %x) {inlined} {attributes} {{",
        f"  %size = call {kind} @llvm.fabs.{suffix}({kind} %x)",
        f"  %far = fcmp ogt {kind} %size, {literal(LARGEST_ANGLE, width)}",
        any_far,
        "  br i1 %any, label %library, label %near, !prof !0",
        "library:",
        f"  %called = call {{{kind}, {kind}}} @sincos_library{width}({kind} %x)",
        f"  ret {{{kind}, {kind}}} %called",
        "near:",
        fma("shifted", "%x", literal(TWO_OVER_PI, width), shift),
        f"  %bits = bitcast {kind} %shifted to {integer}",
        f"  %k = fsub {kind} %shifted, {shift}",
        fma("r1", "%k", first, "%x"),
        fma("r2", "%k", second, "%r1"),
        fma("r", "%k", third, "%r2"),
        f"  %t = fmul {kind} %r, %r",
        *horner("p", SINE),
        f"  %cube = fmul {kind} %t, %r",
        fma("s", "%p0", "%cube", "%r"),
        # sin(-0.0) is -0.0, which the sums above lose
        f"  %sine = call {kind} @llvm.copysign.{suffix}({kind} %s, {kind} %r2)",
        *horner("q", COSINE),
        f"  %h = fmul {kind} %t, {half}",
        f"  %w = fsub {kind} {one}, %h",
        f"  %lost = fsub {kind} {one}, %w",
        f"  %rest = fsub {kind} %lost, %h",
        f"  %square = fmul {kind} %t, %t",
        fma("tail", "%q0", "%square", "%rest"),
        f"  %cosine = fadd {kind} %w, %tail",
        f"  %odd = and {integer} %bits, {integer_literal(1)}",
        f"  %swap = icmp ne {integer} %odd, {integer_literal(0)}",
        f"  %ss = select {truth} %swap, {kind} %cosine, {kind} %sine",
        f"  %cc = select {truth} %swap, {kind} %sine, {kind} %cosine",
        f"  %next = add {integer} %bits, {integer_literal(1)}",
    ]
    for name, quadrant, value in (("sin", "%bits", "%ss"), ("cos", "%next", "%cc")):
        lines += [
            f"  %{name}_two = and {integer} {quadrant}, {integer_literal(2)}",
            f"  %{name}_sign = shl {integer} %{name}_two, {integer_literal(62)}",
            f"  %{name}_raw = bitcast {kind} {value} to {integer}",
            f"  %{name}_flipped = xor {integer} %{name}_raw, %{name}_sign",
            f"  %{name} = bitcast {integer} %{name}_flipped to {kind}",
        ]
    lines += [
        f"  %pair = insertvalue {{{kind}, {kind}}} poison, {kind} %sin, 0",
        f"  %result = insertvalue {{{kind}, {kind}}} %pair, {kind} %cos, 1",
        f"  ret {{{kind}, {kind}}} %result",
        "}",
        "",
    ]
    return "\n".join(lines)


def _library_function(width: int, attributes: str) -> str:
    """The C library's sine and cosine, lane by lane, out of the way of the rest."""
    kind = float_type(width)
    if width == 1:
        body = ["  %s = call double @sin(double %x)", "  %c = call double @cos(double %x)"]
        sines, cosines = "%s", "%c"
    else:
        body, sines, cosines = [], "poison", "poison"
        for lane in range(width):
            body += [
                f"  %x{lane} = extractelement {kind} %x, i32 {lane}",
                f"  %s{lane} = call double @sin(double %x{lane})",
                f"  %c{lane} = call double @cos(double %x{lane})",
                f"  %sv{lane} = insertelement {kind} {sines}, double %s{lane}, i32 {lane}",
                f"  %cv{lane} = insertelement {kind} {cosines}, double %c{lane}, i32 {lane}",
            ]
            sines, cosines = f"%sv{lane}", f"%cv{lane}"
    return "\n".join(
        [
            f"define internal {{{kind}, {kind}}} @sincos_library{width}({kind} %x) noinline cold {attributes} {{",
            *body,
            f"  %pair = insertvalue {{{kind}, {kind}}} poison, {kind} {sines}, 0",
            f"  %result = insertvalue {{{kind}, {kind}}} %pair, {kind} {cosines}, 1",
            f"  ret {{{kind}, {kind}}} %result",
            "}",
            "",
        ]
    )
