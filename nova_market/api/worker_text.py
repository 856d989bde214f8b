# SPDX-License-Identifier: Apache-2.0
"""What workers send and get as text that a shell can make and read: doc/source/specs/worker.rst, JW2.

Lines of `name=value`, an empty line, then bytes as they are. The bytes of a request are the output. Those of
an answer are the texts of a job, one after the other, in the order of the lines with their lengths:
`script=120` is 120 bytes long. The environment is a file of POSIX sh that is quoted here: in sh that is hard.
"""

import base64
import shlex
from collections.abc import Mapping
from typing import Any

from nova_market.api.contract import PlainForm, as_value
from nova_market.api.errors import ApiError

MAX_LINES = 64
TEXTS = ('script', 'checkpoint', 'environment')


def read(text: bytes, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A request. :raises ApiError: 400; a line is no `name=value`, or is not UTF-8."""
    head, _, output = text.partition(b'\n\n')
    try:
        lines = head.decode().removesuffix('\n').split('\n', MAX_LINES)
    except UnicodeDecodeError as error:
        raise _malformed(f'a line is not UTF-8: {error.reason}') from None
    found: dict[str, Any] = {}
    for line in lines:
        name, equals, value = line.partition('=')
        if not equals or name in found or name == 'output' or '\0' in value:
            raise _malformed(f'{line[:40]!r} is no line "name=value" of its own')
        found[name] = as_value(value, schema['properties'].get(name, {}))
    if 'output_bytes' in found:
        found['output'] = base64.b64encode(output).decode()
    return found


def write(body: Mapping[str, Any]) -> bytes:
    """An answer."""
    job = body.get('job') or {}
    texts = {name: _bytes(job[name]) for name in TEXTS if name in job}
    lines = {name: value for name, value in body.items() if name != 'job'}
    lines |= {name: value for name, value in job.items() if name not in texts}
    lines |= {name: len(text) for name, text in texts.items()}
    head = ''.join(f'{name}={_shown(value)}\n' for name, value in lines.items())
    return b'\n'.join([head.encode(), b''.join(texts.values())])


PLAIN = PlainForm(read=read, write=write)


def _bytes(value: str | Mapping[str, str]) -> bytes:
    if isinstance(value, str):
        return value.encode()
    lines = (f'export {name}={shlex.quote(text)}\n' for name, text in value.items())
    return ''.join(lines).encode()


def _shown(value: object) -> str:
    """One line; whole numbers without a point, which sh does not know."""
    if isinstance(value, float):
        return f'{value:.0f}' if value >= 1 else f'{value:g}'
    return str(value).replace('\n', ' ')


def _malformed(detail: str) -> ApiError:
    return ApiError(400, 'market.request.malformed', detail)
