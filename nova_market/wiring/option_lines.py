# SPDX-License-Identifier: Apache-2.0
"""What stands in the files of configuration, line by line: oslo.config keeps only what it was asked for."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oslo_config import cfg


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionLine:
    """One assignment in a file of configuration."""

    group: str
    name: str
    value: str
    file: str


def lines_of(conf: cfg.ConfigOpts) -> Iterator[OptionLine]:
    """What stands in the files of configuration, in the order in which oslo.config reads them."""
    directories = [Path(one) for one in _paths(conf, 'config_dir')]
    more = [str(path) for one in directories for path in sorted(one.glob('*.conf'))]
    for file in [*_paths(conf, 'config_file'), *more]:
        sections: dict[str, dict[str, list[str]]] = {}
        try:
            cfg.ConfigParser(file, sections).parse()
        except (OSError, ValueError, cfg.ParseError):
            continue  # oslo.config has refused it already, or does not need it
        for group, entries in sections.items():
            for name, values in entries.items():
                for value in values:
                    yield OptionLine(group=group.lower(), name=name, value=value, file=file)


def _paths(conf: cfg.ConfigOpts, option: str) -> list[str]:
    """The files or directories; none before the command line was read."""
    try:
        return list(getattr(conf, option) or ())
    except cfg.NoSuchOptError:
        return []
