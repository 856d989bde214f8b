# SPDX-License-Identifier: Apache-2.0
"""The root of the market's commands: a refusal is shown with the error text of the service."""

import argparse
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from openstack.exceptions import HttpException
from osc_lib import exceptions
from osc_lib.command import command

from nova_market.osc.v1.columns import Column, InCredits, listed, shown
from nova_market.osc.v1.names import named

PLAIN_TEXT = frozenset({'csv', 'shell', 'value'})
"""Formats whose amounts are in credits, as they are typed; JSON and YAML have the values of the API."""

_ENTRY = re.compile(r'(?:jobs\[0\]\.)?(?P<name>[a-z_]+)(?=[:.])')
_LENGTH = re.compile(r'\b[0-9][0-9.e+]* \(((?:[0-9]+[dhms])+)\)')
"""An entry that a refusal begins with; and a length of time in seconds and as it is typed."""


class MarketCommand(command.Command):
    """A command with `market`, the proxy, and the connection that it belongs to."""

    OPTIONS: Mapping[str, str] = {}
    """Entries of the request, for refusals: the options that they were typed with."""

    @property
    def market(self) -> Any:
        return self.app.client_manager.market  # type: ignore[attr-defined]

    @property
    def conn(self) -> Any:
        """The connection; making the client gives it the attribute `market`."""
        assert self.market is not None
        return self.app.client_manager.sdk_connection

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        # the examples stay on lines of their own
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        return parser

    def run(self, parsed_args: argparse.Namespace) -> int:
        try:
            return super().run(parsed_args)
        except HttpException as error:
            raise exceptions.CommandError(refusal(error, self.OPTIONS)) from error


class MarketLister(MarketCommand, command.Lister):
    """Shows many."""

    def listed(
        self, columns: Sequence[Column], found: Iterable[Any], *, all_projects: bool = False
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """What is shown of them, with names beside ids. all_projects: servers of all projects have names"""
        return listed(named(self.conn, columns, all_projects=all_projects), found)

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        column_names: Sequence[str],
        data: Iterable[Sequence[Any]],
    ) -> int:
        rows = (_cells(parsed_args, row) for row in data)
        return super().produce_output(parsed_args, column_names, rows)


class MarketShowOne(MarketCommand, command.ShowOne):
    """Shows one."""

    def shown(self, columns: Sequence[Column], one: Any) -> tuple[list[str], tuple[Any, ...]]:
        """What is shown of it, with names beside ids."""
        return shown(named(self.conn, columns), one)

    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Sequence[Any]
    ) -> int:
        return super().produce_output(parsed_args, column_names, _cells(parsed_args, data))


def _cells(parsed_args: argparse.Namespace, row: Sequence[Any]) -> Sequence[Any]:
    """As the format has them."""
    if parsed_args.formatter not in PLAIN_TEXT:
        return row
    return tuple(cell.as_typed() if isinstance(cell, InCredits) else cell for cell in row)


def refusal(error: HttpException, options: Mapping[str, str] = MarketCommand.OPTIONS) -> str:
    """The reply of the service, with its stable code; the library's words where there is none.

    Entries have the names of their options, and lengths of time are as they are typed. The request is named
    where the service failed: its log tells more.
    """
    try:
        first = error.response.json()['errors'][0]  # type: ignore[union-attr]
        detail = _as_typed(str(first['detail'] or first['title']), options)
        reply = f'{detail} ({first["code"]})'
    except (AttributeError, ValueError, LookupError, TypeError):
        return str(error)
    if (error.status_code or 0) >= 500 and error.request_id:
        return f'{reply}, request {error.request_id}'
    return reply


def _as_typed(detail: str, options: Mapping[str, str]) -> str:
    """A refusal in the words of a command: --time-limit: 2d, where it has jobs[0].time_limit: 172800 (2d)."""
    found = _ENTRY.match(detail)
    if options and found:
        name = found['name']
        detail = options.get(name, name) + detail[found.end() :]
    return _LENGTH.sub(r'\1', detail)
