# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced by tools/test, after bootstrap.sh. Says of a committed tree that all of its tests have passed.

# The tree that is committed, where nothing else lies in the checkout; empty otherwise.
tree() {
    if [ -z "$(git -C "$ROOT" status --porcelain 2>&1)" ]; then git -C "$ROOT" rev-parse 'HEAD^{tree}'; fi
}

# mark TREE REPORT: writes TREE and the report below it into $LOGS/passed, when nothing failed or was skipped and the
# checkout is still that tree.
mark() {
    if [[ $(tail -n 1 "$2") != *' 0 failed' ]]; then
        say "not all tests passed: $LOGS/passed is not written"
    elif [ -z "$1" ] || [ "$1" != "$(tree)" ]; then
        say "what passed is not committed: $LOGS/passed is not written"
    else
        { printf '%s\n' "$1" && cat "$2"; } >"$LOGS/passed"
        say "$LOGS/passed states that the tree $1 has passed"
    fi
}
