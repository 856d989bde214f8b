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


def one_line(text: str, most: int | None = None) -> str:
    """Text from outside as one line that shows what it says, at most so many characters.

    What is not printable becomes a blank: control characters, those that turn the direction of writing, and
    those that no database takes.
    """
    return ''.join(c if c.isprintable() else ' ' for c in text[:most])
