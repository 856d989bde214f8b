# SPDX-License-Identifier: Apache-2.0
"""Prints host and id of the one server that is meant, a line each; reads what `openstack server list` prints.

    openstack server list --all-projects --long -f json | chosen.py NAME-OR-ID

Names of servers are not unique. Exit status 1, and a line on standard error, when none or several are meant,
or when the server is on no host.
"""

import json
import sys


def main() -> str:
    """What is wrong; '' after the lines were printed."""
    wanted = sys.argv[1]
    servers = json.load(sys.stdin)
    # an id is exact, whatever other servers are named
    found = [one for one in servers if one['ID'] == wanted] or [
        one for one in servers if one['Name'] == wanted
    ]
    if not found:
        return (
            f'there is no server {wanted}; tools/cloud run openstack server list --all lists them'
        )
    if len(found) > 1:
        each = ', '.join(sorted(f'{one["ID"]} on {one["Host"] or "no host"}' for one in found))
        return f'{len(found)} servers are named {wanted}: {each}; give the id of one'
    (server,) = found
    if not server['Host']:
        return f'the server {wanted} is on no host; its status is {server["Status"]}'
    print(server['Host'], server['ID'], sep='\n')
    return ''


if __name__ == '__main__':
    problem = main()
    if problem:
        sys.exit(f'tools/cloud: order: {problem}')
