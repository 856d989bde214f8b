# SPDX-License-Identifier: Apache-2.0
"""The root of the market's commands: a refusal is shown with the error text of the service."""

import argparse
from typing import Any

from openstack.exceptions import HttpException
from osc_lib import exceptions
from osc_lib.command import command


class MarketCommand(command.Command):
    """A command with `market`, the proxy, and the connection that it belongs to."""

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
            raise exceptions.CommandError(refusal(error)) from error


class MarketLister(MarketCommand, command.Lister):
    """Shows many."""


class MarketShowOne(MarketCommand, command.ShowOne):
    """Shows one."""


def refusal(error: HttpException) -> str:
    """The reply of the service, with its stable code; the library's words where there is none.

    The request is named where the service failed: its log tells more.
    """
    try:
        first = error.response.json()['errors'][0]  # type: ignore[union-attr]
        reply = f'{first["detail"] or first["title"]} ({first["code"]})'
    except (AttributeError, ValueError, LookupError, TypeError):
        return str(error)
    if (error.status_code or 0) >= 500 and error.request_id:
        return f'{reply}, request {error.request_id}'
    return reply
