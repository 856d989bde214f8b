# SPDX-License-Identifier: Apache-2.0
"""What time it is for a command: that of this machine, or in a playground that of its cloud.

The clock of a playground (doc/source/user/playground.rst) runs faster. Its shell names a file in
OS_MARKET_CLOCK: a JSON object with `wall`, what the cloud's clock had at the time `at` of this machine, and
`speed`.
"""

import json
import os
from pathlib import Path
from time import time

CLOCK = 'OS_MARKET_CLOCK'


def now() -> float:
    """Seconds since the epoch; the machine's where there is no such file, or it cannot be read."""
    path = os.environ.get(CLOCK)
    if not path:
        return time()
    try:
        found = json.loads(Path(path).read_text(encoding='utf-8'))
        return float(found['wall'] + (time() - found['at']) * found['speed'])
    except (OSError, ValueError, KeyError, TypeError):
        return time()
