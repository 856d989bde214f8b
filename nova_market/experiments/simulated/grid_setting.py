# SPDX-License-Identifier: Apache-2.0
"""What the experiments of grid-cloud have in common: the paper's parameters, options and one run.

INRIA RR-7837, sections 4.1 to 4.3. Units: seconds; a currency unit of the paper is a micro-credit. Where
the paper has two values, the first prices are 100, 10000 and 10000 (section 4.3; 4.1 has 1000 for the
last two). The price rule is eq. (5) as printed, with a floor and a ceiling, but without a limit for one
step.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nova_market.core.tender.negotiation import Order, Strategy
from nova_market.core.tender.price import PriceRule, PriceSettings, printed, settled
from nova_market.errors import BadWorkload
from nova_market.experiments.simulated.verdict import Finding, not_judged
from nova_market.sim.tender.cloud import CloudSetting
from nova_market.sim.tender.cluster import CATALOGUE, CLUSTERS
from nova_market.sim.tender.outcome import Outcome
from nova_market.sim.tender.tender_run import MESSAGE, MarketSetting, TenderRun
from nova_market.sim.tender.workload import UserTasks

EQUATION_5 = PriceSettings(step=0.0)

RULES: dict[str, tuple[PriceRule, PriceSettings]] = {
    'printed': (printed, EQUATION_5),
    'settled': (settled, PriceSettings()),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """part: of the tasks of each user; 1 is the paper's
    rule: of RULES; message: seconds of a hop
    """

    seed: int = 1
    part: float = 1.0
    rule: str = 'printed'
    message: float = MESSAGE
    output: Path = field(default_factory=Path)

    def __post_init__(self) -> None:
        if not 0.0 < self.part <= 1.0:
            raise BadWorkload(f'a part of {self.part:g} of the tasks: give more than 0, at most 1')
        if not 0.0 <= self.message <= 60.0:
            raise BadWorkload(f'a message takes {self.message:g} s: give 0 to 60')

    def tasks(self, count: int) -> int:
        """So many of the paper's tasks, at least one."""
        return max(round(count * self.part), 1)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of all of them."""
    parser.add_argument('--seed', type=int, default=1, help='default: %(default)d')
    parser.add_argument(
        '--part', type=float, default=1.0, metavar='P',
        help='of the tasks of each user, for a quick look (default: 1, as in the paper); of a part '
        'not every claim is judged',
    )  # fmt: skip
    parser.add_argument(
        '--rule', choices=list(RULES), default='printed',
        help='how prices change: eq. (5) as printed, or with an exponent that is inverted below '
        'capacity and steps of at most 2 (default: %(default)s)',
    )  # fmt: skip
    parser.add_argument(
        '--message', type=float, default=MESSAGE, metavar='S',
        help='seconds of a message from node to node (default: %(default)g)',
    )  # fmt: skip


def setting_of(arguments: argparse.Namespace) -> Setting:
    """From the options."""
    return Setting(
        seed=arguments.seed,
        part=arguments.part,
        rule=arguments.rule,
        message=arguments.message,
        output=arguments.output,
    )


def market(
    setting: Setting,
    clusters: Sequence[str],
    *,
    order: Order = Order.RISK,
    retry: bool = True,
    alternatives: bool = True,
    until: float = float('inf'),
) -> MarketSetting:
    """Clouds on these clusters of Table 2, with the catalogue of Table 1."""
    rule, prices = RULES[setting.rule]
    return MarketSetting(
        clouds=[
            CloudSetting(cluster=CLUSTERS[name], flavors=CATALOGUE, rule=rule, prices=prices)
            for name in clusters
        ],
        strategy=Strategy(order=order, retry=retry, alternatives=alternatives),
        message=setting.message,
        until=until,
    )


def run(market_setting: MarketSetting, tasks: Sequence[UserTasks]) -> Outcome:
    """One run."""
    return TenderRun(setting=market_setting, tasks=tasks).run()


def whole(setting: Setting, finding: Finding) -> Finding:
    """A finding that only the paper's number of tasks can show."""
    if setting.part < 1.0:
        return not_judged(f'a part of {setting.part:g} of the tasks does not fill the clouds')
    return finding


def described(name: str, setting: Setting) -> dict[str, Any]:
    """For whoever wants to repeat it."""
    return {
        'experiment': name,
        'seed': setting.seed,
        'part': setting.part,
        'rule': setting.rule,
        'message': setting.message,
    }


def reasons(outcome: Outcome) -> dict[str, int]:
    """First tries without a deal, by reason, and acceptances that were refused later."""
    return {why.value: count for why, count in outcome.refused.items()}
