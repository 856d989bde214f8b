# SPDX-License-Identifier: Apache-2.0
"""Shares bind all jobs: the rigid policy of SVMSched (section 6.3), against which `flexible` is measured.

A queue whose share is smaller than one of its jobs never starts that job.
"""

import numpy as np

from nova_market.core.job.policy_interface import JobSnapshot, Selection
from nova_market.core.job.round_robin import round_robin


def rigid(seen: JobSnapshot) -> Selection:
    """Algorithm 1 without the exception for short jobs in line 11."""
    return round_robin(seen, np.ones(len(seen.waiting), dtype=np.bool_))
