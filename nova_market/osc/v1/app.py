# SPDX-License-Identifier: Apache-2.0
"""`openstack market app`: applications that the controller runs for a project."""

import argparse
import math
from collections.abc import Mapping
from typing import Any

from osc_lib import exceptions

from nova_market.core.ledger.money import AMOUNT_PARAMETERS
from nova_market.osc.v1.account import add_projects, of_projects
from nova_market.osc.v1.app_columns import CREDENTIAL, LIST, OF_PROJECTS, SHOW, TEMPLATE
from nova_market.osc.v1.app_file import parameter_written, template_of
from nova_market.osc.v1.budget import add_renewal, renew_every
from nova_market.osc.v1.lookup import app_id_of
from nova_market.osc.v1.market_command import MarketCommand, MarketLister, MarketShowOne
from nova_market.osc.v1.time_argument import FUTURE, future_argument

THRESHOLDS = ('low', 'reference', 'high')


def add_app(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('app', metavar='<app>', help='Name or id of an application')


def parameter_argument(text: str) -> tuple[str, float]:
    """NAME=NUMBER, of a policy; an amount is in credits, as in a template."""
    name, _, value = text.partition('=')
    try:
        if name in AMOUNT_PARAMETERS:
            return name, parameter_written(name, value)
        number = float(value)
    except ValueError as error:
        if name in AMOUNT_PARAMETERS:
            raise argparse.ArgumentTypeError(str(error)) from None
        number = math.nan
    if not name or not math.isfinite(number):
        raise argparse.ArgumentTypeError(f'{text!r:.80}: give <name>=<number>, such as resume=1.2')
    return name, number


class OfTemplate(MarketShowOne):
    """A command on a template."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('template', metavar='<template>', help='YAML file with the template')
        parser.add_argument(
            '--name',
            metavar='<name>',
            help='Name of the application, in place of the one in the template',
        )
        return parser

    def template(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        """As it is sent."""
        found = template_of(parsed_args.template)
        return {**found, 'name': parsed_args.name} if parsed_args.name else found


class CreateApp(OfTemplate):
    """Create an application from a template

    The controller creates its servers in your project when its policy decides so, and deletes them with it.
    For that you delegate roles of yours in the project by a trust of Keystone. The credential, which its
    monitors need for reports, is shown only now. Amounts in a template are credits.

    Example::

        openstack market app create zephyr.yaml
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        made = self.market.create_app(**self.template(parsed_args))
        return self.shown((*SHOW, *CREDENTIAL), made)


class ValidateApp(OfTemplate):
    """Check a template as "app create" does, without creating anything

    Shows the template with its defaults. Flavors, images and networks are looked up in your project.

    Example::

        openstack market app validate zephyr.yaml
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(TEMPLATE, self.market.validate_app(**self.template(parsed_args)))


class ListApp(MarketLister):
    """List applications

    Lateness is the time that the work still needs, divided by the time to the deadline: above 1 is too late.

    Example::

        openstack market app list
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_projects(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        columns = OF_PROJECTS if parsed_args.all_projects else LIST
        return self.listed(columns, self.market.apps(**of_projects(self, parsed_args)))


class ShowApp(MarketShowOne):
    """Show an application: servers, bids, allocations, what it has spent

    Example::

        openstack market app show zephyr
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_app(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(SHOW, self.market.get_app(app_id_of(self.conn, parsed_args.app)))


class SetApp(MarketShowOne):
    """Change objective, budget, parameters or resting of an application while it runs

    Examples, an earlier deadline, more credits, and thresholds of a response time::

        openstack market app set --deadline 2026-11-22T03:00:00Z zephyr
        openstack market app set --renew-amount 4 zephyr
        openstack market app set --reference 0.2 --high 0.5 web
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_app(parser)
        parser.add_argument(
            '--deadline',
            metavar='<time>',
            type=future_argument,
            help=f'New deadline, {FUTURE}',
        )
        for name in THRESHOLDS:
            parser.add_argument(
                f'--{name}',
                metavar='<number>',
                type=float,
                help=f'New threshold {name} of the objective',
            )
        group = add_renewal(parser)
        group.add_argument(
            '--no-renew', action='store_true', help='Do not fill the budget automatically any more'
        )
        parser.add_argument(
            '--parameter',
            metavar='<name>=<number>',
            type=parameter_argument,
            action='append',
            help='Set a parameter of the policy (repeat for several; amounts in credits); others keep '
            'their values',
        )
        parser.add_argument(
            '--no-parameters', action='store_true', help='Remove all parameters that are set'
        )
        parser.add_argument(
            '--when-suspended',
            choices=('suspend', 'shelve'),
            help='What becomes of its servers while it is suspended: suspend keeps their memory and their '
            'room on their hosts, shelve neither',
        )
        parser.add_argument(
            '--new-credential',
            action='store_true',
            help='Create a new credential, and end the old one',
        )
        parser.add_argument(
            '--new-trust',
            action='store_true',
            help='Delegate your roles to it, when its creator has lost his',
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        before = self.market.get_app(app_id_of(self.conn, parsed_args.app))
        changes = _changes(parsed_args, before, renew_every(self.market, parsed_args))
        if not changes:
            raise exceptions.CommandError(
                'nothing to change: give --deadline, --low, --reference, --high, --renew-amount, '
                '--no-renew, --renew-every, --parameter, --no-parameters, --when-suspended, '
                '--new-credential or --new-trust'
            )
        after = self.market.update_app(before.id, generation=before.generation, **changes)
        columns = (*SHOW, *CREDENTIAL) if after.credential else SHOW
        return self.shown(columns, after)


class OfApp(MarketShowOne):
    """A command on one application."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_app(parser)
        return parser


class SuspendApp(OfApp):
    """Suspend the servers of an application: it bids nothing until it is resumed

    Example::

        openstack market app suspend zephyr
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(SHOW, self.market.suspend_app(app_id_of(self.conn, parsed_args.app)))


class ResumeApp(OfApp):
    """Resume an application: its policy decides again when it runs

    Example::

        openstack market app resume zephyr
    """

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return self.shown(SHOW, self.market.resume_app(app_id_of(self.conn, parsed_args.app)))


class DeleteApp(MarketCommand):
    """Delete applications with their servers

    What is left of the budget is returned to your project. Deleting takes a while; ``app list`` shows the
    applications until then.

    Example::

        openstack market app delete zephyr
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('app', metavar='<app>', nargs='+', help='Name or id of an application')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        for text in parsed_args.app:
            self.market.delete_app(app_id_of(self.conn, text), ignore_missing=False)


def _changes(given: argparse.Namespace, before: Any, every: int | None) -> dict[str, Any]:
    """every: periods from one filling of the budget to the next; None: as before"""
    changes: dict[str, Any] = {}
    band = {name: getattr(given, name) for name in THRESHOLDS if getattr(given, name) is not None}
    if given.deadline or band:
        changes['slo'] = _objective(before.slo, given.deadline, band)
    budget = {'renew_amount': given.renew_amount, 'renew_every': every}
    budget = {name: value for name, value in budget.items() if value is not None}
    if given.no_renew:
        budget['renew_amount'] = None
    if budget:
        changes['budget'] = budget
    if given.parameter or given.no_parameters:
        kept = {} if given.no_parameters else dict(before.parameters)
        changes['parameters'] = {**kept, **dict(given.parameter or ())}
    if given.when_suspended:
        changes['when_suspended'] = given.when_suspended
    if given.new_credential:
        changes['new_credential'] = True
    if given.new_trust:
        changes['new_trust'] = True
    return changes


def _objective(
    before: Mapping[str, Any], deadline: str | None, band: Mapping[str, float]
) -> dict[str, Any]:
    """The objective with another deadline or other thresholds; its kind stays."""
    if not before:
        raise exceptions.CommandError('it has no objective: it has no deadline and no thresholds')
    if 'deadline' in before:
        return {**before, **band, **({'deadline': deadline} if deadline else {})}
    ((kind, values),) = before.items()
    if deadline:
        raise exceptions.CommandError(f'its objective is {kind}: it has no deadline to move')
    if kind == 'queue':
        raise exceptions.CommandError('its objective is its queue: it has no thresholds')
    return {kind: {**values, **band}}
