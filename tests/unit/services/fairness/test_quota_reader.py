# SPDX-License-Identifier: Apache-2.0
"""Quotas are read beside the loop; a cloud that does not answer changes nothing."""

from nova_market.errors import QuotaUnavailable
from nova_market.services.fairness.quota_reader import QuotaReader


class Cloud:
    def __init__(self):
        self.up = True
        self.asked = []

    def quotas(self, owners):
        self.asked.append(tuple(owners))
        if not self.up:
            raise QuotaUnavailable('503')
        return dict.fromkeys(owners, (10, 1024))


def test_last_known_quotas_stay_in_force(caplog):
    cloud = Cloud()
    reader = QuotaReader(cloud, refresh=300.0)
    assert reader(('d', 'e')) == {}
    assert reader.read_once()
    assert reader(('d', 'e')) == {'d': (10, 1024), 'e': (10, 1024)}
    cloud.up = False
    assert not reader.read_once()
    assert not reader.read_once()
    assert reader(('d',)) == {'d': (10, 1024), 'e': (10, 1024)}
    assert caplog.text.count('can not be read') == 1
    cloud.up = True
    assert reader.read_once()


def test_thread_reads_new_owners_and_stops():
    cloud = Cloud()
    reader = QuotaReader(cloud, refresh=300.0)
    reader(('d',))
    thread = reader.start()
    for _ in range(1000):
        if reader(('d',)):
            break
        thread.join(0.01)
    assert reader(('d',)) == {'d': (10, 1024)}
    reader.stop()
    thread.join(5)
    assert not thread.is_alive()
