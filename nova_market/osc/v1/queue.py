# SPDX-License-Identifier: Apache-2.0
"""`openstack market queue`: where jobs go, with a share of the cloud and workers of their own."""

import argparse
from collections.abc import Mapping
from typing import Any

from osc_lib import exceptions

from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.app import parameter_argument
from nova_market.osc.v1.columns import credit_argument
from nova_market.osc.v1.job_argument import NumberArgument
from nova_market.osc.v1.job_columns import QUEUE, QUEUES, QUEUES_OF_PROJECTS
from nova_market.osc.v1.lookup import known_project_id, project_id_of
from nova_market.osc.v1.market_command import MarketCommand, MarketLister, MarketShowOne
from nova_market.osc.v1.queue_option import LIMITS, add_limits
from nova_market.osc.v1.time_argument import DURATION, duration_argument

PLAIN = (
    'name', 'description', 'share', 'aggregate', 'policy', 'short_below', 'image', 'reuse',
    'projects_trust_each_other', 'idle_seconds', 'price_core_hour', 'price_rule', 'state',
)  # fmt: skip
"""Options that are entries of the request under the same name."""

LISTS = ('flavors', 'networks')
SUBMITTERS = ('projects', 'roles')


def add_queue(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('queue', metavar='<queue>', help='Name or id of a queue')


def weight_argument(text: str) -> tuple[str, float]:
    """PROJECT=NUMBER."""
    project, _, weight = text.rpartition('=')
    if not project:
        raise argparse.ArgumentTypeError(f'{text!r:.80}: give <project>=<weight>')
    return project, NumberArgument(0, 'a weight')(weight)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """What a queue can be given when it is made and later. What is not given is None."""
    parser.add_argument('--description', metavar='<text>', help='What the queue is for')
    parser.add_argument(
        '--policy', metavar='<policy>', help='Which job starts next, such as flexible (the default)'
    )
    parser.add_argument(
        '--parameter',
        metavar='<name>=<number>',
        type=parameter_argument,
        action='append',
        help='Parameter of the policy (repeat for several)',
    )
    parser.add_argument(
        '--short-below',
        metavar=DURATION,
        type=duration_argument,
        help='Jobs with a time limit up to this are short, default 30m',
    )
    _add_workers(parser)
    add_limits(parser)
    group = parser.add_argument_group("the operator's options")
    group.add_argument(
        '--share',
        metavar='<part>',
        type=NumberArgument(0, 'a part'),
        help='Share of the cloud or of the aggregate, 0 to 1, such as 0.25',
    )
    group.add_argument(
        '--aggregate', metavar='<aggregate>', help='Host aggregate that the share is of'
    )


def _add_workers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--image', metavar='<image>', help='Image of its workers (name or id)')
    for name, text in (
        (
            'flavor',
            'Flavor of its workers (name or id; repeat for several, the preferred one first)',
        ),
        ('network', 'Network of its workers (name or id; repeat for several); none: Nova chooses'),
        (
            'submitter',
            'Project that may submit besides your own (id, or a name that you may look up; several: repeat)',
        ),
        ('role', 'Role that a submitter must have one of (repeat for several); none: any member'),
    ):
        parser.add_argument(f'--{name}', metavar=f'<{name}>', action='append', help=text)
    parser.add_argument(
        '--weight',
        metavar='<project>=<weight>',
        type=weight_argument,
        action='append',
        help="Weight of a project's jobs within the queue (repeat for several), 1 for the others",
    )
    parser.add_argument(
        '--reuse',
        action=argparse.BooleanOptionalAction,
        help='Let a worker run the next job of the same project in the queue, or delete it with its job; '
        'default: reuse',
    )
    parser.add_argument(
        '--projects-trust-each-other',
        action=argparse.BooleanOptionalAction,
        help='Let a worker run jobs of different projects, one after the other. A job that gets the better '
        'of its guest can read and change the jobs of the others that run there later; default: each '
        'project has workers of its own',
    )
    parser.add_argument(
        '--idle',
        dest='idle_seconds',
        metavar=DURATION,
        type=duration_argument,
        help='How long a worker without a job is kept, default 10m',
    )
    _add_prices(parser)


def _add_prices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--price',
        dest='price_core_hour',
        metavar='<credits>',
        type=credit_argument,
        help='What a job is charged for a core and an hour, default 0; the first price of policy tender',
    )
    parser.add_argument(
        '--price-rule',
        choices=('settled', 'printed', 'anchored'),
        help='How a queue of policy tender adapts its prices to the demand, default settled',
    )


def settings(command: MarketCommand, given: argparse.Namespace) -> dict[str, Any]:
    """The entries of the request that the options stand for."""
    found = {name: getattr(given, name, None) for name in PLAIN}
    found['flavors'], found['networks'] = given.flavor, given.network
    if given.parameter:
        found['parameters'] = dict(given.parameter)
    if given.weight:
        found['weights'] = {
            known_project_id(command.conn, project): weight for project, weight in given.weight
        }
    limits = {name: getattr(given, name) for name in LIMITS if getattr(given, name) is not None}
    found['limits'] = limits or None
    submitters: dict[str, Any] = {}
    if given.submitter:
        submitters['projects'] = [known_project_id(command.conn, one) for one in given.submitter]
    if given.role:
        submitters['roles'] = given.role
    found['submitters'] = submitters or None
    return {name: value for name, value in found.items() if value is not None}


class CreateQueue(MarketShowOne):
    """Create a queue of your project

    Its workers are servers in your project, which the service creates when jobs need them and deletes when
    they are idle. For that you delegate roles of yours in the project by a trust of Keystone. The operator
    gives it a share of the cloud; without one it runs short and best-effort jobs.

    Example::

        openstack market queue create --flavor m1.small --image debian-13 --max-time-limit 1d render
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'name', metavar='<name>', help='Name, which no other queue of the project has'
        )
        add_settings(parser)
        parser.add_argument(
            '--project', metavar='<project>', help='Project that owns it (name or id; admin only)'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        missing = [name for name in ('flavor', 'image') if not getattr(parsed_args, name)]
        if missing:
            raise exceptions.CommandError(
                f'no {" and no ".join(missing)}: give --{" and --".join(missing)} of its workers'
            )
        body = settings(self, parsed_args)
        if parsed_args.project:
            body['project_id'] = project_id_of(self.conn, parsed_args.project)
        return self.shown(QUEUE, self.market.create_queue(**body))


class ListQueue(MarketLister):
    """List queues: your own, and those that take your jobs

    Example::

        openstack market queue list
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        columns = QUEUES_OF_PROJECTS if parsed_args.all_projects else QUEUES
        return self.listed(columns, self.market.queues(**of_projects(self, parsed_args)))


class ShowQueue(MarketShowOne):
    """Show a queue: its share, its workers, its limits, how many jobs are where

    Example::

        openstack market queue show render
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_queue(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(QUEUE, self.market.get_queue(parsed_args.queue))


class SetQueue(MarketShowOne):
    """Change a queue

    What is not given stays. Jobs that run keep the workers they have.

    Examples, the operator's share, a queue that takes no more jobs, and no more networks of its own::

        openstack market queue set --share 0.25 3f0c9a52-7b1e-4c8d-9d26-1a5e8b40c7f3
        openstack market queue set --state closed render
        openstack market queue set --no-network render
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_queue(parser)
        parser.add_argument('--name', metavar='<name>', help='New name')
        add_settings(parser)
        parser.add_argument(
            '--state',
            choices=('open', 'closed'),
            help='closed: it takes no new jobs, and runs those that it has',
        )
        for name, text in NO.items():
            parser.add_argument(f'--no-{name}', action='store_true', help=text)
        parser.add_argument(
            '--new-trust',
            action='store_true',
            help='Make its workers with your roles, when its creator has lost his',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        changes = _changes(settings(self, parsed_args), parsed_args)
        if not changes:
            raise exceptions.CommandError(
                'nothing to change: "openstack market queue set --help" lists what can be given'
            )
        before = self.market.get_queue(parsed_args.queue)
        after = self.market.update_queue(before.id, generation=before.generation, **changes)
        return self.shown(QUEUE, after)


NO = {
    'network': 'Let Nova choose the network again',
    'submitter': 'Take jobs of no other project any more',
    'role': 'Take jobs of every member again',
    'parameter': 'Remove all parameters of the policy',
    'weight': 'Remove all weights',
    'max-waiting': 'Any number of jobs may wait',
    'max-running': 'Any number of jobs may run at once',
    'max-notice': 'As long a notice as the operator allows',
    'max-least-run-time': 'As long a least run time as the operator allows',
    'max-retries': 'As many retries as the operator allows',
}
"""What can be emptied, by the option that sets it."""

EMPTY_LIMITS = tuple(one for name in NO if (one := name.replace('-', '_')) in LIMITS)


def _changes(changes: dict[str, Any], given: argparse.Namespace) -> dict[str, Any]:
    """What is set, and what is emptied. Both of one option is a mistake."""
    both = [
        name
        for name in NO
        if getattr(given, f'no_{name.replace("-", "_")}')
        and getattr(given, name.replace('-', '_')) is not None
    ]
    if both:
        raise exceptions.CommandError(f'give --{both[0]} or --no-{both[0]}, but not both')
    empty: Mapping[str, Any] = {
        'networks': [] if given.no_network else None,
        'parameters': {} if given.no_parameter else None,
        'weights': {} if given.no_weight else None,
    }
    changes |= {name: value for name, value in empty.items() if value is not None}
    emptied: list[tuple[str, str, Mapping[str, Any]]] = [
        ('submitter', 'submitters', {'projects': []}),
        ('role', 'submitters', {'roles': []}),
        *((name, 'limits', {name: None}) for name in EMPTY_LIMITS),
    ]
    for name, group, wanted in emptied:
        if getattr(given, f'no_{name}'):
            changes[group] = {**changes.get(group, {}), **wanted}
    if given.new_trust:
        changes['new_trust'] = True
    return changes


class AcceptQueue(MarketShowOne):
    """Let your project use a name for a queue of another project that takes its jobs

    It is given by its id until then. Nobody else can put a queue in the place of that name.

    Example::

        openstack market queue accept 3f0c9a52-7b1e-4c8d-9d26-1a5e8b40c7f3
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('queue', metavar='<queue>', help='Id of the queue')
        parser.add_argument(
            '--name', metavar='<name>', help='Name in your project, instead of that of the queue'
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(QUEUE, self.market.accept_queue(parsed_args.queue, parsed_args.name))


class RejectQueue(MarketCommand):
    """Let your project use no name for a queue of another project any more

    Its id can be given as before.

    Example::

        openstack market queue reject render
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_queue(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.market.reject_queue(parsed_args.queue)


class DeleteQueue(MarketCommand):
    """Delete queues without jobs, and their workers

    Cancel their jobs first, or close them and let the jobs end. Their workers are deleted a while later.

    Example::

        openstack market queue delete render
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('queue', metavar='<queue>', nargs='+', help='Name or id of a queue')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        for text in parsed_args.queue:
            self.market.delete_queue(text, ignore_missing=False)
