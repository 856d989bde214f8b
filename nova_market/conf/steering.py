# SPDX-License-Identifier: Apache-2.0
"""Options of group [steering]: what the engine tells Placement, for clouds larger than a scheduler sees."""

from oslo_config import cfg

GROUP = cfg.OptGroup('steering', title='Closing crowded hosts through Placement')

OPTIONS = [
    cfg.BoolOpt(
        'traits',
        default=False,
        help="""
Set the trait CUSTOM_NOVA_MARKET_CLOSED on the resource providers of crowded hosts. It closes them to flavors
with the extra spec trait:CUSTOM_NOVA_MARKET_CLOSED=forbidden, before the scheduler's filters and on all hosts
of the cloud: to new servers, and to those that are migrated, resized, unshelved or evacuated there. The
account of [openstack] must be allowed to change providers. The trait is the engine's alone: where it was set
by hand it is taken away. False = it is taken away everywhere, ten hosts a round; a stopped engine leaves it.
""",
    ),
    cfg.FloatOpt(
        'close_above',
        default=1.25,
        min=1.0,
        max=1000.0,
        help="""
A host is closed when its servers should get more than so many times what it has, of CPU or memory; at 1.25
they get four fifths.
""",
    ),
    cfg.FloatOpt(
        'open_below',
        default=1.0,
        min=0.0,
        max=1000.0,
        help="""
And opened when it is less than so many times; below close_above, or it would go back and forth.
""",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
