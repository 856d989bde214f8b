# SPDX-License-Identifier: Apache-2.0
"""Documents that people write, in YAML or JSON."""

from pathlib import Path
from typing import Any

import yaml
from osc_lib import exceptions


def document_of(path: str, largest: int, wanted: str) -> dict[str, Any]:
    """The entries of a file. largest: bytes that it may have; wanted: what it holds, and an entry

    :raises CommandError: names the file and what is wrong.
    """
    try:
        with Path(path).open('rb') as file:
            text = file.read(largest + 1)
        if len(text) > largest:
            raise exceptions.CommandError(f'{path} has more than {largest} bytes')
        loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
        document = yaml.load(text, Loader=loader)
    except OSError as error:
        raise exceptions.CommandError(f'{path}: {error.strerror}') from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise exceptions.CommandError(f'{path} is neither YAML nor JSON: {error}') from None
    if not isinstance(document, dict):
        raise exceptions.CommandError(f'{path} holds no {wanted}')
    return document
