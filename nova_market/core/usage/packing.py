# SPDX-License-Identifier: Apache-2.0
"""The use of many servers in one span of time as few bytes, and back.

Implements the bound of rule U1 of doc/source/specs/usage.rst: 10,000 servers in under 100 MB a day. Amounts
of a minute are kept to a few significant bits (`kept`): CPU and memory to within 0.8 %, disk and network
within 1.6 %. Sums of what is kept are exact. Columns stand one after the other, and in each the bytes of
equal weight together, as those that hardly differ compress best.

Arrays: numbers (n,) of servers, rising, from 0; amounts (n, len(AMOUNTS)), not negative.
"""

import lzma

import numpy as np

from nova_market.core.resource import Values
from nova_market.core.usage.use import AMOUNTS, MEMORY_MAX, MEMORY_SUM, SECONDS

FINE, COARSE = 6, 5
BITS = np.array([FINE if column <= MEMORY_MAX else COARSE for column in range(len(AMOUNTS))])
"""Of an amount of a minute, after the leading one."""

MINUTES, SUMS = 1, 2
"""First byte: how the amounts are written."""

FILTERS = [{'id': lzma.FILTER_LZMA2, 'preset': 4, 'lc': 0, 'lp': 0, 'pb': 0, 'dict_size': 2**16}]
"""What neighbours in a column have in common is the distribution of a byte, which LZMA learns; deflate, with
one code for all columns, takes a fifth more."""


def kept(amounts: Values) -> Values:
    """The amounts of a minute as they are kept: the nearest numbers of BITS + 1 significant bits."""
    return _decoded(_encoded(amounts))


def pack(numbers: Values, amounts: Values, *, exact: bool) -> bytes:
    """exact: False for a minute: as `kept` has them."""
    kind = SUMS if exact else MINUTES
    columns = amounts.astype(np.int64) if exact else _related(_encoded(amounts))
    steps = np.diff(numbers, prepend=0)
    head = bytes([kind]) + len(numbers).to_bytes(4, 'little')
    plain = _planes(steps[:, None], 4) + _planes(columns, _width(kind))
    return head + lzma.compress(plain, format=lzma.FORMAT_RAW, filters=FILTERS)


def unpack(content: bytes) -> tuple[Values, Values]:
    """(numbers, amounts)."""
    kind, count = content[0], int.from_bytes(content[1:5], 'little')
    plain = lzma.decompress(content[5:], format=lzma.FORMAT_RAW, filters=FILTERS)
    numbers = np.cumsum(_columns(plain[: 4 * count], 1, 4)[:, 0])
    columns = _columns(plain[4 * count :], len(AMOUNTS), _width(kind))
    return numbers, (columns if kind == SUMS else _decoded(_unrelated(columns)))


def _width(kind: int) -> int:
    return 8 if kind == SUMS else 2


def _planes(columns: Values, width: int) -> bytes:
    """Of each column the lowest bytes, then the next ones."""
    rows = np.ascontiguousarray(columns.T.astype(f'<i{width}')).view(np.uint8)
    return rows.reshape(columns.shape[1], -1, width).transpose(0, 2, 1).tobytes()


def _columns(plain: bytes, count: int, width: int) -> Values:
    planes = np.frombuffer(plain, np.uint8).reshape(count, width, -1).transpose(0, 2, 1)
    rows = np.ascontiguousarray(planes).view(f'<i{width}').reshape(count, -1)
    return rows.T.astype(np.int64)


def _encoded(amounts: Values) -> Values:
    """An amount as (its power of two) * 256 + (BITS bits behind the leading one); small ones have power 0."""
    values = np.asarray(amounts, dtype=np.int64)
    shift = np.maximum(np.frexp(values.astype(np.float64))[1].astype(np.int64) - BITS - 1, 0)
    mantissa = (values + ((1 << shift) >> 1)) >> shift
    full = mantissa >= (2 << BITS)
    shift, mantissa = shift + full, np.where(full, mantissa >> 1, mantissa)
    normal = mantissa >= (1 << BITS)
    codes: Values = np.where(normal, (shift + 1) * 256 + mantissa - (1 << BITS), mantissa)
    return codes


def _decoded(codes: Values) -> Values:
    power, rest = codes >> 8, codes & 255
    result: Values = np.where(power > 0, (rest + (1 << BITS)) << np.maximum(power - 1, 0), rest)
    return result


def _related(codes: Values) -> Values:
    """The sum of memory as its difference from the maximum held for all seconds: mostly near 0."""
    result = codes.copy()
    result[:, MEMORY_SUM] = _linear(codes)[:, MEMORY_SUM] - _expected(codes)
    return result


def _unrelated(columns: Values) -> Values:
    result = columns.copy()
    steps = columns[:, MEMORY_SUM] + _expected(columns)
    low = steps % (1 << FINE)
    result[:, MEMORY_SUM] = (steps >> FINE) * 256 + low
    return result


def _linear(codes: Values) -> Values:
    """Codes without gaps: each is one more than the one below it."""
    linear: Values = (codes >> 8) * (1 << BITS) + (codes & 255)
    return linear


def _expected(codes: Values) -> Values:
    amounts = _decoded(codes)
    most = np.zeros_like(amounts)
    most[:, MEMORY_SUM] = amounts[:, MEMORY_MAX] * np.maximum(amounts[:, SECONDS], 1)
    result: Values = _linear(_encoded(most))[:, MEMORY_SUM]
    return result
