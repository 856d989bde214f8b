# SPDX-License-Identifier: Apache-2.0
"""The values that guests had before the service touched them, kept on disk.

An entry is on disk before the first write to the guest it speaks of, so that after a crash at any moment
`restore`, or the next run when it stops, can put everything back (H9). Entries are keyed by guest, domain id
and boot of the host: a guest that was started anew has fresh values, and its entry is dropped.
"""

import logging
from collections.abc import Collection, Mapping

from nova_market.core.host.load import Incarnation
from nova_market.core.resource import GuestId
from nova_market.ports import StateFile

LOG = logging.getLogger(__name__)
FORMAT = 1


class OriginalValues:
    def __init__(self, file: StateFile, boot: str) -> None:
        """boot: identity of the running kernel; entries of another boot are void."""
        self._file = file
        self._boot = boot
        self._saved = True
        self.entries: dict[Incarnation, dict[str, int]] = self._load()

    def remember(self, originals: Mapping[Incarnation, Mapping[str, int]]) -> None:
        """Add what is not known yet; what is known stays, it was there first."""
        for key, values in originals.items():
            known = self.entries.setdefault(key, {})
            for control, value in values.items():
                if control not in known:
                    known[control] = value
                    self._saved = False
        if not self._saved:
            self._save()

    def keep_only(self, alive: Collection[Incarnation]) -> None:
        """Drop guests that are gone. Saved with the next change: a stale entry does no harm."""
        for key in [key for key in self.entries if key not in alive]:
            del self.entries[key]

    def forget(self, keys: Collection[Incarnation]) -> None:
        """Entries whose values are back, on disk too."""
        self.keep_only(self.entries.keys() - keys)
        self._save()

    def forget_control(self, name: str, guests: Collection[Incarnation]) -> None:
        """One control whose values are back in these guests."""
        for key in guests:
            self.entries.get(key, {}).pop(name, None)
        self._save()

    def _save(self) -> None:
        guests = [
            {'id': key[0], 'domain_id': key[1], 'originals': values}
            for key, values in sorted(self.entries.items())
            if values
        ]
        self._file.save({'format': FORMAT, 'boot': self._boot, 'guests': guests})
        self._saved = True

    def _load(self) -> dict[Incarnation, dict[str, int]]:
        document = self._file.load()
        if not document or document.get('boot') != self._boot or document.get('format') != FORMAT:
            return {}
        result: dict[Incarnation, dict[str, int]] = {}
        try:
            for guest in document['guests']:  # type: ignore[attr-defined]
                key = (GuestId(str(guest['id'])), int(guest['domain_id']))
                result[key] = {str(k): int(v) for k, v in guest['originals'].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            LOG.warning('the record of original values is damaged and ignored (%s)', error)
            return {}
        return result
