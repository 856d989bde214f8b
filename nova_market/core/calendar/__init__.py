# SPDX-License-Identifier: Apache-2.0
"""Capacity in time: what hosts have free when, and what is booked."""
