# SPDX-License-Identifier: Apache-2.0
"""Tables of the API itself. For rule Q1 of doc/source/specs/market.rst."""

from sqlalchemy import BigInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from nova_market.db.ledger_tables import TABLE, UUID_LENGTH, Base, table_of


class RefusedRequestRow(Base):
    """How many requests were refused for their number. project_id: '' where they are of none"""

    __tablename__ = 'refused_requests'
    __table_args__ = (TABLE,)
    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    project_id: Mapped[str] = mapped_column(String(UUID_LENGTH), primary_key=True)
    total: Mapped[int] = mapped_column(BigInteger)


refused_requests = table_of(RefusedRequestRow)
