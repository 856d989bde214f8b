# SPDX-License-Identifier: Apache-2.0
"""Validators of the extra specs `market:*` for nova-api, which refuses a flavor with a wrong value.

Implements rule S4 of doc/source/specs/market.rst; what a value may be stands in core.market.extra_spec.
"""

from nova import exception
from nova.api.validation.extra_specs import base

from nova_market.core.market.extra_spec import KEYS, complaint


class MarketValidator(base.ExtraSpecValidator):  # type: ignore[misc]
    """Says which key, which value, and what it may be; Nova's own would show a regular expression."""

    def validate(self, name: str, value: str) -> None:
        trouble = complaint(name, value)
        if trouble is not None:
            raise exception.ValidationError(f'Validation failed; {trouble}.')


def register() -> list[base.ExtraSpecValidator]:
    """What nova.api.extra_spec_validators loads."""
    return [
        MarketValidator(name=key.name, description=key.description, value={'type': str})
        for key in KEYS.values()
    ]
