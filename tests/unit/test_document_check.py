# SPDX-License-Identifier: Apache-2.0
"""Documents that people write: an error names the entry, its value and what it may be."""

import math

import pytest

from nova_market.core.json_schema import nullable, record
from nova_market.document_check import DocumentSchema, entry_name
from nova_market.errors import BadDocument

EITHER = {'oneOf': [record({'a': {'type': 'integer'}}), record({'b': {'type': 'string'}})]}
SCHEMA = record(
    {
        'count': {'type': 'integer', 'minimum': 1, 'maximum': 9},
        'size': {'type': 'number', 'exclusiveMinimum': 0, 'maximum': 1.5},
        'flag': {'type': 'boolean'},
        'kind': {'enum': ['x', 'y']},
        'word': {'type': 'string', 'pattern': '^[a-z]+$'},
        'list': {'type': 'array', 'items': EITHER, 'minItems': 1, 'uniqueItems': True},
        'maybe': nullable(record({'n': {'type': 'integer'}})),
    },
    optional=('count', 'size', 'flag', 'kind', 'word', 'list', 'maybe'),
)


@pytest.mark.parametrize(
    ('document', 'where', 'problem'),
    [
        (3, '', '3: give an object'),
        ({'colour': 1}, '', "'colour' is not known: give count, size,"),
        ({'count': 10}, 'count', '10: give a whole number from 1 to 9'),
        ({'count': True}, 'count', 'true: give a whole number'),
        ({'size': 0}, 'size', '0: give a number above 0, at most 1.5'),
        ({'size': math.nan}, 'size', 'nan: give a number above 0'),
        ({'size': math.inf}, 'size', 'inf: give a number above 0'),
        ({'flag': 'no'}, 'flag', "'no': give true or false"),
        ({'kind': 'z'}, 'kind', "'z': give one of x, y"),
        ({'word': 'A'}, 'word', "'A': give a text of the form ^[a-z]+$"),
        ({'word': 'a\n'}, 'word', "'a\\n': give a text of the form ^[a-z]+$"),
        ({'list': []}, 'list', '[]: give a list of at least 1, each once, such as [{a: 1}]'),
        ({'list': [{}]}, 'list[0]', 'give one of a, b; found none'),
        ({'list': [{'a': 1, 'b': ''}]}, 'list[0]', 'give one of a, b; found a, b'),
        ({'list': [{'aa': 1}]}, 'list[0]', "give one of a, b; found 'aa'"),
        ({'list': [{'a': 'x'}]}, 'list[0].a', "'x': give a whole number"),
        ({'list': [{'b': '', 'c': 1}]}, 'list[0]', "'c' is not known: give b"),
        ({'list': [{'a': 1}, 2]}, 'list[1]', '2: give an object with one of a, b, such as {a: 1}'),
        ({'maybe': {}}, 'maybe', 'n is missing: give it, a whole number'),
        ({'maybe': {'n': 'x'}}, 'maybe.n', "'x': give a whole number"),
        ({'colors': 1}, '', "'colors' is not known: give count, size,"),
        ({'cuont': 1}, '', "'cuont' is not known: did you mean count? Give count, size,"),
        ({'list': {'a': 1}}, 'list', 'a value of type dict: give a list of at least 1'),
        ({'list': 'x'}, 'list', "'x': give a list of at least 1, each once, such as [{a: 1}]"),
        ({'maybe': 7}, 'maybe', '7: give an object with n, such as {n: 1} or null'),
    ],
    ids=str,
)
def test_an_error_names_entry_value_and_what_to_give(document, where, problem):
    """Of alternatives, the one that was meant is explained."""
    with pytest.raises(BadDocument) as refused:
        DocumentSchema(SCHEMA).check(document)
    assert entry_name(refused.value.path) == where
    assert refused.value.problem.startswith(problem)


def test_what_keeps_every_rule_passes():
    """Null where it may be, and an infinite number only where it is asked for."""
    good = {'count': 1, 'size': 1.5, 'list': [{'a': 1}, {'b': ''}], 'maybe': None}
    DocumentSchema(SCHEMA).check(good)
    assert DocumentSchema({'type': 'number'}, finite=False).allows(math.inf)
    assert not DocumentSchema({'type': 'number'}).allows(math.inf)


def test_a_missing_partner_is_named():
    """Entries that need each other."""
    schema = DocumentSchema({'type': 'object', 'dependentRequired': {'money': ['cloud']}})
    with pytest.raises(BadDocument, match='money needs cloud: give both, or none'):
        schema.check({'money': 1})


def test_a_missing_entry_that_is_misspelt_is_named():
    """Of two problems the reader needs both."""
    with pytest.raises(BadDocument, match=r"jobs is missing, 'job' is not known: give it, a whole"):
        DocumentSchema(record({'jobs': {'type': 'integer'}})).check({'job': 60})
