# SPDX-License-Identifier: Apache-2.0
"""What alembic runs a migration in: the connection that db.schema gives, no alembic.ini."""

from alembic import context

from nova_market.db import app_tables
from nova_market.db.ledger_tables import Base

assert app_tables.apps is not None  # all tables are part of the metadata

connection = context.config.attributes['connection']
context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    render_as_batch=connection.dialect.name == 'sqlite',
)
with context.begin_transaction():
    context.run_migrations()
