# SPDX-License-Identifier: Apache-2.0
"""What services have set aside."""

from nova_market.api.policies.role import ADMIN, READER, documented

ALL = ('GET', '/v1/set-aside')
RULES = (
    documented('set_aside:list', READER, 'What of a project cannot be handled, and why.', ALL),
    documented('set_aside:list_all', ADMIN, 'The same of all projects, and of the cloud.', ALL),
)
