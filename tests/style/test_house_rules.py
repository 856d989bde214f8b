# SPDX-License-Identifier: Apache-2.0
"""Rules that every test of ours keeps, and that no linter of ours knows."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.style.test_layering import ROOT

REASON = '# private: '
"""On the line, or in a comment of its own on the line above; then why the public surface is not enough."""

OWN = {'self', 'cls'}


def private_reads(source: str) -> Iterator[tuple[int, str]]:
    """Lines and names where code reaches into another's private attributes without a reason.

    What a class does with its own (`self._x`) is its own; so are names of two underscores on both sides.
    """
    lines = ['', *source.splitlines()]
    for node in ast.walk(ast.parse(source)):
        if (
            not isinstance(node, ast.Attribute)
            or not node.attr.startswith('_')
            or node.attr.endswith('__')
        ):
            continue
        if isinstance(node.value, ast.Name) and node.value.id in OWN:
            continue
        at = node.end_lineno or node.lineno
        above = lines[at - 1].strip()
        if not (REASON in lines[at] or above.startswith(REASON)):
            yield at, node.attr


def test_tests_use_the_public_surface() -> None:
    """A test that reads private attributes holds the code where it is, not what it does."""
    found = [
        f'{path.relative_to(ROOT)}:{line} {name}'
        for path in sorted((ROOT / 'tests').rglob('*.py'))
        for line, name in private_reads(Path(path).read_text(encoding='utf-8'))
    ]
    assert not found, '\n'.join(found)


@pytest.mark.parametrize(
    ('line', 'names'),
    [
        ('x = one._clock', ['_clock']),
        ('x = self.engine._rounds.decide(1)', ['_rounds']),
        ('x = one._socket.fd  # private: no other way to break it', []),
        ('# private: no other way to break it\nx = one._socket.fd', []),
        ('# private: of another line\n\nx = one._socket.fd', ['_socket']),
        ('x = self._clock, type(x).__name__, super().__init__', []),
    ],
)
def test_what_counts_as_private(line: str, names: list[str]) -> None:
    """The rule finds what it should, and nothing else."""
    assert [name for _, name in private_reads(line)] == names
