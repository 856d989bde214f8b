# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration. Builds without network: no intersphinx, no badge, no remote image."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / 'ext'))

project = 'nova-market'
copyright = 'nova-market contributors'  # noqa: A001 (the name Sphinx reads)

extensions = [
    'openstackdocstheme',
    'oslo_config.sphinxconfiggen',
    'oslo_config.sphinxext',
    'oslo_policy.sphinxext',
    'market_api',
    'cliff.sphinxext',
]

# The repository is not one of opendev.org: the theme must not guess names and links from git.
openstackdocs_auto_name = False
openstackdocs_auto_version = False
openstackdocs_pdf_link = False
openstackdocs_bug_project = ''
openstackdocs_bug_tag = ''
openstackdocs_repo_name = ''
version = release = ''

config_generator_config_file = [
    ('../../etc/nova_market/nova-market-config-generator.conf', '_static/nova_market'),
]

root_doc = 'index'
source_suffix = {'.rst': 'restructuredtext'}
exclude_patterns: list[str] = []
nitpicky = True
pygments_style = 'native'
html_theme = 'openstackdocs'
html_static_path = ['_static']
html_show_sourcelink = False
autoprogram_cliff_application = 'openstack'
