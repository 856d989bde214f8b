# SPDX-License-Identifier: Apache-2.0
"""Names in the files of configuration that no option has: oslo.config ignores them without a word.

Only groups of ours are looked at: other libraries declare theirs when they are first used.
"""

import logging
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from oslo_config import cfg

from nova_market.conf import opts
from nova_market.conf.openstack import plugin_options
from nova_market.core.text import one_line
from nova_market.wiring.option_lines import OptionLine, lines_of

LOG = logging.getLogger(__name__)

DATABASE = 'database'
"""A group of oslo.db, registered by the programs that have a database."""

MOST_SHOWN = 60
"""Characters of an unknown name."""


def unknown_options(conf: cfg.ConfigOpts) -> tuple[str, ...]:
    """What is set in our groups and is no option, with its file and the option that was probably meant."""
    lines = tuple(lines_of(conf))
    known = _names(conf, lines)
    found = {}
    for line in lines:
        names = known.get(line.group)
        if names is not None and line.name not in names:
            near = get_close_matches(line.name, sorted(names), n=1)
            meant = f'did you mean {near[0]}?' if near else 'it has no effect; remove it'
            found[line.group, line.name, line.file] = (
                f'[{line.group}]{one_line(line.name, MOST_SHOWN)} in {line.file} is no option: {meant}'
            )
    return tuple(found.values())


def log_unknown_options(conf: cfg.ConfigOpts) -> None:
    """One warning for each, when a service starts."""
    for one in unknown_options(conf):
        LOG.warning('%s', one)


def _names(conf: cfg.ConfigOpts, lines: Iterable[OptionLine]) -> Mapping[str, set[str]]:
    """The names that options have, of each group that is ours."""
    known: dict[str, set[str]] = {}
    for group, options in opts.list_opts():
        kinds = [one.value for one in lines if (one.group, one.name) == (group.name, 'auth_type')]
        more = plugin_options(kinds[-1]) if kinds else []
        names = known.setdefault(group.name, set())
        for option in [*options, *more]:
            old = [one.name for one in option.deprecated_opts if one.name]
            names.update(one.replace('-', '_') for one in (option.name, option.dest, *old))
            names.update((option.name, *old))
    if DATABASE in conf:
        known[DATABASE] = set(conf[DATABASE])
    return known
