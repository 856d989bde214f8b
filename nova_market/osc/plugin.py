# SPDX-License-Identifier: Apache-2.0
"""How `openstack` finds the market's commands. Imported by every run of it, so it imports little itself."""

import argparse
import os
from typing import Any

DEFAULT_API_VERSION = '1'
API_VERSION_OPTION = 'os_market_api_version'
API_NAME = 'market'
API_VERSIONS = ('1',)


def make_client(instance: Any) -> Any:
    """The proxy of openstacksdk; a version such as 1.2 is asked for as microversion."""
    from nova_market.sdk import market_service

    conn = instance.sdk_connection
    version = instance._api_version.get(API_NAME, DEFAULT_API_VERSION)
    conn.config.config['market_api_version'] = DEFAULT_API_VERSION
    if '.' in version:
        conn.config.config['market_default_microversion'] = version
    market_service.load(conn)
    return conn.market


def build_option_parser(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options that all commands share."""
    parser.add_argument(
        '--os-market-api-version',
        metavar='<market-api-version>',
        default=os.environ.get('OS_MARKET_API_VERSION', DEFAULT_API_VERSION),
        help='Market API version, 1 or a microversion such as 1.2 '
        f'(Env: OS_MARKET_API_VERSION), default {DEFAULT_API_VERSION}',
    )
    return parser


def check_api_version(check_version: str) -> bool:
    """The service negotiates minor versions; nothing but major version 1 is there to be refused."""
    return check_version.partition('.')[0] in API_VERSIONS
