# SPDX-License-Identifier: Apache-2.0
"""What an experiment's claims add up to."""

import numpy as np
import pytest

from nova_market.experiments.simulated.verdict import not_judged, verdict

OPEN = not_judged('too small')


@pytest.mark.parametrize(
    ('findings', 'passed'),
    [
        ([True, np.True_], True),
        ([True, False], False),
        ([True, OPEN], None),
        ([OPEN, np.False_], False),
        ([OPEN, OPEN], None),
    ],
)
def test_a_run_passes_when_every_claim_was_judged_and_holds(findings, passed):
    """One that fails decides; one that was not judged leaves it open."""
    assert verdict(dict(zip('ab', findings, strict=True)))['passed'] is passed


def test_findings_are_as_json_has_them():
    """numpy's truth is no JSON; why a claim was not judged is text."""
    found = verdict({'one': np.bool_(1), 'two': OPEN})['holds']
    assert found == {'one': True, 'two': 'not judged: too small'} and type(found['one']) is bool
