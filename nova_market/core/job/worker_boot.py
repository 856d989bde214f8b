# SPDX-License-Identifier: Apache-2.0
"""What a worker's server is started with: user data that writes an agent into the guest and starts it.

Implements rule JW1 of doc/source/specs/worker.rst for the context that a virtual machine of SVMSched is
started with (section 4.2.3). A script for /bin/sh is what cloud-init and CirrOS both run, once in the life of
a server, so one form serves all images: with Python 3.6 the guest runs worker.py, and worker.sh otherwise.
worker.py is compressed, as Python can unpack it: the two agents as they are fill what Nova takes.
"""

import base64
import re
import shlex
import zlib
from dataclasses import dataclass

from nova_market.errors import BadAmount

DIRECTORY = '/var/lib/nova-market-worker'
MAX_USER_DATA = 65_535 // 4 * 3
"""Bytes: Nova takes 65,535 characters of user data in Base64."""

CREDENTIAL = re.compile(r'[A-Za-z0-9_-]{43}', re.ASCII)
"""32 bytes in Base64 for URLs."""

END = 'END_OF_NOVA_MARKET_FILE'

START = """
if python3 -c 'import sys, zlib; sys.exit(sys.version_info < (3, 6))' 2>/dev/null; then
    python3 -I -c 'import base64, sys, zlib
sys.stdout.buffer.write(zlib.decompress(base64.b64decode(sys.stdin.buffer.read())))' \\
        <"$PLACE/worker.py.z" >"$PLACE/worker.py"
    set -- python3 -I "$PLACE/worker.py" --url "$URL" --worker "$WORKER" --user "$AS" \\
        --credential-file "$PLACE/credential" --directory "$PLACE/jobs"
    [ ! -s "$PLACE/ca.pem" ] || set -- "$@" --cacert "$PLACE/ca.pem"
else
    [ ! -s "$PLACE/ca.pem" ] || export NOVA_MARKET_CACERT="$PLACE/ca.pem"
    set -- sh "$PLACE/worker.sh" "$URL" "$WORKER" "$PLACE/credential" "$AS" "$PLACE/jobs"
fi
umask 022
setsid "$@" </dev/null >>"$PLACE/log" 2>&1 &
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerBoot:
    """url: of the market API, as the guest reaches it
    user: of the image, whom jobs run as; '' = each has a uid of its own
    certificates: of the API, in PEM, where the image has not got them; '' = none
    """

    url: str
    worker_id: str
    credential: str
    user: str = ''
    certificates: str = ''
    directory: str = DIRECTORY


def worker_user_data(boot: WorkerBoot, python_agent: str, shell_agent: str) -> str:
    """The script. python_agent, shell_agent: the texts of worker.py and worker.sh.

    The credential goes to a file that only root can read, and into no command line. cloud-init keeps the
    script where only root can read it.

    :raises BadAmount: the credential has another form, or the script is too long for Nova.
    """
    if not CREDENTIAL.fullmatch(boot.credential):
        raise BadAmount(
            'the credential of a worker is 43 characters of Base64 for URLs: make a new one'
        )
    names = {'PLACE': boot.directory, 'URL': boot.url, 'WORKER': boot.worker_id, 'AS': boot.user}
    parts = ['#!/bin/sh\nset -e\n']
    parts += [f'{name}={shlex.quote(value)}\n' for name, value in names.items()]
    # the user of jobs must get through directories that are made above it, too
    parts += ['umask 022\nmkdir -p "$PLACE"\nchmod 711 "$PLACE"\numask 077\n']
    files = {
        'credential': f'{boot.credential}\n',
        'ca.pem': boot.certificates,
        'worker.py.z': base64.encodebytes(zlib.compress(python_agent.encode(), 9)).decode(),
        'worker.sh': shell_agent,
    }
    parts += [_file(name, text) for name, text in files.items() if text]
    script = ''.join([*parts, START])
    if len(script.encode()) > MAX_USER_DATA:
        raise BadAmount(
            f'the user data of a worker has {len(script.encode())} bytes, and Nova takes {MAX_USER_DATA}: '
            'give fewer certificates'
        )
    return script


def _file(name: str, text: str) -> str:
    """Lines that write a file as it is; a file without a newline at its end gets one."""
    if END in text:
        raise BadAmount(f'{name} has a line {END}: that ends it in the script')
    text = text if text.endswith('\n') else f'{text}\n'
    return f'cat > "$PLACE/{name}" <<\'{END}\'\n{text}{END}\n'
