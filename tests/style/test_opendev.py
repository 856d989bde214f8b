# SPDX-License-Identifier: Apache-2.0
"""The files that OpenDev reads name what there is: .zuul.yaml, .gitreview, api-ref."""

import configparser
from typing import Any

import pytest
import yaml

from tests.style.test_layering import ROOT
from tests.style.test_packaging import setup_cfg, units

OF_OPENSTACK = {
    'openstack-tox-pep8': 'pep8',
    'openstack-tox-docs': 'docs',
    'build-openstack-api-ref': 'api-ref',
}
"""Jobs that are defined elsewhere, and the environment of tox.ini that each runs."""

PARENTS = {'openstack-tox', 'devstack-tempest', 'grenade'}


def tox_environments() -> set[str]:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / 'tox.ini', encoding='utf-8')
    return {section.partition(':')[2] for section in tox.sections()}


def zuul(kind: str) -> list[dict[str, Any]]:
    document = yaml.safe_load((ROOT / '.zuul.yaml').read_text(encoding='utf-8'))
    return [one[kind] for one in document if kind in one]


def repository() -> str:
    review = configparser.ConfigParser()
    review.read(ROOT / '.gitreview', encoding='utf-8')
    return review['gerrit']['project'].removesuffix('.git')


def test_every_job_is_defined_once_and_run() -> None:
    """By this file, or by OpenStack."""
    names = [job['name'] for job in zuul('job')]
    assert len(names) == len(set(names)) > 4
    assert {job['parent'] for job in zuul('job')} <= {*names, *PARENTS}
    (project,) = zuul('project')
    run = {
        name for queue in ('check', 'gate') for job in project[queue]['jobs']
        for name in (job if isinstance(job, dict) else [job])
    }  # fmt: skip
    abstract = {job['name'] for job in zuul('job') if job.get('abstract')}
    assert run == {*names, *OF_OPENSTACK} - abstract


def test_every_job_of_tox_has_its_environment() -> None:
    """The environments exist; types and style, documentation and tests without daemons are among them."""
    named = {
        job['vars']['tox_envlist'] for job in zuul('job') if job['parent'] == 'nova-market-tox'
    }
    named.update(OF_OPENSTACK.values())
    assert named <= tox_environments()
    assert {'py3', 'functional', 'pep8', 'docs'} <= named


@pytest.mark.parametrize('parent', ['devstack-tempest', 'grenade'])
def test_devstack_gets_this_plugin_and_all_services(parent: str) -> None:
    """nova-fairness is enabled by the plugin itself; Tempest installs the tests from the checkout."""
    (job,) = (job for job in zuul('job') if job['parent'] == parent)
    devstack = job['vars']
    name = setup_cfg()['metadata']['name']
    assert devstack['devstack_plugins'] == {name: f'https://opendev.org/{repository()}'}
    assert devstack['devstack_services'].keys() == {*units(), 'tempest'} - {'nova-fairness'}
    assert 'enable_service nova-fairness\n' in (ROOT / 'devstack/settings').read_text()
    assert devstack['tempest_plugins'] == [name]
    assert {repository(), 'openstack/tempest'} <= {*job['required-projects']}


def test_both_clouds_have_the_settings_of_the_market() -> None:
    """Each kind of job reads them from a variable of its own; they are settings of the plugin."""
    tempest, grenade = (
        job['vars'] for job in zuul('job') if job['parent'] in {'devstack-tempest', 'grenade'}
    )
    localrc = tempest['devstack_localrc']
    assert grenade['grenade_devstack_localrc'] == {'shared': localrc}
    settings = (ROOT / 'devstack/settings').read_text()
    assert [name for name in localrc if f'\n{name}=' not in settings] == []


def test_the_reference_of_the_api_is_no_copy() -> None:
    """It is the page of the guide, whose routes are made from the OpenAPI document."""
    source = ROOT / 'api-ref/source'
    (page,) = (path for path in source.rglob('*') if path.is_file())
    assert '.. include:: ../../doc/source/api/index.rst' in page.read_text(encoding='utf-8')
    assert '.. market-api-reference::' in (ROOT / 'doc/source/api/index.rst').read_text()
