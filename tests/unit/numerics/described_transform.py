"""The operations that the proof of `dpcheck.numerics.fourier` counts, one numpy operation for each rounding.

A real transform as the proof describes it: radices 4, 2, 3, 5 in decimation in time, twiddle factors that are
products of two table entries, conjugate halves filled in by symmetry. `test_fourier.py` compares it with
scipy's, bit by bit: where they agree, the counted operations are the ones that were carried out.
"""

from __future__ import annotations

import math

import numpy as np

from dpcheck.numerics.fourier import stages

Pair = tuple[np.ndarray, np.ndarray]  # real and imaginary parts

ROOT_HALF, ROOT_TWO = math.sqrt(0.5), math.sqrt(2.0)
HALF_ROOT_THREE = 0.8660254037844386467637231707529362
COS_1, SIN_1 = 0.3090169943749474241022934171828191, 0.9510565162951535721164393333793821
COS_2, SIN_2 = -0.8090169943749474241022934171828191, 0.5877852522924731291687059546390728


def table(size: int) -> Pair:
    """cos and sin of 2 pi k/size, k < size: products of two entries, each of an angle of at most pi/4."""
    half = (size + 2) // 2
    shift = 1
    while 4**shift < half:
        shift += 1
    low = [_entry(k, size) for k in range(2**shift)]
    high = [_entry(k << shift, size) for k in range(-(-half // 2**shift))]
    real, imaginary = np.empty(size), np.empty(size)
    for k in range(size):
        at = min(k, size - k)
        (a, b), (c, d) = low[at & (2**shift - 1)], high[at >> shift]
        real[k] = a * c - b * d
        imaginary[k] = (a * d + b * c) if 2 * k <= size else -(a * d + b * c)
    return real, imaginary


def _entry(k: int, size: int) -> tuple[float, float]:
    """cos and sin of 2 pi k/size, k <= size/2, by reflection at multiples of pi/4."""
    if k == 0:
        return 1.0, 0.0
    unit = float(np.longdouble("0.785398163397448309615660845819875721") / np.longdouble(size))
    eighth, at = divmod(8 * k, size)
    turned = [at, size - at][eighth % 2]
    if eighth % 2 == 1 and at == 0:
        turned = size
    c, s = math.cos(turned * unit), math.sin(turned * unit)
    return [(c, s), (s, c), (-s, c), (-c, s), (-c, -s)][eighth]


def forward(x: np.ndarray) -> np.ndarray:
    """The coefficients 0 to size/2."""
    size = len(x)
    real, imaginary = _forward(x[:, None], stages(size), table(size), 1)
    return (real + 1j * imaginary)[: size // 2 + 1, 0]


def _forward(x: np.ndarray, radices: list[int], roots: Pair, stride: int) -> Pair:
    """Coefficients of the columns of x, each a sequence of its own."""
    size = len(x)
    if size == 1:
        return x.copy(), np.zeros_like(x)
    r = radices[0]
    m = size // r
    parts = [_forward(x[j::r], radices[1:], roots, stride * r) for j in range(r)]
    low = np.arange(m // 2 + 1)
    twisted = [
        _times(_at(part, low), _root(roots, j * stride * low, -1)) if j else _at(part, low)
        for j, part in enumerate(parts)
    ]
    twisted = [
        (np.where(low[:, None] == 0, a[0][low], b), np.where(low[:, None] == 0, a[1][low], c))
        for a, (b, c) in zip(parts, twisted, strict=True)
    ]
    out = _butterfly(twisted, -1)
    if m % 2 == 0 and m > 0:
        middle = _middle([part[0][m // 2] for part in parts])
        for q in range(r):
            out[q][0][m // 2], out[q][1][m // 2] = middle[q]
    return _mirrored(out, size, m)


def _middle(z: list[np.ndarray]) -> list[Pair]:
    """The butterfly of real middle coefficients, whose roots are multiples of an eighth of a turn."""
    if len(z) == 2:
        return [(z[0], -z[1]), (z[0], z[1])]
    down, across = -ROOT_HALF * (z[1] + z[3]), ROOT_HALF * (z[1] - z[3])
    first, second = (z[0] + across, down - z[2]), (z[0] - across, down + z[2])
    return [first, second, (second[0], -second[1]), (first[0], -first[1])]


def _mirrored(out: list[Pair], size: int, m: int) -> Pair:
    """All coefficients from those at q m + i, i <= m/2: the others are their conjugates."""
    columns = out[0][0].shape[1]
    real, imaginary = np.empty((size, columns)), np.empty((size, columns))
    for q, (a, b) in enumerate(out):
        at = q * m + np.arange(m // 2 + 1)
        real[-at % size], imaginary[-at % size] = a, -b
    for q, (a, b) in enumerate(out):
        at = q * m + np.arange(m // 2 + 1)
        real[at], imaginary[at] = a, b
    return real, imaginary


def backward(spectrum: np.ndarray, size: int) -> np.ndarray:
    """The sequence of that size, scaled by 1/size."""
    whole = np.concatenate((spectrum, np.conj(spectrum[1 : (size + 1) // 2][::-1])))
    pair = whole.real[:, None].copy(), whole.imag[:, None].copy()
    factor = float(1 / np.longdouble(size))
    return factor * _backward(pair, stages(size), table(size), 1)[:, 0]


def _backward(z: Pair, radices: list[int], roots: Pair, stride: int) -> np.ndarray:
    size = len(z[0])
    if size == 1:
        return z[0]
    r = radices[0]
    m = size // r
    low = np.arange(m // 2 + 1)
    inputs = [_at(z, q * m + low) for q in range(r)]
    out = _butterfly(inputs, +1)
    x = np.empty(z[0].shape)
    for j in range(r):
        a, b = _times(out[j], _root(roots, j * stride * low, +1)) if j else out[j]
        a[0], b[0] = out[j][0][0], 0.0
        if m % 2 == 0:
            a[m // 2], b[m // 2] = _middle_back(inputs, m // 2)[j], 0.0
        real = np.concatenate((a, a[1 : (m + 1) // 2][::-1]))
        imaginary = np.concatenate((b, -b[1 : (m + 1) // 2][::-1]))
        x[j::r] = _backward((real, imaginary), radices[1:], roots, stride * r)
    return x


def _middle_back(z: list[Pair], at: int) -> list[np.ndarray]:
    if len(z) == 2:
        return [2 * z[0][0][at], -2 * z[0][1][at]]
    (a, b), (c, d) = (z[0][0][at], z[0][1][at]), (z[1][0][at], z[1][1][at])
    across, down = a - c, b + d
    return [2 * (a + c), ROOT_TWO * (across - down), 2 * (d - b), -ROOT_TWO * (across + down)]


def _at(z: Pair, at: np.ndarray) -> Pair:
    return z[0][at], z[1][at]


def _root(roots: Pair, at: np.ndarray, sign: int) -> Pair:
    at = at % len(roots[0])
    return roots[0][at][:, None], sign * roots[1][at][:, None]


def _times(z: Pair, w: Pair) -> Pair:
    return w[0] * z[0] - w[1] * z[1], w[0] * z[1] + w[1] * z[0]


def _plus(a: Pair, b: Pair) -> Pair:
    return a[0] + b[0], a[1] + b[1]


def _minus(a: Pair, b: Pair) -> Pair:
    return a[0] - b[0], a[1] - b[1]


def _scaled(c: float, a: Pair) -> Pair:
    return c * a[0], c * a[1]


def _turned(a: Pair, sign: int) -> Pair:
    """i a or -i a."""
    return -sign * a[1], sign * a[0]


def _butterfly(z: list[Pair], sign: int) -> list[Pair]:
    """sum_j z_j e^{2 pi i sign j q/r} for q < r."""
    if len(z) == 2:
        return [_plus(*z), _minus(*z)]
    if len(z) == 3:
        both, turn = _plus(z[1], z[2]), _turned(_scaled(HALF_ROOT_THREE, _minus(z[1], z[2])), sign)
        rest = _plus(z[0], _scaled(-0.5, both))
        return [_plus(z[0], both), _plus(rest, turn), _minus(rest, turn)]
    if len(z) == 4:
        even, odd = _plus(z[0], z[2]), _plus(z[1], z[3])
        apart, turn = _minus(z[0], z[2]), _turned(_minus(z[1], z[3]), sign)
        return [_plus(even, odd), _plus(apart, turn), _minus(even, odd), _minus(apart, turn)]
    near, far = _plus(z[1], z[4]), _plus(z[2], z[3])
    near_turn, far_turn = _minus(z[1], z[4]), _minus(z[2], z[3])
    first = _plus(_plus(z[0], _scaled(COS_1, near)), _scaled(COS_2, far))
    second = _plus(_plus(z[0], _scaled(COS_2, near)), _scaled(COS_1, far))
    one = _turned(_plus(_scaled(SIN_1, near_turn), _scaled(SIN_2, far_turn)), sign)
    two = _turned(_minus(_scaled(SIN_2, near_turn), _scaled(SIN_1, far_turn)), sign)
    return [
        _plus(_plus(z[0], near), far),
        _plus(first, one),
        _plus(second, two),
        _minus(second, two),
        _minus(first, one),
    ]
