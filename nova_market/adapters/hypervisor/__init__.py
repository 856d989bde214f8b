# SPDX-License-Identifier: Apache-2.0
"""Reads hosts and guests: libvirt, cgroups, /proc."""
