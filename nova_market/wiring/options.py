# SPDX-License-Identifier: Apache-2.0
"""Looks at every option at start: oslo.config otherwise finds a bad value when it is first used."""

import math
from collections.abc import Iterable

from oslo_config import cfg

from nova_market.errors import ConfigurationError


def check_values(
    conf: cfg.ConfigOpts, groups: Iterable[tuple[cfg.OptGroup, list[cfg.Opt]]]
) -> None:
    """:raises ConfigurationError: names the option, its value, the limit and where it stands."""
    for group, options in groups:
        for option in options:
            try:
                value = getattr(conf[group.name], option.dest)
            except cfg.ConfigFileValueError as error:
                raise ConfigurationError(f'[{group.name}]{option.name}: {error}') from None
            if isinstance(value, float) and not math.isfinite(value):
                raise ConfigurationError(
                    f'[{group.name}]{option.name} = {value}: not a finite number'
                )
