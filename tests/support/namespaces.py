# SPDX-License-Identifier: Apache-2.0
"""Network namespaces of a test: what they are called, and commands that make them."""

import os
import secrets
import subprocess


def fresh_prefix() -> str:
    """Of the names of a bed's namespaces: the run, so that tools/test.d/sweep.py knows them, and a number."""
    return f'nm-{os.environ["NOVA_MARKET_RUN"]}-{secrets.token_hex(2)}'


def run(*words: str) -> str:
    """:raises AssertionError: with what the program printed."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f'{" ".join(words)}: {done.stderr}'
    return done.stdout
