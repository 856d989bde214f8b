# SPDX-License-Identifier: Apache-2.0
"""`#MARKET` lines of a script: options of `openstack market job create`, as `#SBATCH` lines are of sbatch.

A line counts when it begins with `#MARKET` in its first column and stands before the first command, which is
the first line that is neither empty nor a comment. Its words are quoted as in a shell; `#` after a space
begins a comment. Which options there are is the business of the command that reads them.
"""

import re
import shlex
from dataclasses import dataclass

from nova_market.core.text import shown
from nova_market.errors import BadScript

MAX_SCRIPT = 65_536
"""Bytes: it travels in one answer to a small guest, and in the request's body."""

MARK = '#MARKET'
_MARKED = re.compile(rf'{MARK}(?=\s|$)')
_COMMENT = re.compile(r'\s#')


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionLine:
    """number: of the line in the script, from 1. words: what stands on it, unquoted."""

    number: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptOptions:
    """lines: those that count, in their order. late: numbers of those after the first command: no options."""

    lines: tuple[OptionLine, ...] = ()
    late: tuple[int, ...] = ()


def script_options(text: str) -> ScriptOptions:
    """The `#MARKET` lines of a script.

    :raises BadScript: a quote is not closed; names the line.
    """
    lines, late = [], []
    before = True
    for number, line in enumerate(text.split('\n'), start=1):
        if marked := _MARKED.match(line):
            if before:
                lines.append(OptionLine(number=number, words=_words(line[marked.end() :], number)))
            else:
                late.append(number)
        elif line.strip() and not line.lstrip().startswith('#'):
            before = False
    return ScriptOptions(lines=tuple(lines), late=tuple(late))


def check_script(text: str) -> None:
    """Can a worker start this script?

    :raises BadScript: names the line, what stands there and what to do.
    """
    if not text.strip():
        raise BadScript('the script is empty: give commands to run')
    if '\0' in text:
        raise BadScript('the script contains a zero byte: give a text file, such as a shell script')
    lines = text.split('\n')
    ended = next((number for number, line in enumerate(lines, start=1) if line.endswith('\r')), 0)
    if ended:
        raise BadScript(
            f'line {ended} ends as on Windows (CR LF), which no interpreter on Linux accepts: '
            "convert the script, such as with: sed -i 's/\\r$//'"
        )
    if not re.match(r'#! *\S', lines[0]):
        raise BadScript(
            f'line 1 is {shown(lines[0])}: a script begins with #! and its interpreter, such as #!/bin/sh'
        )


def _words(text: str, number: int) -> tuple[str, ...]:
    """Words of a line, without its comment: what stands before the first ` #` outside of quotes."""
    for comment in _COMMENT.finditer(text):
        try:
            return tuple(shlex.split(text[: comment.start()]))
        except ValueError:
            continue  # a quote is open there: this # is a part of a word
    try:
        return tuple(shlex.split(text))
    except ValueError:
        raise BadScript(f'line {number}: a quote is not closed in {shown(text.strip())}') from None
