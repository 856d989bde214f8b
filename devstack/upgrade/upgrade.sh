#!/usr/bin/env bash
# Called by Grenade: installs the new side, migrates the database, starts the services with the configuration of the old side.

echo "Begin ${BASH_SOURCE[0]}"

# Grenade waits for this process, so what ends it ends Grenade too.
cleanup() {
    set +o errexit
    echo "ERROR: abort of ${BASH_SOURCE[0]}"
    trap 2
    kill -2 $$
}
trap cleanup SIGHUP SIGINT SIGTERM

# shellcheck source=/dev/null
source "$GRENADE_DIR/grenaderc"
# shellcheck source=/dev/null
source "$GRENADE_DIR/functions"

set -o errexit

# shellcheck source=/dev/null
source "$TARGET_DEVSTACK_DIR/stackrc"
# shellcheck source=/dev/null
source "$TARGET_DEVSTACK_DIR/lib/apache"
# shellcheck source=/dev/null
source "$TARGET_DEVSTACK_DIR/lib/tls"
# what Grenade has fetched, of the branch of the new side, and nobody else need have it
NOVA_MARKET_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=devstack/settings
source "$NOVA_MARKET_DIR/devstack/settings"
# shellcheck source=devstack/plugin.sh
source "$NOVA_MARKET_DIR/devstack/plugin.sh"

set -o xtrace

[[ -d $SAVE_DIR/etc.nova_market ]] || cp -pr "$NOVA_MARKET_CONF_DIR" "$SAVE_DIR/etc.nova_market"

install_nova_market_node

# steps of one release: from-<release>/upgrade-nova-market
upgrade_project nova-market "$NOVA_MARKET_DIR/devstack/upgrade" "$BASE_DEVSTACK_BRANCH" "$TARGET_DEVSTACK_BRANCH"

sync_nova_market_database
check_nova_market_upgrade

start_nova_fairness
start_nova_market

ensure_services_started "${NOVA_MARKET_SERVICES[@]}" nova-fairness

set +o xtrace
echo "SUCCESS: End ${BASH_SOURCE[0]}"
