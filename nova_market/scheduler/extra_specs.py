# SPDX-License-Identifier: Apache-2.0
"""Validators of the extra specs `market:*` for nova-api, which refuses a flavor with a wrong value.

Implements rule S4 of doc/source/specs/market.rst; what a value may be stands in core.market.extra_spec.
"""

from nova import exception
from nova.api.validation.extra_specs import base

from nova_market.core.market.extra_spec import KEYS, check
from nova_market.errors import BadAmount


class MarketValidator(base.ExtraSpecValidator):  # type: ignore[misc]
    """Its error names the key, the value and what it may be; Nova's own would show a regular expression."""

    def validate(self, name: str, value: str) -> None:
        try:
            check(name, value)
        except BadAmount as error:
            raise exception.ValidationError(f'Validation failed; {error}.') from None


def register() -> list[base.ExtraSpecValidator]:
    """What nova.api.extra_spec_validators loads."""
    return [
        MarketValidator(name=key.name, description=key.description, value={'type': str})
        for key in KEYS.values()
    ]
