# SPDX-License-Identifier: Apache-2.0
"""The table of what services have set aside: rule R3 of doc/source/specs/passes.rst."""

from sqlalchemy import Double, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from nova_market.db.app_tables import REASON_LENGTH
from nova_market.db.ledger_tables import TABLE, UUID_LENGTH, Base, table_of

WORD_LENGTH = 40
NAME_LENGTH = 255


class SetAsideRow(Base):
    """A row of another table, or a thing of the cloud, that a service cannot handle now."""

    __tablename__ = 'set_aside'
    __table_args__ = (Index('set_aside_of_project', 'project_id', 'since'), TABLE)
    service: Mapped[str] = mapped_column(String(WORD_LENGTH), primary_key=True)
    kind: Mapped[str] = mapped_column(String(WORD_LENGTH), primary_key=True)
    id: Mapped[str] = mapped_column(String(NAME_LENGTH), primary_key=True)
    stage: Mapped[str] = mapped_column(String(WORD_LENGTH), primary_key=True)
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH), server_default='')
    reason: Mapped[str] = mapped_column(String(REASON_LENGTH))
    since: Mapped[float] = mapped_column(Double)


set_aside = table_of(SetAsideRow)
