# SPDX-License-Identifier: Apache-2.0
"""Every console session of the documentation: what it shows is what the commands print.

`NOVA_MARKET_WRITE_SESSIONS=1 pytest tests/functional/documentation` writes what they print into the pages.
How a page names the stage of a session: tests/support/documentation/sessions.py.
"""

import os
import re
from itertools import groupby
from pathlib import Path

import pytest

from tests.support.documentation import bag_stage, job_stage, lease_stage, machine, stages
from tests.support.documentation.described import problem
from tests.support.documentation.sessions import (
    FRESH,
    ROOT,
    Names,
    pages,
    rewrite,
    sessions,
)
from tests.support.market.api import make_market
from tests.support.market.api_server import serving_market

pytestmark = pytest.mark.functional

STAGES = {
    **stages.STAGES,
    **job_stage.STAGES,
    **lease_stage.STAGES,
    'bags': bag_stage.BagsOfTasks,
}
BEDS = {
    **stages.BEDS,
    **job_stage.BEDS,
    **lease_stage.BEDS,
    'bags': job_stage.JobsBed,
}
WRITE = os.environ.get('NOVA_MARKET_WRITE_SESSIONS') == '1'
DESCRIBED = 'described'
IN_PLAYGROUND = 'playground'
ALL = [one for page in pages() for one in sessions(page)]
PLAYS = {
    (page, stage): list(group)
    for (page, stage), group in groupby(
        sorted(ALL, key=lambda one: (one.page, one.stage, one.start)),
        key=lambda one: (one.page, one.stage),
    )
}


def plays(known: object) -> list[object]:
    return [
        pytest.param(group, id=f'{Path(page).stem}-{stage}')
        for (page, stage), group in PLAYS.items()
        if stage in known
    ]


@pytest.fixture(name='server')
def no_server():
    """Only SQLite here."""


@pytest.fixture
def bed(play, database):
    return BEDS[play[0].stage](database)


@pytest.fixture
def market_service(bed, database):
    more = {'trusts': stages.CloudTrusts(bed)} if isinstance(bed, stages.Bed) else {}
    market = make_market(database, wall=bed.clock.wall, **more)
    yield from serving_market(market, database)


def performed(play, stage):
    """Run the sessions in their order; those that show something else now, as they should be."""
    names, changed = Names(), []
    for session in play:
        for step in session.steps:
            stage.step(step)
        outputs = []
        for command in session.commands:
            words = [names.actual(word) for word in command.words]
            status, printed = stage.command(words)
            assert (status == 0) == (not _refused(command.output)), (
                f'{session}: {command.line}: status {status}: {printed}'
            )
            # of preparations with programs of ours a page may leave out what they print; they must work
            left_out = play[0].stage in machine.STAGES and not command.output
            outputs.append([] if left_out else names.shown(printed.splitlines(), command.output))
        now = session.rewritten(outputs)
        if now.text() != session.text():
            changed.append(now)
    return changed


def _refused(output):
    """Does the page show an error? Refusals of the service end with their code; those of a script name it."""
    refusal = r'\(market\.[\w.]+\)$|^[\w.-]+: line \d+: '
    return bool(output) and re.search(refusal, output[-1]) is not None


def judged(play, changed):
    if WRITE and changed:
        rewrite(ROOT / play[0].page, changed)
        return
    before = {one.start: one for one in play}
    for one in changed:
        assert '\n'.join(before[one.start].text()) == '\n'.join(one.text()), (
            f'{one} shows otherwise'
        )


@pytest.mark.parametrize('play', plays(STAGES))
def test_a_session_shows_what_the_market_prints(
    play, bed, market_service, run, tmp_path, monkeypatch
):
    """Commands through the real client and API, rounds by the engine, applications by the controller."""
    monkeypatch.setenv('CLIFF_MAX_TERM_WIDTH', '110')
    folder = tmp_path / 'page'
    folder.mkdir()
    page = ROOT / play[0].page
    for name, text in {**stages.yaml_blocks(page), **job_stage.scripts(page)}.items():
        (folder / name).write_text(text)
    stage = STAGES[play[0].stage](bed, market_service, run, folder)
    stage.prepare()
    judged(play, performed(play, stage))


@pytest.mark.clock
@pytest.mark.parametrize('play', plays(machine.STAGES))
def test_a_session_shows_what_a_program_prints(play, tmp_path):
    """Our own programs on one machine: keys, tables, checks, status."""
    stage = machine.STAGES[play[0].stage](tmp_path)
    stage.prepare()
    judged(play, performed(play, stage))


@pytest.mark.clock
@pytest.mark.parametrize('session', [one for one in ALL if one.stage == DESCRIBED], ids=str)
def test_a_described_command_exists_with_its_options(session):
    """What needs a real cloud cannot be run here, but it can be typed."""
    found = {one.line: problem(one.words) for one in session.commands}
    assert {line: why for line, why in found.items() if why} == {}
    lines = [line for one in session.commands for line in one.output if line.strip()]
    sources = [step.removeprefix('printed by ') for step in session.steps]
    printed = '\n'.join((ROOT / path).read_text(encoding='utf-8') for path in sources)
    unknown = [
        line for line in lines if not any(word in printed for word in re.findall(r'\w{6,}', line))
    ]
    assert unknown == [], f'{session}: which file prints it? Add the step "printed by PATH"'


@pytest.mark.parametrize('session', ALL, ids=str)
def test_every_session_has_a_stage(session):
    """A new console block names above itself how it is held true."""
    assert session.stage in {*STAGES, *machine.STAGES, DESCRIBED, IN_PLAYGROUND}, (
        f'{session}: put a comment above it, such as ".. session: tenant"; see the docstring of '
        'tests/support/documentation/sessions.py'
    )


@pytest.mark.parametrize('session', ALL, ids=str)
def test_no_random_id_stands_in_a_wrapped_cell(session):
    """Text wraps at the hyphen of some ids and not of others, so the table would differ from run to run."""
    rows = [line for one in session.commands for line in one.output if line.startswith('|')]
    goes_on = [not row.split('|')[1].strip() for row in rows] + [False]
    assert [
        row for n, row in enumerate(rows) if FRESH.search(row) and (goes_on[n] or goes_on[n + 1])
    ] == [], f'{session}: choose other columns'


@pytest.mark.parametrize('page', pages(), ids=lambda path: path.stem)
def test_a_prompt_is_in_a_console_block(page):
    """A session hidden in a literal block would be run by nobody."""
    known = {n for one in sessions(page) for n in range(one.start, one.end)}
    ours = re.compile(r'\s+([$#] )?(openstack|nova-[a-z-]+|tools/cloud|curl) [\w-]')
    lines = page.read_text(encoding='utf-8').splitlines()
    assert [
        f'{n + 1}: {line}'
        for n, line in enumerate(lines)
        if n not in known and ours.match(line) and re.match(r'\s+[$#] ', line)
    ] == []
