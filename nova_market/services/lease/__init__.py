# SPDX-License-Identifier: Apache-2.0
"""Leases: booked, kept, moved."""
