# SPDX-License-Identifier: Apache-2.0
"""Which rows go bad in the passes of which service; every table and every pass has its place here."""

from nova_market.services.app.controller import Controller
from nova_market.services.fairness.rounds import FairnessRounds
from nova_market.services.job.jobs import Jobs
from nova_market.services.lease.leases import Leases
from nova_market.services.market.engine import Engine, NoRebalancing
from nova_market.services.market.rebalancing import Rebalancing
from nova_market.services.notice.delivery import Delivery
from nova_market.services.power.power_pass import PowerPass
from nova_market.services.tender.bags import Bags
from nova_market.services.usage.recorder import UsageRecorder
from tests.functional.passes.app_world import OF_APPS, AppWorld
from tests.functional.passes.job_world import OF_JOBS, JobWorld
from tests.functional.passes.lease_world import OF_LEASES, OF_POWER, LeaseWorld, PowerWorld
from tests.functional.passes.market_world import OF_MARKET, MarketWorld
from tests.functional.passes.notice_world import OF_NOTICES, NoticeWorld
from tests.functional.passes.tender_world import OF_TENDERS, TenderWorld
from tests.functional.passes.usage_world import OF_USAGE, UsageWorld

CASES = [
    *((JobWorld, one) for one in OF_JOBS),
    *((TenderWorld, one) for one in OF_TENDERS),
    *((MarketWorld, one) for one in OF_MARKET),
    *((LeaseWorld, one) for one in OF_LEASES),
    *((PowerWorld, one) for one in OF_POWER),
    *((AppWorld, one) for one in OF_APPS),
    *((NoticeWorld, one) for one in OF_NOTICES),
    *((UsageWorld, one) for one in OF_USAGE),
]
PASSES = {
    Jobs: (JobWorld, TenderWorld),
    Bags: (TenderWorld,),
    Engine: (MarketWorld,),
    Rebalancing: (MarketWorld,),
    Leases: (LeaseWorld, PowerWorld),
    PowerPass: (PowerWorld,),
    Controller: (AppWorld,),
    Delivery: (NoticeWorld,),
    UsageRecorder: (UsageWorld,),
}
"""What does a pass, and whose tables it reads."""

OTHER_PASSES = {
    FairnessRounds: 'it reads no table; its messages are in tests/unit/services/exchange, its guests in '
    'tests/unit/adapters/hypervisor',
    NoRebalancing: 'it does nothing',
}
OTHER_TABLES = {
    'app_replaced_trusts': 'names alone; each trust is ended by itself',
    'job_queue_trusts': 'names alone; each trust is ended by itself',
    'job_projects': 'names alone',
    'job_queue_aliases': 'names alone',
    'job_queue_invitations': 'names alone',
    'job_queue_names': 'names, each with a time, which is looked at when that name is taken',
    'horizons': 'one number, which concerns every posting',
    'offer_turns': 'two numbers, which concern every promise',
    'set_aside': 'texts, which each pass of its service writes anew',
}
"""Table -> why no bad row of it can cost more than itself."""
