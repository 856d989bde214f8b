# SPDX-License-Identifier: Apache-2.0
"""The settings of notices, from group [notices], frozen at start, of the API and the service. Seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeLimits:
    """What users may ask for, in the API. mail_domains, webhook_hosts: patterns; none: the channel is off"""

    mail_domains: tuple[str, ...] = ()
    webhook_hosts: tuple[str, ...] = ()
    max_per_hour: int = 60
    max_codes: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverySettings:
    """give_up: how long a message is tried; workers: messages at the same time; prefix: of subjects"""

    name: str
    interval: float = 5.0
    give_up: float = 86_400.0
    workers: int = 9
    prefix: str = '[market]'
