# SPDX-License-Identifier: Apache-2.0
"""What the token may be good for that a request to another region carries: that request, and nothing else.

Implements rule O6 of doc/source/specs/tender.rst. Who breaks into a region has the tokens that it is sent.
"""

from collections.abc import Collection, Mapping, Sequence

from nova_market.core.service_type import SERVICE_TYPE

ROLE = 'market_region'
"""By which other regions make offers for users; the policies of the API give it nothing else."""

METHOD = 'POST'
PATH = '/v1/offers'
WILD = frozenset('*{}')
"""Characters by which a rule is for more than one path (keystonemiddleware)."""


def excess(roles: Collection[str], rules: Sequence[Mapping[str, str]] | None) -> str:
    """What else a token can do; '' if nothing. rules: access rules of its application credential, if any"""
    if others := sorted(set(roles) - {ROLE}):
        return f'it has the role {others[0]:.64}: give it {ROLE} alone'
    if ROLE not in roles:
        return f'it lacks the role {ROLE}'
    if not rules:
        return 'it has no access rules'
    for rule in rules:
        path = str(rule.get('path', ''))
        asks = (rule.get('method'), rule.get('service')) == (METHOD, SERVICE_TYPE)
        if not asks or not path.endswith(PATH) or WILD & set(path):
            said = f'{rule.get("method")} {path} of {rule.get("service")}'
            return f'it has an access rule for {said:.120}: only {METHOD} ...{PATH} of {SERVICE_TYPE} may be'
    return ''
