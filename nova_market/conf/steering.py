# SPDX-License-Identifier: Apache-2.0
"""Options of group [steering]: closes crowded hosts by a trait, for clouds larger than a scheduler sees."""

from oslo_config import cfg

GROUP = cfg.OptGroup('steering', title='Closing crowded hosts through Placement')

OPTIONS = [
    cfg.BoolOpt(
        'traits',
        default=False,
        help="""
Set the trait CUSTOM_NOVA_MARKET_CLOSED on the resource providers of crowded hosts. Placement then
excludes these hosts for flavors with the extra spec trait:CUSTOM_NOVA_MARKET_CLOSED=forbidden: for new
servers, and for servers that are migrated, resized, unshelved or evacuated. The account of [openstack]
must be allowed to change resource providers. Only the engine may set the trait: it removes one that was
set by hand. False = the engine removes the trait everywhere, from ten hosts in a round. An engine that is
stopped leaves the traits as they are.
""",
    ),
    cfg.FloatOpt(
        'close_above',
        default=1.25,
        min=1.0,
        max=1000.0,
        help="""
A host is closed when its servers should get more than this many times what it has, of CPU or of memory.
At 1.25 they get four fifths of what they should.
""",
    ),
    cfg.FloatOpt(
        'open_below',
        default=1.0,
        min=0.0,
        max=1000.0,
        help="""
A closed host is opened when its servers should get less than this many times what it has. Must be below
close_above, so that a host is not closed and opened in turn.
""",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    # a group object of its own: oslo.config keeps overrides in it
    conf.register_group(cfg.OptGroup(GROUP.name, title=GROUP.title))
    conf.register_opts(OPTIONS, group=GROUP.name)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    return [(GROUP, OPTIONS)]
