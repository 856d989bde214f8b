# SPDX-License-Identifier: Apache-2.0
"""The market's API: put together from the configuration, and a small server for demonstrations.

In production a WSGI server runs nova_market.wsgi.api:application; see doc/source/admin/market-api.rst.
"""

import sys
from collections.abc import Sequence
from typing import Any

from oslo_config import cfg
from oslo_log import log
from werkzeug.serving import run_simple

from nova_market.cmd import command_line, program
from nova_market.errors import NovaMarketError
from nova_market.wiring.api import PROGRAM, build, register_opts
from nova_market.wiring.options import explained
from nova_market.wiring.unknown_options import log_unknown_options


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; the exit code: 0 stopped, 1 failed, 78 options that cannot work."""
    conf = cfg.ConfigOpts()
    try:
        register_opts(conf)
        conf.register_cli_opts(
            [
                cfg.HostAddressOpt('bind', default='127.0.0.1', help='Address to listen at.'),
                cfg.PortOpt('port', default=8781, help='Port to listen at.'),
            ]
        )
        command_line.parse(
            conf, argv, PROGRAM,
            'Serves the market API for development and demonstrations, without TLS. In '
            'production run nova_market.wsgi.api:application in uWSGI, gunicorn or mod_wsgi.',
        )  # fmt: skip
        log.setup(conf, PROGRAM)
        log_unknown_options(conf)
        application: Any = build(conf)
        run_simple(conf.bind, conf.port, application, threaded=True)
    except (NovaMarketError, cfg.Error, OSError) as error:
        return program.failed(PROGRAM, explained(conf, error))
    return 0


if __name__ == '__main__':
    sys.exit(main())
