# SPDX-License-Identifier: Apache-2.0
"""Hosts that are not needed are powered down, and woken in time: a part of the service of leases."""
