# SPDX-License-Identifier: Apache-2.0
"""Misspelt names in files that people write."""

import pytest
from osc_lib import exceptions

from nova_market.api.schemas.bag import BAG_NEW, TASK_NEW
from nova_market.core.app.template_schema import TEMPLATE
from nova_market.osc.v1 import app_file, bag_file

BAG = 'queue: render\ntasks: [{name: one, %s: echo}]\n'


@pytest.mark.parametrize(
    ('read', 'text', 'expected'),
    [
        (
            app_file.template_of,
            'polcy: full_deadline',
            "'polcy' is not known: did you mean policy?",
        ),
        (bag_file.bag_of, BAG % 'comand', "tasks[0].'comand' is not known: did you mean command?"),
        (bag_file.bag_of, BAG % 'flavour', 'did you mean flavor? Entries are name, command, file,'),
        (
            bag_file.bag_of,
            f'queus: [a]\n{BAG % "file"}',
            "'queus' is not known: did you mean queue",
        ),
    ],
)
def test_a_misspelt_name_is_refused_with_what_was_meant(tmp_path, read, text, expected):
    """In the words of the file, which has entries that the API has not."""
    path = tmp_path / 'file.yaml'
    path.write_text(text)
    with pytest.raises(exceptions.CommandError) as refused:
        read(str(path))
    assert str(refused.value).startswith(f'{path}: ') and expected in str(refused.value)


def test_a_name_that_resembles_none_is_left_to_the_service(tmp_path):
    """It may be newer than the client."""
    path = tmp_path / 'file.yaml'
    path.write_text(BAG % 'zzz')
    assert bag_file.bag_of(str(path))['tasks'] == [{'name': 'one', 'zzz': 'echo'}]


def test_all_entries_of_the_service_are_known():
    """None of them is taken for another that is misspelt."""
    assert set(BAG_NEW['properties']) | {'queue'} == set(bag_file.SETTINGS)
    assert set(TASK_NEW['properties']) | {'command', 'file', 'flavor'} == set(bag_file.TASK)
    assert set(TEMPLATE['properties']) == set(app_file.ENTRIES)
