# SPDX-License-Identifier: Apache-2.0
"""What an application's monitors show instead of a token, and how it gets into its servers.

For the application monitors of Merkat (INRIA RR-8648), section 2.3.1. Of a credential its SHA-256 is kept; it
is 256 random bits, so nothing slower is needed to keep it from being guessed. Whoever writes one of PLACES
into a component's user_data has it filled in, in clear text, for servers that are made at any time later.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import replace

from nova_market.core.app.template import MAX_USER_DATA, AppTemplate, Component
from nova_market.errors import BadTemplate

PLACES = ('@MARKET_URL@', '@MARKET_APP@', '@MARKET_CREDENTIAL@')

WORD = re.compile(r'(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])')
"""What a credential looks like: 32 bytes in Base64 for URLs."""

NOBODYS = '0' * 64
"""Compared with where there is none, so that both refusals take as long."""


def digest(credential: str) -> str:
    """What is kept of a credential."""
    return hashlib.sha256(credential.encode()).hexdigest()


def proves(credential: str, kept: str) -> bool:
    """Whether it is the one of which this was kept; in the same time whatever it is."""
    same = hmac.compare_digest(digest(credential), kept or NOBODYS)
    return same and bool(kept)


def filled(template: AppTemplate, url: str, app_id: str, credential: str) -> AppTemplate:
    """The template with PLACES filled in.

    :raises BadTemplate: user_data gets too long.
    """
    return _with_user_data(template, dict(zip(PLACES, (url, app_id, credential), strict=True)))


def renewed(template: AppTemplate, kept: str, credential: str) -> AppTemplate:
    """The template with a new credential where the old one, of which `kept` was kept, was filled in."""
    words = {word for one in template.components for word in WORD.findall(one.user_data)}
    old = [word for word in sorted(words) if proves(word, kept)]
    return _with_user_data(template, dict.fromkeys(old, credential))


def _with_user_data(template: AppTemplate, values: Mapping[str, str]) -> AppTemplate:
    components = tuple(_component(one, values) for one in template.components)
    return replace(template, components=components)


def _component(one: Component, values: Mapping[str, str]) -> Component:
    text = one.user_data
    for place, value in values.items():
        text = text.replace(place, value)
    if len(text.encode()) > MAX_USER_DATA:
        raise BadTemplate(
            f'component {one.name}: user_data has more than {MAX_USER_DATA} bytes '
            f'with {", ".join(PLACES)} filled in: give less'
        )
    return replace(one, user_data=text)
