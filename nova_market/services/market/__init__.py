# SPDX-License-Identifier: Apache-2.0
"""nova-market-engine."""
