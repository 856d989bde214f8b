# SPDX-License-Identifier: Apache-2.0
"""APIs of the market as processes that a test may kill.

Called as `python -m tests.support.market.api_processes FILE PORT`. Each line on stdin starts one, as it is
deployed with this configuration file; its pid is printed. APIs are forked, so that a new one is there at
once.
"""

import os
import signal
import sys

from nova_market.cmd import api


def main() -> None:
    file, port = sys.argv[1:]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _ in sys.stdin:
        child = os.fork()
        if not child:
            os.dup2(2, 1)  # its log does not go where pids are read
            sys.exit(api.main(['--config-file', file, '--port', port]))
        sys.stdout.write(f'{child}\n')
        sys.stdout.flush()


if __name__ == '__main__':
    main()
