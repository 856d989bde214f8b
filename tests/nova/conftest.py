# SPDX-License-Identifier: Apache-2.0
"""Tests inside Nova, with the nova of tests/nova/requirements.txt: tox -e nova.

Run with `-p tests.nova.harness`. Where nova is not installed nothing here is collected: `pytest -m
nova tests/nova` then fails for want of tests.
"""

import importlib.util

import pytest

collect_ignore_glob = [] if importlib.util.find_spec('nova') else ['test_*.py', 'bench_*.py']


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here needs nova."""
    for item in items:
        if 'tests/nova/' in item.path.as_posix() and 'bench_' not in item.path.name:
            item.add_marker(pytest.mark.nova)
