# SPDX-License-Identifier: Apache-2.0
"""A program that was installed without its extra ends with one line in place of a traceback.

The package without extras is the client; the scripts of all programs are installed beside it.
"""

import sys
from pathlib import Path
from types import TracebackType

EXTRAS = {
    'nova-fairness': 'fairness',
    'nova-market-api': 'api',
    'nova-market-controller': 'controller',
    'nova-market-engine': 'controller',
    'nova-market-experiment': 'fairness,sim',
    'nova-market-jobs': 'controller',
    'nova-market-leases': 'controller',
    'nova-market-manage': 'controller',
    'nova-market-notices': 'controller',
    'nova-market-playground': 'api',
    'nova-market-sim': 'sim',
    'nova-market-status': 'controller',
}
"""Program -> the extras of setup.cfg that have all that it imports."""


def explain(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    """For sys.excepthook, after which Python ends with status 1."""
    program = Path(sys.argv[0]).name
    if program in EXTRAS and isinstance(error, ModuleNotFoundError) and _is_ours(error):
        print(
            f'{program}: the module {error.name} is not installed: '
            f"pip install -c constraints.txt '.[{EXTRAS[program]}]' in a checkout of nova-market",
            file=sys.stderr,
        )
    else:
        sys.__excepthook__(kind, error, traceback)


def _is_ours(error: ModuleNotFoundError) -> bool:
    """Does a module of ours import it from elsewhere? What others lack, no extra of ours brings."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    importer = frame.tb_frame.f_globals.get('__name__', '') if frame else ''
    package = __name__.partition('.')[0]
    return importer.startswith(f'{package}.') and str(error.name).partition('.')[0] != package
