# SPDX-License-Identifier: Apache-2.0
"""Files that people write: bags, templates of applications, scripts with options, logs of workloads."""

import gzip
import tempfile
from pathlib import Path

from osc_lib import exceptions

from nova_market.core.job.script import check_script
from nova_market.errors import BadScript, BadWorkload
from nova_market.osc.v1.app_file import template_of
from nova_market.osc.v1.bag_file import bag_of
from nova_market.osc.v1.job_option import script_values
from nova_market.sim.workload.swf import read_log

BAG = b"""name: render
queue: night
budget: 12.5
notice: 90s
defaults: &all
  flavor: small
  time_limit: 15m
  environment: {A: 1, B: yes}
tasks:
- name: one
  command: echo hello
- <<: *all
  name: two
  script: |
    #!/bin/sh
    true
"""
BAG_JSON = b'{"queue": "q", "tasks": [{"script": "#!/bin/sh\\n", "flavors": ["m1"], "within": 60}]}'
TEMPLATE = b"""name: zephyr
policy: {name: thresholds, low: 0.3, high: 0.7}
not_before: 2027-01-15T08:00:00Z
tiers:
- name: web
  flavor: small
  least: 1
  most: 10
  image: "0123"
"""
SCRIPT = b"""#!/bin/sh
#MARKET --queue night --time-limit 2h
#MARKET --cores 2 --memory 4GiB
#MARKET --env 'A=a b' --env B=2
# a remark
echo hello
#MARKET --name late
"""
JOB = b'1 0 5 100 4 -1 2048 4 200 4096 1 3 1 -1 1 -1 -1 -1'
LOG = b'; Version: 2.2\n; Computer: test\n' + JOB + b'\n' + JOB.replace(b'1 0', b'2 60', 1) + b'\n'


def of_file(read):
    """A reader of paths as one of bytes."""

    def decode(data):
        with tempfile.NamedTemporaryFile(prefix='fuzz-') as file:
            file.write(data)
            file.flush()
            read(Path(file.name))

    return decode


def script(data):
    text = data.decode(errors='replace')
    script_values(text)
    check_script(text)


TARGETS = {
    'nova_market.osc.v1.bag_file.bag_of': {
        'decode': of_file(lambda path: bag_of(str(path))),
        'seeds': (BAG, BAG_JSON),
        'errors': (exceptions.CommandError,),
    },
    'nova_market.osc.v1.app_file.template_of': {
        'decode': of_file(lambda path: template_of(str(path))),
        'seeds': (TEMPLATE,),
        'errors': (exceptions.CommandError,),
    },
    'nova_market.osc.v1.job_option.script_values': {
        'decode': script,
        'seeds': (SCRIPT,),
        'errors': (BadScript,),
    },
    'nova_market.sim.workload.swf.read_log': {
        'decode': of_file(read_log),
        'seeds': (LOG, gzip.compress(LOG, mtime=0)),
        'errors': (BadWorkload,),
    },
}
