# SPDX-License-Identifier: Apache-2.0
"""A process that posts until it has posted all.

Called as `python -m tests.support.market.ledger_writer URL SEED COUNT ACCOUNTS`. What it posts is a
function of the seed, so one that was killed is started again, and two with one seed post the same. It
prints a line when it begins, and waits for a line before each batch as long as its input is open.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator

from nova_market.core.ledger.posting import BANK, MINT, Posting, Reason, account, posting_key
from nova_market.db.database import Database
from nova_market.db.ledger import DatabaseLedger
from nova_market.errors import BalanceTooLow

BATCH = 5


def postings(seed: int, count: int, accounts: int) -> Iterator[list[Posting]]:
    """Batches: grants alone, which are always good, and transfers and charges, which may be refused."""
    rng = random.Random(seed)
    for number in range(count):
        names = [account('project', f'p{rng.randrange(accounts)}') for _ in range(2 * BATCH)]
        grants = number % 2 == 0
        batch = []
        for place in range(BATCH):
            source, target = names[2 * place : 2 * place + 2]
            reason = Reason.GRANT if grants else Reason.TRANSFER
            source = MINT if grants else source
            target = BANK if source == target else target
            batch.append(
                Posting(
                    key=posting_key(reason, 0, f's{seed}-{number}-{place}'),
                    reason=reason,
                    debit=source,
                    credit=target,
                    amount=rng.randrange(1, 1000),
                )
            )
        yield batch


def granted(seed: int, count: int, accounts: int) -> int:
    """What the grants of one seed add up to."""
    batches = postings(seed, count, accounts)
    return sum(p.amount for batch in batches for p in batch if p.debit == MINT)


def write(
    ledger: DatabaseLedger,
    seed: int,
    count: int,
    accounts: int,
    wait: Callable[[], object] = lambda: None,
) -> None:
    """wait: before each batch"""
    for batch in postings(seed, count, accounts):
        wait()
        try:
            ledger.post(batch)
        except BalanceTooLow:
            continue


def main() -> None:
    url, seed, count, accounts = sys.argv[1], *map(int, sys.argv[2:5])
    database = Database({'connection': url})
    sys.stdout.write('ready\n')
    sys.stdout.flush()
    write(DatabaseLedger(database, time.time), seed, count, accounts, sys.stdin.readline)
    database.close()


if __name__ == '__main__':
    main()
