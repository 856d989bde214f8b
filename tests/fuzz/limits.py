# SPDX-License-Identifier: Apache-2.0
"""The bounds of a run: of memory, of time and of examples."""

import os

MEMORY = 768 * 2**20
"""Bytes that the process may take in addition while it fuzzes."""

SECONDS = float(os.environ.get('NOVA_MARKET_FUZZ_SECONDS', '20'))
"""Of one target; examples that come later are not tried."""

EXAMPLES = int(os.environ.get('NOVA_MARKET_FUZZ_EXAMPLES', '400'))
"""Of one target."""

SLOWEST = 2.0
"""Seconds of CPU time that one example may take; the longest input has some 100 kB."""
