# SPDX-License-Identifier: Apache-2.0
"""What a service has set aside, as it is kept for owners and operators.

Implements rule R3 of doc/source/specs/passes.rst. Seconds since the epoch.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """One row that cannot be handled now; it is tried again in each pass.

    kind:    what it is: `job`, `queue`, `lease`, ...; id: of the row
    stage:   what was to be done with it
    reason:  why that cannot be done
    service: that has set it aside; since: when, first; project_id: whose it is, '' for nobody's. These three
             are the store's
    """

    kind: str
    id: str
    stage: str
    reason: str
    service: str = ''
    project_id: str = ''
    since: float = 0.0
