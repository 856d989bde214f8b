# SPDX-License-Identifier: Apache-2.0
"""All metadata is in setup.cfg; pbr adds the version (git tag) and the requirements."""

import setuptools

setuptools.setup(setup_requires=['pbr>=6.1.1'], pbr=True)
