"""Vector operations of kernels: 16 float32 lanes at a time, as LLVM instructions.

The compiler does not vectorise a network of 16 hidden units over many candidates by itself: it cannot see
that the arrays do not overlap, and is 3 to 5 times slower.
LLVM splits 16 lanes into what the machine has (one AVX-512 register, two of AVX2, four of NEON).

Layout: candidates come in *blocks* of 16 lanes, the last of which may be padding. A row of features or
logits is float32[16 blocks]; first-layer sums are float32[blocks, HIDDEN, 16]. Offsets count elements.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import Any

from nsa_cli.kernels.draws import LANES
from nsa_cli.kernels.jit import Compiled, Function


class _Instructions:
    """Every name of `llvmlite.ir`, which is imported when something is compiled: a solve does without."""

    def __getattr__(self, name: str) -> Any:
        import llvmlite.ir

        return getattr(llvmlite.ir, name)


ir: Any = _Instructions()


class _Types:
    """Types of numbers by name, and of vectors of `LANES` of them: ``float`` and ``floats``."""

    def __getattr__(self, name: str) -> Any:
        numbers = {
            "float": ir.FloatType(),
            "double": ir.DoubleType(),
            "int32": ir.IntType(32),
            "int64": ir.IntType(64),
        }
        number = numbers[name.removesuffix("s")]
        return ir.VectorType(number, LANES) if name.endswith("s") else number


types = _Types()


#: Hidden units of the networks that kernels evaluate; smaller ones are padded with zeros.
HIDDEN = 16

#: exp(x) counts as 0 below this: float32 has no normal number for it.
_LOWEST_EXPONENT = -87.0

#: 1.5 * 2**23: a float32 to which this was added has no digits behind the point any more.
_ROUNDER = 12582912.0

#: Minimax polynomial of 2**f for f in [-0.5, 0.5], highest power first; relative error 2e-7.
_EXP2 = (
    1.535336188319500e-4,
    1.339887440266574e-3,
    9.618437357674640e-3,
    5.550332471162809e-2,
    2.402264791363012e-1,
    6.931472028550421e-1,
    1.0,
)


class Code:
    """An LLVM builder of vectors of 16 lanes."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.context, self.b = context, builder
        self.signature, self._arguments = signature, arguments
        # Where nothing is compiled, Numba is not imported.
        from nsa_cli.kernels.toolchain.compiler import cgutils

        self.util = cgutils

    def pointer(self, index: int) -> Any:
        array_type = self.signature.args[index]
        return self.context.make_array(array_type)(self.context, self.b, self._arguments[index]).data

    def at(self, pointer: Any, offset: Any) -> Any:
        """Point to an element; `offset` is an int or an int64 value."""
        return self.b.gep(pointer, [types.int64(offset) if isinstance(offset, int) else offset])

    def plus(self, offset: Any, more: int) -> Any:
        return self.b.add(offset, types.int64(more)) if more else offset

    def load(self, pointer: Any, offset: Any, vector: Any = None, align: int = 4) -> Any:
        vector = vector or types.floats
        place = self.b.bitcast(self.at(pointer, offset), vector.as_pointer())
        return self.b.load(place, align=align, typ=vector)

    def store(self, value: Any, pointer: Any, offset: Any) -> None:
        place = self.b.bitcast(self.at(pointer, offset), types.floats.as_pointer())
        self.b.store(value, place, align=4)

    def spread(self, scalar: Any, vector: Any = None) -> Any:
        """Copy a scalar into all lanes."""
        empty = ir.Constant(vector or types.floats, ir.Undefined)
        first = self.b.insert_element(empty, scalar, types.int32(0))
        return self.b.shuffle_vector(first, empty, ir.Constant(types.int32s, [0] * LANES))

    def spread_from(self, pointer: Any, offset: Any) -> Any:
        return self.spread(self.b.load(self.at(pointer, offset), typ=types.float))

    def constant(self, number: float) -> Any:
        return ir.Constant(types.floats, [number] * LANES)

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        return self.call("llvm.fma.v16f32", types.floats, x, y, z)

    def maximum(self, x: Any, y: Any) -> Any:
        return self.b.select(self.b.fcmp_ordered(">", x, y), x, y)

    def sum_of(self, x: Any) -> Any:
        return self.call(
            "llvm.vector.reduce.fadd.v16f32", types.float, types.float(0.0), x, flags=("reassoc",)
        )

    def largest_of(self, x: Any) -> Any:
        return self.call("llvm.vector.reduce.fmax.v16f32", types.float, x, flags=("nnan",))

    def exp(self, x: Any) -> Any:
        """exp(x) for -87 <= x <= 88, by 2**whole times a polynomial in the rest."""
        scaled = self.b.fmul(x, self.constant(1.4426950408889634))
        # Rounded to whole numbers, whose last nine binary digits are those of the sum.
        moved = self.b.fadd(scaled, self.constant(_ROUNDER))
        rest = self.b.fsub(scaled, self.b.fsub(moved, self.constant(_ROUNDER)))
        result = self.constant(_EXP2[0])
        for coefficient in _EXP2[1:]:
            result = self.fma(result, rest, self.constant(coefficient))
        shift = self.b.shl(self.b.bitcast(moved, types.int32s), ir.Constant(types.int32s, [23] * LANES))
        return self.b.bitcast(self.b.add(self.b.bitcast(result, types.int32s), shift), types.floats)

    def variable(self, value: Any) -> Any:
        place = self.util.alloca_once(self.b, types.floats)
        self.b.store(value, place)
        return place

    def loop(self, blocks: Any) -> Any:
        return self.util.for_range(self.b, blocks)

    def in_pairs(self, begin: Any, end: Any, body: Callable[[list[Any]], None]) -> None:
        """Run a body for two blocks at a time, and for one that is left: they share what they read."""
        blocks = self.b.sub(end, begin)
        with self.loop(self.b.ashr(blocks, types.int64(1))) as loop:
            block = self.b.add(begin, self.b.shl(loop.index, types.int64(1)))
            body([block, self.plus(block, 1)])
        with self.b.if_then(self.b.trunc(blocks, ir.IntType(1))):
            body([self.b.sub(end, types.int64(1))])

    def put_score(self, parts: list[Any], logits: Any, index: Any, largest: Any) -> None:
        """Store the sum of four parts as a block of logits, and remember the largest of each lane."""
        total = self.b.fadd(self.b.fadd(parts[0], parts[1]), self.b.fadd(parts[2], parts[3]))
        self.store(total, logits, self.b.mul(index, types.int64(LANES)))
        self.b.store(self.maximum(self.b.load(largest, typ=types.floats), total), largest)

    def accumulate(self, logits: Any, shift: Any, sums: Any, blocks: Any, allowed: Any) -> Any:
        base = self.spread(shift)
        running = self.variable(self.constant(0.0))
        with self.loop(blocks) as loop:
            block = self.b.mul(loop.index, types.int64(LANES))
            exponent, before = (
                self.b.fsub(self.load(logits, block), base),
                self.b.load(running, typ=types.floats),
            )
            counts = self.b.fcmp_ordered(">=", exponent, self.constant(_LOWEST_EXPONENT))
            if allowed is not None:
                counts = self.b.and_(counts, allowed(block))
            total = self.b.select(counts, self.b.fadd(before, self.exp(exponent)), before)
            self.b.store(total, running)
            self.store(total, sums, block)
        return self.sum_of(self.b.load(running, typ=types.floats))

    def length_of_rows(self, index: int) -> Any:
        """Elements from one row of a C-ordered matrix to the next."""
        array_type = self.signature.args[index]
        array = self.context.make_array(array_type)(self.context, self.b, self._arguments[index])
        return self.util.unpack_tuple(self.b, array.shape)[1]

    def call(self, name: str, result: Any, *arguments: Any, flags: tuple[str, ...] = ()) -> Any:
        kind = ir.FunctionType(result, [a.type for a in arguments])
        function = self.util.get_or_insert_function(self.b.module, kind, name)
        return self.b.call(function, arguments, fastmath=flags)


class Operation(Function[Any]):
    """An operation of kernels that writes its own instructions.

    Parameters
    ----------
    write : callable
    returns : str
        Numba's type of the result.
    """

    def __init__(self, write: Callable[..., Any], returns: str) -> None:
        super().__init__(write)
        self.returns = returns

    @cached_property
    def _numba_type_(self) -> Any:
        from nsa_cli.kernels.toolchain import compiler

        return compiler.operation_type(self.py_func, self.returns, Code)


def operation(returns: str) -> Callable[[Callable[..., Any]], Compiled[Any]]:
    """Make an operation of kernels from a function that writes its instructions.

    Its first argument is a `Code`, the others are the operation's arguments as LLVM values.

    Parameters
    ----------
    returns : str
        Numba's type of the result.
    """
    return partial(Operation, returns=returns)


@operation("float32")
def score_sums(code: Code, sums: Any, floor: Any, weight: Any, logits: Any, begin: Any, end: Any) -> Any:
    """Score candidates of some blocks from stored first-layer sums; return the largest score.

    ``logits[c] = sum_h weight[h] * max(sums[c, h], floor[h])``, which is the network's output up to a term
    common to all candidates, invisible to a softmax: w max(z + t, 0) = w max(z, -t) + w t.

    Parameters
    ----------
    sums : float32[blocks, HIDDEN, LANES]
    floor, weight : float32[HIDDEN]
        -t of the hidden units' common part t (bias, temperature, chosen candidate), and w.
    logits : float32[blocks * LANES]
        Written, blocks ``begin <= block < end``.
    """
    z, t, w, out = (code.pointer(i) for i in range(4))
    weights = [code.spread_from(w, h) for h in range(HIDDEN)]
    largest = code.variable(code.constant(-3e38))

    def body(places: list[Any]) -> None:
        blocks = [code.b.mul(place, types.int64(HIDDEN * LANES)) for place in places]
        parts = [[code.constant(0.0)] * 4 for _ in places]  # chains of additions keep the pipeline full
        for h in range(HIDDEN):
            # The floor is read anew each time: to hold both would leave no registers to work with.
            floor = code.spread_from(t, h)
            for block, sums in zip(blocks, parts, strict=True):
                unit = code.maximum(code.load(z, code.plus(block, h * LANES)), floor)
                sums[h % 4] = code.fma(weights[h], unit, sums[h % 4])
        for place, sums in zip(places, parts, strict=True):
            code.put_score(sums, out, place, largest)

    code.in_pairs(begin, end, body)
    return code.largest_of(code.b.load(largest, typ=types.floats))


@cache
def score_features(count: int) -> Any:
    """Make the operation that scores candidates from `count` rows of features, storing no sums.

    ``operation(features, first, floor, weight, logits, blocks) -> float32`` is `score_sums` of
    ``sums[c, h] = sum_r first[r, h] * features[r, c]`` with features : float32[count, blocks * LANES]
    and first : float32[count, HIDDEN].
    """

    @operation("float32")
    def scorer(
        code: Code, features: Any, first: Any, floor: Any, weight: Any, logits: Any, blocks: Any
    ) -> Any:
        f, u, t, w, out = (code.pointer(i) for i in range(5))
        stride = code.length_of_rows(0)
        rows = [code.b.mul(types.int64(r), stride) for r in range(count)]
        largest = code.variable(code.constant(-3e38))

        def body(places: list[Any]) -> None:
            blocks = [code.b.mul(place, types.int64(LANES)) for place in places]
            seen = [[code.load(f, code.b.add(row, block)) for row in rows] for block in blocks]
            parts = [[code.constant(0.0)] * 4 for _ in places]
            for h in range(HIDDEN):
                factors = [code.spread_from(u, r * HIDDEN + h) for r in range(count)]
                floor, weight = code.spread_from(t, h), code.spread_from(w, h)
                for values_of, sums in zip(seen, parts, strict=True):
                    unit = code.b.fmul(factors[0], values_of[0])
                    for factor, value in zip(factors[1:], values_of[1:], strict=True):
                        unit = code.fma(factor, value, unit)
                    sums[h % 4] = code.fma(weight, code.maximum(unit, floor), sums[h % 4])
            for place, sums in zip(places, parts, strict=True):
                code.put_score(sums, out, place, largest)

        code.in_pairs(types.int64(0), blocks, body)
        return code.largest_of(code.b.load(largest, typ=types.floats))

    return scorer


@operation("void")
def sum_features(code: Code, features: Any, shifts: Any, first: Any, sums: Any, begin: Any, end: Any) -> None:
    """Compute first-layer sums of some blocks: ``sums[c, h] = sum_r first[r, h] * row_r[c + shifts[r]]``.

    Parameters
    ----------
    features : float32[rows, …]
        `shifts` index the flattened array: where in it the row of the r-th feature begins.
    shifts : tuple of int64
        One a feature.
    first : float32[R, HIDDEN]
    sums : float32[blocks, HIDDEN, LANES]
        Written, blocks ``begin <= block < end``.
    """
    f, w, z = code.pointer(0), code.pointer(2), code.pointer(3)
    starts = code.util.unpack_tuple(code.b, shifts)

    def body(places: list[Any]) -> None:
        blocks = [code.b.mul(place, types.int64(LANES)) for place in places]
        seen = [[code.load(f, code.b.add(start, block)) for start in starts] for block in blocks]
        for h in range(HIDDEN):
            factors = [code.spread_from(w, r * HIDDEN + h) for r in range(len(starts))]
            for block, values_of in zip(blocks, seen, strict=True):
                total = code.b.fmul(factors[0], values_of[0])
                for factor, value in zip(factors[1:], values_of[1:], strict=True):
                    total = code.fma(factor, value, total)
                code.store(total, z, code.plus(code.b.mul(block, types.int64(HIDDEN)), h * LANES))

    code.in_pairs(begin, end, body)


@operation("float32")
def largest_of(code: Code, logits: Any, blocks: Any) -> Any:
    """Give the largest of ``blocks * LANES`` logits."""
    largest = code.variable(code.constant(-3e38))
    with code.loop(blocks) as loop:
        block = code.load(code.pointer(0), code.b.mul(loop.index, types.int64(LANES)))
        code.b.store(code.maximum(code.b.load(largest, typ=types.floats), block), largest)
    return code.largest_of(code.b.load(largest, typ=types.floats))


@operation("float32")
def accumulate(code: Code, logits: Any, shift: Any, sums: Any, blocks: Any) -> Any:
    """Turn logits into running sums of exp(logit - shift), lane by lane; return their total.

    Parameters
    ----------
    logits : float32[blocks * LANES]
    shift : float32
    sums : float32[blocks, LANES]
        Written: ``sums[b, l]`` is the sum over blocks 0 to b of lane l.
    blocks : int64

    Returns
    -------
    float32
    """
    return code.accumulate(code.pointer(0), shift, code.pointer(2), blocks, None)


@operation("float32")
def accumulate_allowed(
    code: Code, logits: Any, shift: Any, needs: Any, room: Any, sums: Any, blocks: Any
) -> Any:
    """`accumulate` over candidates c with ``needs[c] <= room``; the others weigh nothing.

    Parameters
    ----------
    needs : int64[blocks * LANES]
    room : int64
    """
    needed, limit = code.pointer(2), code.spread(room, types.int64s)

    def allowed(block: Any) -> Any:
        return code.b.icmp_signed("<=", code.load(needed, block, types.int64s, align=8), limit)

    return code.accumulate(code.pointer(0), shift, code.pointer(4), blocks, allowed)


@operation("Tuple((int64, float64))")
def find_lane(code: Code, row: Any, rest: Any) -> Any:
    """Find the lane whose interval holds a number, by cumulative sums over the lanes.

    Parameters
    ----------
    row : float32[LANES]
        Non-negative.
    rest : float64

    Returns
    -------
    tuple of int64 and float64
        The lane, LANES - 1 at most, and the number less the beginning of its interval.
    """
    ends = code.b.fpext(code.load(code.pointer(0), 0), types.doubles)
    zero = ir.Constant(types.doubles, [0.0] * LANES)
    for step in (1, 2, 4, 8):  # sums of 2, 4, 8, 16 lanes up to each one
        moved = [k - step if k >= step else LANES for k in range(LANES)]
        shifted = code.b.shuffle_vector(ends, zero, ir.Constant(types.int32s, moved))
        ends = code.b.fadd(ends, shifted)
    passed = code.b.fcmp_ordered("<=", ends, code.spread(rest, types.doubles))
    bits = code.b.bitcast(passed, ir.IntType(LANES))
    bits = code.b.and_(bits, ir.IntType(LANES)((1 << (LANES - 1)) - 1))  # nothing is behind the last
    lane = code.b.zext(code.call("llvm.ctpop.i16", ir.IntType(LANES), bits), types.int64)
    begins = code.util.alloca_once(code.b, ir.DoubleType(), LANES + 1)
    code.b.store(ir.DoubleType()(0.0), begins)
    code.b.store(ends, code.b.bitcast(code.at(begins, 1), types.doubles.as_pointer()), align=8)
    rest = code.b.fsub(rest, code.b.load(code.at(begins, lane), typ=ir.DoubleType()))
    return code.context.make_tuple(code.b, code.signature.return_type, [lane, rest])
