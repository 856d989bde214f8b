# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration of the release notes."""

project = 'nova-market release notes'
copyright = 'nova-market contributors'  # noqa: A001 (the name Sphinx reads)

extensions = ['openstackdocstheme', 'reno.sphinxext']

openstackdocs_auto_name = False
openstackdocs_auto_version = False
openstackdocs_pdf_link = False
openstackdocs_bug_project = ''
openstackdocs_bug_tag = ''
openstackdocs_repo_name = ''
version = release = ''

root_doc = 'index'
exclude_patterns: list[str] = []
pygments_style = 'native'
html_theme = 'openstackdocs'
html_show_sourcelink = False
