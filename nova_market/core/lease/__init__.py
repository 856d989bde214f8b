# SPDX-License-Identifier: Apache-2.0
"""Leases: reservations in advance, where they are placed, and what they cost in power."""
