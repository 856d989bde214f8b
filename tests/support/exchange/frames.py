# SPDX-License-Identifier: Apache-2.0
"""Frames of any values, as a hostile peer would write them."""

import json

import msgspec

from nova_market.adapters.transport.wire_format import decode
from nova_market.core.exchange.codec import from_values
from nova_market.errors import MalformedReport


def frames_of(values):
    """These values in each format that can hold them."""
    found = []
    for write in (lambda v: json.dumps(v).encode(), msgspec.msgpack.encode):
        try:
            found.append(write(values))
        except (TypeError, ValueError, OverflowError):
            continue
    return found


def check_frames(values):
    """A frame with these values is taken as they are taken without one, or refused as they are."""
    for frame in frames_of(values):
        try:
            wanted = from_values(values)
        except MalformedReport:
            wanted = None
        taken, error = None, ''
        try:
            taken = decode(frame)
        except MalformedReport as refused:
            error = str(refused)
        assert taken == wanted
        assert len(error) < 200 and (not error or error.isprintable())
