# SPDX-License-Identifier: Apache-2.0
"""The verdict of an experiment: which claims hold, which do not, and which a run of this size cannot judge.

A run that is a part of the paper's can be too small for a claim: nothing happens in it that could show it.
Such a claim neither holds nor fails, and a run has passed only when every claim was judged and holds.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

NOT_JUDGED = 'not judged'

Finding = bool | np.bool_ | str
"""Whether a claim holds, or why it was not judged."""


def not_judged(why: str) -> str:
    """What stands for a claim in the summary of a run that cannot judge it."""
    return f'{NOT_JUDGED}: {why}'


def verdict(claims: Mapping[str, Finding]) -> dict[str, Any]:
    """`holds`, each claim with its finding; `passed`: False if one fails, else None if one was not judged."""
    holds = {name: one if isinstance(one, str) else bool(one) for name, one in claims.items()}
    judged = [one for one in holds.values() if not isinstance(one, str)]
    whole = len(judged) == len(holds)
    return {'holds': holds, 'passed': (True if whole else None) if all(judged) else False}
