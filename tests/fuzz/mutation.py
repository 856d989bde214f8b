# SPDX-License-Identifier: Apache-2.0
"""Bytes that are nearly right: an example of what a decoder reads, and some edits of it.

Hypothesis draws them, so a run draws the same ones each time, and what it finds is made as small as it
can be.
"""

from hypothesis import strategies as st

TOKENS = (
    b'',
    b'\0',
    b'\n',
    b'\r\n\r\n',
    b'{',
    b'[',
    b'"',
    b'}',
    b',',
    b':',
    b'[' * 5000,
    b'{"a":' * 5000,
    b'- ' * 5000,
    b'9' * 5000,
    b'-',
    b'-0',
    b'1e999',
    b'-1e999',
    b'1e-999',
    b'NaN',
    b'Infinity',
    b'null',
    b'true',
    b'18446744073709551616',
    b'9223372036854775808',
    b'\xff\xfe',
    b'\xed\xa0\x80',
    '\u202e'.encode(),
    '\U0001f680'.encode(),
    b'\\u0000',
    b'\\ud800',
    # msgpack: empty containers, lengths that are not there, extensions, doubles that are no numbers
    b'\x80',
    b'\x90',
    b'\xc0',
    b'\xc1',
    b'\xdd\xff\xff\xff\xff',
    b'\xdf\xff\xff\xff\xff',
    b'\xc7\x00\x02',
    b'\xc9\xff\xff\xff\xff\x02',
    b'\xcb\x7f\xf8\0\0\0\0\0\0',
    b'\xcf' + b'\xff' * 8,
    b'\x91' * 5000,
    # YAML: anchors, tags, merges
    b'&a [*a]',
    b'!!python/object:os.system',
    b'<<: *a',
    b'*a',
    b'? ',
    # HTTP
    b'HTTP/1.1 200 OK\r\n',
    b'Transfer-Encoding: chunked\r\n\r\n',
    b'Content-Length: -1\r\n',
    b'ffffffffffffffff\r\n',
)


@st.composite
def nearly(draw, seeds):
    """One of the seeds with up to five edits; now and then bytes of no seed."""
    if draw(st.integers(0, 15)) == 15:
        return draw(st.binary(max_size=200))
    found = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 5))):
        found = _edited(draw, found, seeds)
    return found


def _edited(draw, found, seeds):
    kind = draw(st.sampled_from(['insert', 'replace', 'cut', 'end', 'repeat', 'flip', 'splice']))
    begin = draw(st.integers(0, len(found)))
    end = min(begin + draw(st.integers(0, 40)), len(found))
    if kind == 'insert':
        return found[:begin] + draw(st.sampled_from(TOKENS)) + found[begin:]
    if kind == 'replace':
        return found[:begin] + draw(st.sampled_from(TOKENS)) + found[end:]
    if kind == 'cut':
        return found[:begin] + found[end:]
    if kind == 'end':
        return found[:begin]
    if kind == 'repeat':
        return found[:begin] + found[begin:end] * draw(st.sampled_from([2, 3, 1000])) + found[end:]
    if kind == 'flip' and begin < len(found):
        flipped = found[begin] ^ (1 << draw(st.integers(0, 7)))
        return found[:begin] + bytes([flipped]) + found[begin + 1 :]
    other = draw(st.sampled_from(seeds))
    return found[:begin] + other[draw(st.integers(0, len(other))) :]
