# SPDX-License-Identifier: Apache-2.0
"""Text from outside, made short enough for a log line or an error."""


def shown(value: object) -> str:
    """A refused value for a log line: short, printable, and never an error of its own."""
    if isinstance(value, str):
        return repr(value[:40])
    if isinstance(value, int) and abs(value) >= 2**64:
        return 'a huge whole number'
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    return f'a value of type {type(value).__name__}'


def printable(text: str, most: int) -> str:
    """What every database, log and terminal can take of a text: one line, at most so many characters."""
    return ''.join(one if one.isprintable() else '?' for one in text[:most])
