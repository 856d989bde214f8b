# SPDX-License-Identifier: Apache-2.0
"""Versions of the API that resources are asked for in, by what they brought: doc/source/api/index.rst."""

ECONOMY = ROUNDS = '1.3'
JOBS = '1.4'
BAGS = '1.7'
LEASES = '1.8'
LEASE_OFFERS = '1.12'
OWN_WORKERS = '1.13'
SET_ASIDE = '1.14'
LIMITS = '1.15'
STOPPED_NOTICES = '1.16'
PARTIAL_BIDS = CHECKED_APPS = SUMS = NEWEST_FIRST = QUOTED_PRICES = '1.17'
