"""Vector operations of training: scores of candidates, softmax, and gradients of a network.

As `nsa_cli.kernels.lanes`, but for many transitions side by side: candidates follow one another without
padding between transitions, so that a transition begins at any offset. Arrays that are read or written from
such an offset have a spare block after their last candidate.
"""

from __future__ import annotations

from typing import Any

from nsa_cli.kernels import llvm as ir
from nsa_cli.kernels.draws import LANES
from nsa_cli.kernels.lanes import HIDDEN, Code, operation
from nsa_cli.kernels.llvm import types

_DOUBLE = ir.DoubleType()
_BYTES = ir.VectorType(ir.IntType(8), LANES)


class RowCode(Code):
    """A builder for networks over rows of features."""

    def whole(self, x: Any) -> tuple[Any, Any]:
        # Where sums may be taken in any order, adding a number and taking it away again is adding nothing.
        rounded = self.call("llvm.rint.v16f32", types.floats, x)
        return rounded, self.b.fptosi(rounded, types.int32s)

    def seen(self, features: Any, starts: Any, block: Any) -> list[Any]:
        return [self.load(features, self.b.add(start, block)) for start in starts]

    def sum_of_unit(self, seen: list[Any], network: Any, h: int) -> Any:
        """First-layer sums of hidden unit h, bias included."""
        total = self.spread_from(network, len(seen) * HIDDEN + h)
        for r, values in enumerate(seen):
            total = self.fma(self.spread_from(network, r * HIDDEN + h), values, total)
        return total

    def inside(self, count: Any, index: Any) -> Any:
        """Tell which lanes of a block lie before the `count`-th candidate."""
        left = self.b.trunc(self.b.sub(count, self.b.mul(index, types.int64(LANES))), types.int32)
        lanes = ir.Constant(types.int32s, list(range(LANES)))
        return self.b.icmp_signed("<", lanes, self.spread(left, types.int32s))

    def load_bytes(self, pointer: Any, offset: Any) -> Any:
        """Load 16 truth values."""
        values = self.load(pointer, offset, _BYTES, align=1)
        return self.b.icmp_unsigned("!=", values, ir.Constant(_BYTES, [0] * LANES))

    def blocks_of(self, count: Any) -> Any:
        return self.b.sdiv(self.b.add(count, types.int64(LANES - 1)), types.int64(LANES))

    def add_to(self, pointer: Any, offset: int, lanes: Any) -> None:
        """Add the sum of all lanes to a float64."""
        place = self.at(pointer, offset)
        total = self.b.fpext(self.sum_of(lanes), _DOUBLE)
        self.b.store(self.b.fadd(self.b.load(place, typ=_DOUBLE), total), place)


@operation("void", RowCode)
def score_rows(code: RowCode, features: Any, shifts: Any, network: Any, scores: Any, blocks: Any) -> None:
    """Score candidates: ``scores[c] = sum_h w[h] max(b[h] + sum_r u[r, h] row_r[c], 0)``.

    Parameters
    ----------
    features : float32[…]
    shifts : tuple of int64
        One for each of R features: where in the flattened features its row begins.
    network : float32[R + 2, HIDDEN]
        u, then b, then w.
    scores : float32[blocks * LANES]
        Written.
    blocks : int64
    """
    f, u, out = (code.pointer(i) for i in (0, 2, 3))
    starts = code.util.unpack_tuple(code.b, shifts)
    outward = (len(starts) + 1) * HIDDEN
    with code.loop(blocks) as loop:
        block = code.b.mul(loop.index, types.int64(LANES))
        seen = code.seen(f, starts, block)
        parts = [code.constant(0.0)] * 4  # four chains of additions keep the pipeline full
        for h in range(HIDDEN):
            unit = code.maximum(code.sum_of_unit(seen, u, h), code.constant(0.0))
            parts[h % 4] = code.fma(code.spread_from(u, outward + h), unit, parts[h % 4])
        total = code.b.fadd(code.b.fadd(parts[0], parts[1]), code.b.fadd(parts[2], parts[3]))
        code.store(total, out, block)


@operation("void", RowCode)
def add_row_gradients(
    code: RowCode, features: Any, shifts: Any, network: Any, weights: Any, gradients: Any, blocks: Any
) -> None:
    """Add the gradients of ``sum_c weights[c] * scores[c]`` of `score_rows`.

    Parameters
    ----------
    weights : float32[blocks * LANES]
        0 for padding, whose features must be finite.
    gradients : float64[R + 2, HIDDEN]
        Added to.
    """
    f, u, g, into = (code.pointer(i) for i in (0, 2, 3, 4))
    starts = code.util.unpack_tuple(code.b, shifts)
    count, zero = len(starts), code.constant(0.0)
    for h in range(HIDDEN):
        sums = [code.variable(zero) for _ in range(count + 2)]

        def add(place: Any, value: Any) -> None:
            code.b.store(value(code.b.load(place, typ=types.floats)), place)

        with code.loop(blocks) as loop:
            block = code.b.mul(loop.index, types.int64(LANES))
            seen, weight = code.seen(f, starts, block), code.load(g, block)
            unit = code.sum_of_unit(seen, u, h)
            on = code.b.fcmp_ordered(">", unit, zero)
            lit, back = code.b.select(on, unit, zero), code.b.select(on, weight, zero)
            for place, x in zip(sums, seen, strict=False):
                add(place, lambda so_far, x=x, back=back: code.fma(back, x, so_far))
            add(sums[count], lambda so_far, back=back: code.b.fadd(so_far, back))
            add(sums[count + 1], lambda so_far, x=weight, y=lit: code.fma(x, y, so_far))
        outward = code.spread_from(u, (count + 1) * HIDDEN + h)
        for r, place in enumerate(sums):
            total = code.b.load(place, typ=types.floats)
            if r <= count:
                total = code.b.fmul(outward, total)
            code.add_to(into, r * HIDDEN + h, total)


@operation("float32", RowCode)
def mask_row(code: RowCode, scores: Any, begin: Any, count: Any, allowed: Any, place: Any, into: Any) -> Any:
    """Copy the scores of a transition's allowed candidates, -3e38 for others and padding; return the largest.

    Parameters
    ----------
    scores : float32[…]
    begin, count : int64
        Candidates ``scores[begin : begin + count]``.
    allowed : uint8[…]
    place : int64
        Where in the flattened masks, 0 or 1, those of the transition begin.
    into : float32[whole blocks]
        Written.

    Returns
    -------
    float32
    """
    pointer, masks, out = (code.pointer(i) for i in (0, 3, 5))
    lowest = code.constant(-3e38)
    largest = code.variable(lowest)
    with code.loop(code.blocks_of(count)) as loop:
        block = code.b.mul(loop.index, types.int64(LANES))
        score = code.load(pointer, code.b.add(begin, block))
        mask = code.load_bytes(masks, code.b.add(place, block))
        open_ = code.b.and_(code.inside(count, loop.index), mask)
        score = code.b.select(open_, score, lowest)
        code.store(score, out, block)
        code.b.store(code.maximum(code.b.load(largest, typ=types.floats), score), largest)
    return code.largest_of(code.b.load(largest, typ=types.floats))


@operation("float32", RowCode)
def exponentials(code: RowCode, numbers: Any, shift: Any, blocks: Any) -> Any:
    """Replace numbers by ``exp(number - shift)``; return their sum, float32.

    Parameters
    ----------
    numbers : float32[blocks * LANES]
    shift : float32
        No smaller than any of them.
    blocks : int64
    """
    pointer, base = code.pointer(0), code.spread(shift)
    sums = code.variable(code.constant(0.0))
    with code.loop(blocks) as loop:
        block = code.b.mul(loop.index, types.int64(LANES))
        weight = code.exp_or_zero(code.b.fsub(code.load(pointer, block), base))
        code.store(weight, pointer, block)
        code.b.store(code.b.fadd(code.b.load(sums, typ=types.floats), weight), sums)
    return code.sum_of(code.b.load(sums, typ=types.floats))
