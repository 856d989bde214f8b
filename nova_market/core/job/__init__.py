# SPDX-License-Identifier: Apache-2.0
"""Jobs in VMs: queues with guaranteed shares, which jobs start now, and which are preempted for them."""
