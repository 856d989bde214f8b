# SPDX-License-Identifier: Apache-2.0
"""`#MARKET` lines of a script."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nova_market.core.job.script import OptionLine, check_script, script_options
from nova_market.errors import BadScript

SCRIPT = """\
#!/bin/sh
# Renders one frame.

#MARKET --queue render --time-limit 2h   # as measured in May
  # an indented comment
##MARKET --priority 1
#MARKETING --priority 2
 #MARKET --priority 3
#MARKET\t--name 'first frames' --env "GREETING=a # b"
#MARKET
cd /data
#MARKET --memory 4G
render "$MARKET_ARRAY_INDEX"
#MARKET --priority 4
"""


def test_lines_before_the_first_command_are_options():
    """Comments and empty lines between them do not end them; a command does."""
    found = script_options(SCRIPT)
    assert found.lines == (
        OptionLine(number=4, words=('--queue', 'render', '--time-limit', '2h')),
        OptionLine(number=9, words=('--name', 'first frames', '--env', 'GREETING=a # b')),
        OptionLine(number=10, words=()),
    )
    assert found.late == (12, 14)


@pytest.mark.parametrize(
    ('line', 'words'),
    [
        ('--name a#b', ['--name', 'a#b']),
        ('--name a #b', ['--name', 'a']),
        ("--name 'a #b'", ['--name', 'a #b']),
        ("--name 'a #b' # c", ['--name', 'a #b']),
        (r'--name a\ #b', ['--name', 'a #b']),
        ("--name a # it's", ['--name', 'a']),
        ('# all of it', []),
    ],
)
def test_a_comment_begins_after_a_space_outside_of_quotes(line, words):
    """As in a shell."""
    ((found,), late) = (script_options(f'#MARKET {line}').lines, ())
    assert (list(found.words), late) == (words, ())


@pytest.mark.parametrize('quote', ['"', "'"])
def test_an_open_quote_is_refused_with_its_line(quote):
    """A shell would read on in the next line; an option cannot."""
    with pytest.raises(BadScript, match=r'^line 3: a quote is not closed in '):
        script_options(f'#!/bin/sh\n\n#MARKET --name {quote}a b\ntrue\n')


WORDS = st.lists(
    st.text(st.characters(codec='utf-8', exclude_characters='\n\r\0'), max_size=12), max_size=5
)


@given(WORDS)
def test_what_a_shell_quotes_is_read_as_it_was(words):
    """Whatever the words are."""
    (line,) = script_options(f'#MARKET {shlex.join(words)}\ntrue').lines
    assert list(line.words) == words


@given(st.text(st.sampled_from('#MARKET \n\'"\\-ax\r\0'), max_size=60).map('#MARKET '.__add__))
def test_no_text_breaks_the_reader(text):
    """Anything is read, or refused with its line."""
    try:
        found = script_options(text)
    except BadScript as error:
        # what is refused is on a line
        numbers = [int(str(error).split()[1].rstrip(':'))]
    else:
        numbers = [*(one.number for one in found.lines), *found.late]
    assert all(1 <= number <= text.count('\n') + 1 for number in numbers)


@pytest.mark.parametrize('text', ['#!/bin/sh\ntrue\n', '#! /usr/bin/env python3', SCRIPT])
def test_a_script_with_an_interpreter_is_taken(text):
    """Any interpreter."""
    check_script(text)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('', 'the script is empty: give commands'),
        (' \n\n', 'the script is empty: give commands'),
        ('echo hi\n', "line 1 is 'echo hi': a script begins with #! and its interpreter"),
        ('#!\ntrue', 'line 1 is'),
        ('\n#!/bin/sh', "line 1 is ''"),
        ('#!/bin/sh\n\necho hi\r\n', 'line 3 ends as on Windows'),
        ('\x7fELF\0\0', 'zero byte'),
    ],
)
def test_a_script_that_no_worker_can_start(text, expected):
    """Refused before it waits for hours: the line, what stands there, what to do."""
    with pytest.raises(BadScript, match=expected):
        check_script(text)
