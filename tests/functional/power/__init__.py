# SPDX-License-Identifier: Apache-2.0
"""Hosts are powered down and woken by the service of leases."""
