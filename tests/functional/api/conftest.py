# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests below this folder."""

from tests.support.market.api import empty_tables, market

__all__ = ['empty_tables', 'market']
