# SPDX-License-Identifier: Apache-2.0
"""Documents that people write, in YAML or JSON."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml
from osc_lib import exceptions

from nova_market.core.text import shown


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


def check_names(where: str, given: Iterable[object], known: tuple[str, ...]) -> None:
    """Find misspelt names of entries. One that resembles none is left to the service, which may be newer.

    :raises ValueError: names the entry, what was meant, and all that the file may have there.
    """
    for name in given:
        if name not in known and (meant := get_close_matches(str(name), known, 1)):
            raise ValueError(
                f'{where}{shown(name)} is not known: did you mean {meant[0]}? Entries are {", ".join(known)}'
            )
