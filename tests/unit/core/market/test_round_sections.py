# SPDX-License-Identifier: Apache-2.0
"""A document is cut into sections and put together again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.market.round_sections import (
    DIVIDED,
    MOST,
    UNSOLD,
    section_of,
    sections,
    seen_by,
    unsold_everywhere,
    whole,
)
from nova_market.errors import BadRow

projects = st.sampled_from([f'p{n}' for n in range(40)])
servers = st.builds(lambda n, p: {'id': f's{n}', 'project_id': p}, st.integers(0, 9), projects)
payers = st.builds(
    lambda kind, p: {'id': f'{kind}:{p}'}, st.sampled_from(['project', 'budget']), projects
)
host = st.builds(
    lambda n, sold: {'name': f'h{n}', 'enforced': sold},
    st.integers(0, 9),
    st.lists(st.sampled_from(['cpu', 'memory']), unique=True),
)
documents = st.fixed_dictionaries(
    {},
    optional={
        'demand': st.just([0.5, 1.0]), 'servers': st.lists(servers, max_size=60),
        'payers': st.lists(payers, max_size=20), 'hosts': st.lists(host, max_size=5),
        'postings': st.just([['k', 'tax', 'a', 'b', 1]]), 'heaviness': st.just({'p1': 0.5}),
        'why': st.text(max_size=5),
    },
)  # fmt: skip


@given(documents)
def test_the_whole_is_what_was_cut(document):
    """Also the order of its lines; of an older version, too."""
    assert whole(sections(document)) == document
    assert whole([document]) == document


@given(documents, st.data())
def test_a_part_that_is_lost_is_noticed(document, data):
    """Else its servers would be taken to have got nothing."""
    parts = sections(document)
    del parts[data.draw(st.integers(0, len(parts) - 1))]
    with pytest.raises(BadRow):
        whole(parts)


@given(documents, projects)
def test_a_project_gets_all_its_lines(document, project):
    """And nothing of what is for the engine and operators."""
    parts = sections(document)
    first = parts[0]
    seen = seen_by(first, parts[section_of(project, first)])
    for name, key in (('servers', 'project_id'), ('payers', 'id')):
        mine = (project, f'project:{project}')
        every = [one for one in document.get(name, []) if one[key] in mine]
        assert [one for one in seen.get(name, []) if one[key] in mine] == every
    assert not {'postings', 'hosts', 'heaviness', 'why'} & seen.keys()
    assert unsold_everywhere(seen) == unsold_everywhere(document) == first[UNSOLD]


def test_a_large_cloud_has_many_sections_and_none_is_large():
    """20,000 servers of 1,000 projects."""
    lines = [{'id': f's{n}', 'project_id': f'{n % 1000}'} for n in range(20_000)]
    first, _, *own = sections({'servers': lines})
    assert first[DIVIDED] == len(own) == 40 <= MOST
    assert max(len(one['servers']) for one in own) < 1000
