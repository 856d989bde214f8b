# SPDX-License-Identifier: Apache-2.0
"""Whoever asks a service to act for him, and the trust of Keystone with which it does."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from nova_market.errors import NovaMarketError, TrustRefused
from nova_market.ports import Trusts

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Who asks: the user of a token, its project, his roles there, and the token."""

    user_id: str
    project_id: str
    roles: Sequence[str]
    token: str


def delegated(trusts: Trusts, owner: Owner, allowed: Sequence[str], project: str) -> str:
    """A trust of the owner's roles in this project, or of those that the operator allows; its id.

    :raises TrustRefused: the token is of another project, or has none of these roles.
    """
    if project != owner.project_id:
        raise TrustRefused(f'your token is of another project: give one of {project}')
    held = sorted(set(owner.roles))
    roles = [role for role in held if role in (allowed or held)]
    if not roles:
        raise TrustRefused(
            f'you have none of the roles {", ".join(allowed)} in this project: ask for one'
        )
    return trusts.create(owner.token, owner.user_id, owner.project_id, roles)


def end_trust(trusts: Trusts, owner: Owner, trust_id: str) -> None:
    """End a trust that nothing uses; one that can't be ended is logged."""
    try:
        if trust_id:
            trusts.delete(owner.token, trust_id)
    except NovaMarketError as error:
        LOG.warning('trust %s is left over: %s', trust_id, error)
