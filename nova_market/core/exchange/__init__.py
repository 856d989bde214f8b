# SPDX-License-Identifier: Apache-2.0
"""What hosts send each other: messages, sums, aggregators, allocations."""
