# SPDX-License-Identifier: Apache-2.0
"""Looks at every option at start: oslo.config otherwise finds a bad value when it is first used."""

import math
import os
from collections.abc import Iterable, Iterator

from oslo_config import cfg, types

from nova_market.conf import opts
from nova_market.core.text import one_line
from nova_market.errors import ConfigurationError
from nova_market.wiring.option_lines import lines_of

MOST_SHOWN = 40
"""Characters of a refused value."""

Groups = Iterable[tuple[cfg.OptGroup, list[cfg.Opt]]]


def check_values(conf: cfg.ConfigOpts, groups: Groups) -> None:
    """:raises ConfigurationError: names each wrong option, its value, its file and what is allowed."""
    wrong = '; '.join(_wrong_values(conf, groups))
    if wrong:
        raise ConfigurationError(wrong)


def explained(conf: cfg.ConfigOpts, error: Exception) -> Exception:
    """For people: an error of oslo.config about a value of one of our options as `check_values` has it."""
    if isinstance(error, cfg.ConfigSourceValueError):
        try:
            check_values(conf, opts.list_opts())
        except ConfigurationError as wrong:
            return wrong
    return error


def _wrong_values(conf: cfg.ConfigOpts, groups: Groups) -> Iterator[str]:
    for group, options in groups:
        for option in options:
            if option.dest not in conf[group.name]:
                continue  # of a plug-in that is not in use
            try:
                value = getattr(conf[group.name], option.dest)
            except cfg.ConfigSourceValueError as error:
                allowed = _allowed(option.type) or str(error).partition(' is not valid: ')[2]
                yield f'[{group.name}]{option.name}{_given(conf, group, option)}: {allowed}'
                continue
            if isinstance(value, float) and not math.isfinite(value):
                given = _given(conf, group, option) or f' is {value}'
                yield f'[{group.name}]{option.name}{given}: {_allowed(option.type)}'


def _given(conf: cfg.ConfigOpts, group: cfg.OptGroup, option: cfg.Opt) -> str:
    """The value as it was given, and where."""
    variable = f'OS_{group.name.upper()}__{option.name.upper()}'
    if variable in os.environ:
        found = [(os.environ[variable], f'the environment ({variable})')]
    else:
        names = {option.name, option.dest}
        lines = [one for one in lines_of(conf) if one.group == group.name and one.name in names]
        found = [(one.value, one.file) for one in lines]
    if not found:
        return ''
    value, where = found[-1]
    return f' in {where}' if option.secret else f' is {one_line(value, MOST_SHOWN)} in {where}'


def _allowed(kind: object) -> str:
    """What to give; '' where only oslo.config can tell."""
    choices = getattr(kind, 'choices', None)
    if choices:
        return f'give one of {", ".join(str(one) for one in choices)}'
    if isinstance(kind, types.Number):
        noun = 'a whole number' if isinstance(kind, types.Integer) else 'a number'
        if kind.min is not None and kind.max is not None:
            return f'give {noun} from {kind.min:g} to {kind.max:g}'
        least = '' if kind.min is None else f' of at least {kind.min:g}'
        most = '' if kind.max is None else f' of at most {kind.max:g}'
        return f'give {noun}{least}{most}'
    if isinstance(kind, types.Boolean):
        return 'give true or false'
    if isinstance(kind, types.List) and _allowed(kind.item_type):
        return f'{_allowed(kind.item_type)}, or several with commas between them'
    return ''
