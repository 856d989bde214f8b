# SPDX-License-Identifier: Apache-2.0
"""A database that answers, and does not know the account of [database]connection."""

import pytest
from sqlalchemy import make_url

from nova_market.db import schema
from nova_market.db.database import Database, passes
from nova_market.errors import DatabaseUnavailable
from tests.support.servers.databases import REAL


@pytest.mark.parametrize('database_server', REAL, indirect=True)
def test_the_error_names_the_option_and_the_user_and_no_password(url: str) -> None:
    """A service that starts waits as for a database that is down: the account may be made meanwhile.

    A command says so at once: work is not tried again.
    """
    wrong = make_url(url).set(username='nobody', password='geheim')
    made = Database({'connection': wrong.render_as_string(hide_password=False)}, patience=0.0)
    with pytest.raises(DatabaseUnavailable) as raised:
        schema.check(made)
    made.close()
    told = str(raised.value)
    assert 'refuses the user and password of [database]connection' in told
    assert 'nobody' in told
    assert 'geheim' not in told
    assert not passes(raised.value.__cause__)
