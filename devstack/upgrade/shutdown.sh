#!/usr/bin/env bash
# Called by Grenade before an upgrade: stops the services of the old side.

set -o errexit

# shellcheck source=/dev/null
source "$GRENADE_DIR/grenaderc"
# shellcheck source=/dev/null
source "$GRENADE_DIR/functions"

# shellcheck source=/dev/null
source "$BASE_DEVSTACK_DIR/functions"
# shellcheck source=/dev/null
source "$BASE_DEVSTACK_DIR/stackrc"
# shellcheck source=/dev/null
source "$BASE_DEVSTACK_DIR/lib/tls"
# shellcheck source=/dev/null
source "$BASE_DEVSTACK_DIR/lib/apache"

# what Grenade has fetched; DevStack's own copies of a side are elsewhere
NOVA_MARKET_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=devstack/settings
source "$NOVA_MARKET_DIR/devstack/settings"
# shellcheck source=devstack/plugin.sh
source "$NOVA_MARKET_DIR/devstack/plugin.sh"

set -o xtrace

stop_nova_market
stop_nova_fairness

ensure_services_stopped "${NOVA_MARKET_SERVICES[@]}" nova-fairness
