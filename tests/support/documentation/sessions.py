# SPDX-License-Identifier: Apache-2.0
"""The console sessions of the documentation: where they are, what they run, what they show.

A session is one `.. code-block:: console`. The comment above it states how a test holds it true:

    .. session: STAGE[, STEP]...

The sessions of one stage on one page run in their order in one environment (stages.py). Before a session
runs, its steps are taken, such as `after 2 periods` or `as root`. The stage `described` is for commands that
need a real cloud: of these the command and its options are checked, and nothing is run (described.py). Where
such a session shows an output, its step is `printed by PATH`: a file that has a long word of each line.

Ids and credentials that differ in each run are aligned with those on the page: see `Names`.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BLOCK = '.. code-block:: console'
MARK = re.compile(r'\s*\.\. session: (?P<stage>[\w-]+)(?P<steps>(, [\w ./-]+)*)$')
PROMPT = re.compile(r'[$#] ')
FRESH = re.compile(
    r'(?<![0-9a-f-])(?!0{8}-)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f-])'
    r'|(?<![\w])[0-9a-f]{64}(?![\w])'
    r'|(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{43}(?![\w-])'
)
"""What is made anew in each run: random UUIDs, keys of 64 digits, credentials of 43 characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """text: as the page has it, with its prompt and continuation lines. output: the lines below it."""

    text: tuple[str, ...]
    output: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The command in one line, without its prompt."""
        return ' '.join(part.strip().removesuffix('\\').strip() for part in self.text)[2:]

    @property
    def words(self) -> list[str]:
        return shlex.split(self.line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """page: below the root of the repository. start, end: its lines, counted from 0, `end` not included."""

    page: str
    start: int
    end: int
    indent: str
    stage: str
    steps: tuple[str, ...]
    commands: tuple[Command, ...]

    def __str__(self) -> str:
        return f'{self.page}:{self.start + 1}'

    def text(self) -> list[str]:
        """The lines of the block as they stand on the page."""
        found: list[str] = []
        shown = False
        for command in self.commands:
            if shown:
                found.append('')
            found += [*command.text, *command.output]
            shown = bool(command.output)
        return [f'{self.indent}{line}'.rstrip() for line in found]

    def rewritten(self, outputs: Sequence[Sequence[str]]) -> 'Session':
        """The same commands with other outputs."""
        pairs = zip(self.commands, outputs, strict=True)
        return replace(
            self, commands=tuple(replace(one, output=tuple(output)) for one, output in pairs)
        )


def pages() -> list[Path]:
    """Every page that may have a session."""
    return sorted([*ROOT.glob('*.rst'), *ROOT.glob('doc/source/**/*.rst')])


def sessions(page: Path) -> Iterator[Session]:
    """The sessions of a page; one without its comment has the stage ''."""
    lines = page.read_text(encoding='utf-8').splitlines()
    for number, line in enumerate(lines):
        if line.strip() != BLOCK:
            continue
        start = number + 2
        margin = len(line) - len(line.lstrip())
        end = start
        while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > margin):
            end += 1
        while not lines[end - 1].strip():
            end -= 1
        indent = lines[start][: _indent(lines[start])]
        stage, steps = _mark(lines[:number])
        yield Session(
            page=str(page.relative_to(ROOT)),
            start=start,
            end=end,
            indent=indent,
            stage=stage,
            steps=steps,
            commands=tuple(_commands([one.removeprefix(indent) for one in lines[start:end]])),
        )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _mark(before: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Stage and steps of the comment that is the last thing before a block."""
    last = next((line for line in reversed(before) if line.strip()), '')
    found = MARK.match(last)
    if found is None:
        return '', ()
    return found['stage'], tuple(step for step in found['steps'].split(', ') if step)


def _commands(lines: Sequence[str]) -> Iterator[Command]:
    """A prompt begins a command; a backslash at the end, or an open quote, continues it."""
    rest = list(lines)
    while rest:
        text = [rest.pop(0)]
        while rest and (text[-1].endswith('\\') or _open(text)):
            text.append(rest.pop(0))
        output = []
        while rest and not PROMPT.match(rest[0]):
            output.append(rest.pop(0))
        while output and not output[-1].strip():
            output.pop()
        yield Command(text=tuple(text), output=tuple(output))


def _open(text: Sequence[str]) -> bool:
    """Is a quote open at the end of these lines?"""
    try:
        shlex.split('\n'.join(text)[2:])
    except ValueError:
        return True
    return False


class Names:
    """Which random id of this run stands for which one on the page, learned from each output."""

    def __init__(self) -> None:
        self._actual: dict[str, str] = {}
        self._shown: dict[str, str] = {}

    def actual(self, text: str) -> str:
        """Text of the page with the ids of this run."""
        return FRESH.sub(lambda found: self._actual.get(found[0], found[0]), text)

    def shown(self, printed: Sequence[str], page: Sequence[str]) -> list[str]:
        """What was printed, with the ids of the page: the known ones, and new ones in their order."""
        wanted = [one for line in page for one in FRESH.findall(line)]
        fresh = [one for line in printed for one in FRESH.findall(line)]
        unused = iter([one for one in wanted if one not in self._actual])
        for one in dict.fromkeys(fresh):
            if one not in self._shown:
                name = next(unused, one)
                self._actual[name], self._shown[one] = one, name
        return [FRESH.sub(lambda found: self._shown[found[0]], line).rstrip() for line in printed]


def rewrite(page: Path, changed: Sequence[Session]) -> None:
    """Put sessions back into their page."""
    lines = page.read_text(encoding='utf-8').splitlines()
    for one in sorted(changed, key=lambda session: -session.start):
        lines[one.start : one.end] = one.text()
    page.write_text('\n'.join(lines) + '\n', encoding='utf-8')
