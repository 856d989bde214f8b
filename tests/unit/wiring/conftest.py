# SPDX-License-Identifier: Apache-2.0
"""Options that stand in a file."""

import pytest
from oslo_config import cfg

from nova_market.conf import opts


@pytest.fixture
def written(tmp_path):
    """The options as a file has them, and the file."""

    def call(text):
        path = tmp_path / 'nova_market.conf'
        path.write_text(text)
        conf = cfg.ConfigOpts()
        opts.register_opts(conf)
        conf(['--config-file', str(path)], default_config_files=[])
        return conf, path

    return call
