# SPDX-License-Identifier: Apache-2.0
"""The dearest frames that we know of: what a peer would send to keep a decoder busy or to fill its memory."""

import json

import msgspec

from nova_market.core.exchange.frame import MAX_VALUES
from nova_market.core.exchange.validation import MAX_OWNERS

SIZE = 4 * 1024 * 1024 - 1024
"""Bytes of one; a little less than the longest frame that is looked at."""

HEAD = {
    'v': 1,
    'kind': 'report',
    'host': 'a',
    'incarnation': 1,
    'sequence': 1,
    'metric': 'greediness',
    'supply': [1.0] * 6,
    'load': [1.0] * 6,
    'virtual': [1.0] * 6,
}
UPDATE = HEAD | {'kind': 'state', 'epoch': 'e', 'roster': 'r'}
CONFIRMATION = {'v': 1, 'kind': 'market.applied', 'engine': 'e', 'host': 'a', 'period': 7}


def array(count):
    """How a msgpack array of so many values begins."""
    return b'\xdd' + count.to_bytes(4, 'big')


def mapping(count):
    return b'\xdf' + count.to_bytes(4, 'big')


def packed(head, field, body):
    """A msgpack message whose last field has this content."""
    rest = {key: value for key, value in head.items() if key != field}
    parts = [msgspec.msgpack.encode(part) for item in rest.items() for part in item]
    return bytes([0x81 + len(rest)]) + b''.join(parts) + msgspec.msgpack.encode(field) + body


def plain(head, field, body):
    """The same in JSON."""
    rest = {key: value for key, value in head.items() if key != field}
    return f'{json.dumps(rest)[:-1]},"{field}":'.encode() + body + b'}'


def packed_frames():
    arrays = array(SIZE) + b'\x90' * SIZE
    found = {
        f'{kind["kind"]} {field}': packed(kind, field, arrays)
        for kind, fields in (
            (HEAD, ('kind', 'gone', 'owners', 'quotas', 'supply', 'unknown')),
            (UPDATE, ('owners', 'left', 'roster')),
            (CONFIRMATION, ('servers', 'heaviness', 'used', 'since', 'enforced')),
        )
        for field in fields
    }
    names = [b'\xa4%04d' % number for number in range(MAX_OWNERS)]
    deep = b'\x91' * 400 + b'\x90'
    wide = b'\xdc\x01\x90' + b'\x01' * 400
    return found | {
        'a key of arrays': packed(HEAD, 'owners', mapping(1) + arrays + b'\x01'),
        'maps as keys': packed(HEAD, 'owners', mapping(MAX_OWNERS) + b'\x80\x01' * MAX_OWNERS),
        'many owners': packed(HEAD, 'owners', mapping(SIZE // 4) + b'\xa1a\x91\x01' * (SIZE // 4)),
        'deep rows': packed(HEAD, 'owners', mapping(MAX_OWNERS) + deep.join([*names, b''])),
        'wide rows': packed(HEAD, 'owners', mapping(MAX_OWNERS) + wide.join([*names, b''])),
        'names': packed(UPDATE, 'left', array(SIZE // 2) + b'\xa1a' * (SIZE // 2)),
    }


def plain_frames():
    arrays = b'[' + b'[],' * (SIZE // 3 - 1) + b'[]]'
    found = {
        f'{kind["kind"]} {field}, plain': plain(kind, field, arrays)
        for kind, fields in (
            (HEAD, ('kind', 'gone', 'owners', 'supply', 'unknown')),
            (CONFIRMATION, ('heaviness', 'since')),
        )
        for field in fields
    }
    below = MAX_VALUES - 1000
    rows = [b'"%d":[1]' % number for number in range(below)]
    deep = [b'"%d":' % number + b'[' * 200 + b']' * 200 for number in range(MAX_OWNERS - 1)]
    return found | {
        'many owners, plain': plain(HEAD, 'owners', b'{' + b','.join(rows) + b'}'),
        'deep rows, plain': plain(HEAD, 'owners', b'{' + b','.join(deep) + b'}'),
        'numbers, plain': plain(HEAD, 'supply', b'[' + b'0,' * below + b'0]'),
        'names, plain': plain(UPDATE, 'left', b'[' + b'"ab",' * (SIZE // 5 - 1) + b'"ab"]'),
        'digits, plain': plain(HEAD, 'v', b'1' * SIZE),
        'braces, plain': plain(HEAD, 'owners', b'{"a":' * (SIZE // 5)),
        'a long name, plain': plain(HEAD, 'owners', b'{"' + b'a' * (SIZE - 9) + b'":[1]}'),
    }


def hostile_frames():
    """Name -> frame."""
    return packed_frames() | plain_frames()
