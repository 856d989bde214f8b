#!/usr/bin/env bash
# Called by Grenade: resources.sh create, verify, verify_noapi, destroy, force_destroy. Credits of a project must
# survive an upgrade, and rounds must go on after it.

set -o errexit

# shellcheck source=/dev/null
source "$GRENADE_DIR/grenaderc"
# shellcheck source=/dev/null
source "$GRENADE_DIR/functions"
# shellcheck source=/dev/null
source "$TOP_DIR/openrc" admin admin

set -o xtrace

CREDITS=2

function create {
    local project budget
    project=$(openstack token issue -f value -c project_id)
    resource_save nova-market project "$project"
    # with keys both are done once, however often this is called
    openstack market account grant --key "grenade-$project" "project:$project" "$CREDITS"
    budget=$(openstack market budget create grenade -f value -c id)
    resource_save nova-market budget "$budget"
    openstack market account transfer --key "grenade-$budget" "$budget" "$CREDITS"
    resource_save nova-market balance "$(balance_of "$budget")"
}

# In the unit of the API: plain text has had another one in an earlier version.
function balance_of {
    local shown
    shown=$(openstack market account show "$1" -f yaml -c balance) || return
    echo "${shown##*: }"
}

function newest_round {
    openstack market round list --limit 1 -f value -c Period
}

# What a budget has is what it had, and the engine decides another round than it has decided.
function verify {
    local budget balance had before after _
    budget=$(resource_get nova-market budget)
    had=$(resource_get nova-market balance)
    balance=$(balance_of "$budget")
    [[ $balance == "$had" ]] || die $LINENO "the balance of budget $budget is $balance, and was $had"
    before=$(newest_round)
    for _ in {1..10}; do
        # of its own: errexit does not see a command that fails within [[ ]]
        after=$(newest_round)
        [[ $after != "$before" ]] && return
        sleep 30
    done
    die $LINENO "no round after $before within five minutes: see journalctl --unit devstack@nova-market-engine"
}

# Nothing of ours runs then, and its database is saved by Grenade.
function verify_noapi {
    :
}

function destroy {
    local project budget
    project=$(resource_get nova-market project)
    budget=$(resource_get nova-market budget)
    openstack market account transfer --from "$budget" "project:$project" "$CREDITS"
    openstack market budget delete "$budget"
    openstack market account revoke "project:$project" "$CREDITS"
}

case $1 in
    create | verify | verify_noapi | destroy)
        "$1"
        ;;
    force_destroy)
        set +o errexit
        destroy
        ;;
esac
