# SPDX-License-Identifier: Apache-2.0
"""Options of tempest.conf: is there a market, where is it, and what may its tests expect of the cloud?

devstack/lib/nova-market writes them on a DevStack.
"""

from oslo_config import cfg

AVAILABLE = cfg.BoolOpt('nova_market', default=False, help='Is the API of the market available?')

MARKET = cfg.OptGroup('market', title='API of nova-market')
MARKET_OPTIONS: list[cfg.Opt] = [
    cfg.StrOpt('catalog_type', default='market', help='Type of the service in the catalog.'),
    cfg.StrOpt('region', default='', help='Region of the endpoint; empty = [identity]region.'),
    cfg.StrOpt(
        'endpoint_type',
        default='publicURL',
        choices=['publicURL', 'adminURL', 'internalURL'],
        help='Interface of the endpoint.',
    ),
    cfg.IntOpt(
        'round_timeout',
        default=300,
        min=1,
        help='Seconds within which a round takes a new server into account: five periods of the engine.',
    ),
]

FEATURES = cfg.OptGroup('market-feature-enabled', title='What runs beside the API')
FEATURE_OPTIONS: list[cfg.Opt] = [
    cfg.BoolOpt(
        'rounds',
        default=False,
        help='Does the engine run, and nova-fairness on the compute hosts, and do projects get credits?',
    ),
]


GROUPS: list[tuple[cfg.OptGroup, list[cfg.Opt]]] = [
    (MARKET, MARKET_OPTIONS),
    (FEATURES, FEATURE_OPTIONS),
]
