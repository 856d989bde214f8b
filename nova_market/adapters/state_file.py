# SPDX-License-Identifier: Apache-2.0
"""A JSON document on disk that is replaced whole or not at all."""

import json
import logging
import os
import tempfile
from collections.abc import Mapping

LOG = logging.getLogger(__name__)


class JsonFile:
    """Implements ports.StateFile."""

    def __init__(self, path: str, mode: int = 0o640, durable: bool = True) -> None:
        """durable: flush to disk before the old document goes; not needed for what is display only."""
        self.path = path
        self._mode = mode
        self._durable = durable

    def load(self) -> Mapping[str, object] | None:
        try:
            with open(self.path, encoding='utf-8') as stream:
                document = json.load(stream)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            LOG.warning('%s can not be read and is ignored: %s', self.path, error)
            return None
        return document if isinstance(document, dict) else None

    def save(self, document: Mapping[str, object]) -> None:
        """:raises OSError: the directory cannot be written; the old document is as it was."""
        directory = os.path.dirname(self.path)
        handle, temporary = tempfile.mkstemp(
            dir=directory, prefix='.' + os.path.basename(self.path)
        )
        try:
            with os.fdopen(handle, 'w', encoding='utf-8') as stream:
                json.dump(document, stream)
                os.fchmod(stream.fileno(), self._mode)
                if self._durable:
                    stream.flush()
                    os.fsync(stream.fileno())
            os.replace(temporary, self.path)
        except BaseException:
            os.unlink(temporary)
            raise
        if self._durable:
            parent = os.open(directory, os.O_RDONLY)
            try:
                os.fsync(parent)
            finally:
                os.close(parent)
