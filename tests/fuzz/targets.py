# SPDX-License-Identifier: Apache-2.0
"""The decoders of what others write, each with examples of what it reads and the errors that it may raise.

DECODERS is the list: tests/style/test_fuzz_targets.py asserts that each of its names exists and has a
target, and that no module of ours decodes anything without being in it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.fuzz import answers, api_bodies, exchange, tenant_files

DECODERS = (
    'nova_market.adapters.transport.wire_format.decode',
    'nova_market.adapters.transport.oslo.frame_in',
    'nova_market.adapters.transport.zmq.listener.judge',
    'nova_market.core.usage.history.attributed',
    'nova_market.api.contract.checked_body',
    'nova_market.api.worker_text.read',
    'nova_market.core.scheduler.snapshot_reader.read_answer',
    'nova_market.core.tender.region_answer.read_answer',
    'nova_market.osc.v1.bag_file.bag_of',
    'nova_market.osc.v1.app_file.template_of',
    'nova_market.osc.v1.job_option.script_values',
    'nova_market.adapters.notice.webhook.HttpsWebhook',
    'nova_market.adapters.power.redfish.RedfishPower',
    'nova_market.sim.workload.swf.read_log',
)


@dataclass(frozen=True, kw_only=True)
class Target:
    """decode(bytes) raises nothing but `errors`; it reads one or several of `seeds`, and others nearly."""

    decode: Callable[[bytes], object]
    seeds: tuple[bytes, ...]
    errors: tuple[type[Exception], ...]


TARGETS: Mapping[str, Target] = {
    name: Target(**parts)
    for module in (exchange, api_bodies, answers, tenant_files)
    for name, parts in module.TARGETS.items()
}
