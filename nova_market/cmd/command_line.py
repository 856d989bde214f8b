# SPDX-License-Identifier: Apache-2.0
"""What the command lines of all programs share: --version, and where the configuration is looked for."""

import sys
from collections.abc import Sequence
from importlib import metadata

from oslo_config import cfg

PACKAGE = 'nova-market'


def version() -> str:
    """What `--version` prints: the name of the package and its version."""
    try:
        return f'{PACKAGE} {metadata.version(PACKAGE)}'
    except metadata.PackageNotFoundError:
        return f'{PACKAGE}, version unknown: it runs from files that are not installed'


def parse(conf: cfg.ConfigOpts, argv: Sequence[str] | None, prog: str, description: str) -> None:
    """Read the command line (None: that of the process) and the files of configuration.

    :raises cfg.Error: an option, or a file, is wrong.
    """
    # oslo.config offers --shell_completion, but the templates that it reads are not in its wheel
    conf.unregister_opt(cfg.StrOpt('shell_completion'))
    conf.supported_shell_completion = []
    conf(
        sys.argv[1:] if argv is None else argv,
        project='nova_market',
        prog=prog,
        version=version(),
        description=description,
        default_config_files=cfg.find_config_files('nova_market', 'nova_market'),
    )
