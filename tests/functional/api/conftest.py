# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the API: an empty market in process, and the service as it is deployed."""

from tests.support.market.api import market
from tests.support.market.deployed_api import file

__all__ = ['file', 'market']
