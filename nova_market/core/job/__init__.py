# SPDX-License-Identifier: Apache-2.0
"""Jobs in servers: queues with shares, and what is decided about their jobs (SVMSched)."""
