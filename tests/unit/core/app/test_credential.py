# SPDX-License-Identifier: Apache-2.0
"""Credentials of applications: proven, filled into user data, renewed there."""

import pytest

from nova_market.core.app.credential import digest, filled, proves, renewed
from nova_market.core.app.template import parsed
from nova_market.errors import BadTemplate

OLD, NEW = 'A' * 42 + '-', 'b' * 43


def template(*texts):
    """One component for each text."""
    components = [
        {'name': f'c{n}', 'flavor': 'f', 'image': 'i', 'user_data': text}
        for n, text in enumerate(texts)
    ]
    return parsed({'name': 'x', 'policy': 'p', 'slo': {'queue': True}, 'components': components})


def texts(found):
    return [one.user_data for one in found.components]


def test_a_credential_proves_itself():
    """And nothing else does; where none is kept not even the empty one."""
    assert proves(OLD, digest(OLD))
    assert not proves(NEW, digest(OLD))
    assert not proves('', '')
    assert not proves('0', '0' * 64)


def test_places_are_filled_in_and_nothing_else_changes():
    """In every component, as often as they stand there."""
    made = filled(
        template('@MARKET_URL@ @MARKET_APP@', 'c=@MARKET_CREDENTIAL@;@MARKET_CREDENTIAL@', ''),
        'https://m', 'an-id', OLD,
    )  # fmt: skip
    assert texts(made) == ['https://m an-id', f'c={OLD};{OLD}', '']
    plain = template('#!/bin/sh', '@MARKET@')
    assert filled(plain, 'u', 'a', OLD) == plain


def test_a_new_credential_takes_the_place_of_the_old_one():
    """Found by what is kept of it; what only looks like one stays."""
    other = 'z' * 43
    before = template(f'c="{OLD}" d="{other}"', 'nothing')
    assert texts(renewed(before, digest(OLD), NEW)) == [f'c="{NEW}" d="{other}"', 'nothing']
    joined = template(f'x{OLD}')
    assert renewed(joined, digest(OLD), NEW) == joined
    assert renewed(before, digest('never'), NEW) == before
    assert renewed(before, '', NEW) == before


def test_user_data_that_get_too_long_are_refused():
    """The component and the limit are named."""
    long = template('x' * 47_990 + '@MARKET_APP@'[:10])
    assert filled(long, 'u', 'a', OLD) == long
    with pytest.raises(BadTemplate, match='component c0: user_data has more than 48000 bytes'):
        filled(template('x' * 47_980 + '@MARKET_CREDENTIAL@'), 'u', 'a', OLD)
