# SPDX-License-Identifier: Apache-2.0
"""Options of group [database], as oslo.db has them, with a default of ours.

Those of trying again (max_retries, retry_interval, db_*) have no effect: db.database tries by itself.
"""

from oslo_config import cfg
from oslo_db import options

DEFAULT = 'sqlite:////var/lib/nova_market/nova_market.sqlite'
"""Enough for one node: MariaDB or PostgreSQL where more than one engine or API process writes."""


def register_opts(conf: cfg.ConfigOpts) -> None:
    options.set_defaults(conf, connection=DEFAULT)


def set_sample_default() -> None:
    """For the generator of the sample configuration: our default instead of oslo.db's."""
    cfg.set_defaults(options.database_opts, connection=DEFAULT)
