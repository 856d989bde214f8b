# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The control plane's services, in this order; each is started only when it does not run.

answers() { curl -sf -o /dev/null --max-time 20 "$(api_url "$1")/${2:-}"; }

# api LABEL MODULE VARIABLE=VALUE...: one uwsgi an API, plain HTTP on loopback
api() {
    local label=$1 module=$2
    shift 2
    claim "$label"
    service "$label" env "$@" uwsgi --http-socket "127.0.0.1:${PORT[$label]}" --module "$module:application" \
        --master --processes 1 --threads 8 --enable-threads --lazy-apps --need-app --die-on-term \
        --buffer-size 65535 --thunder-lock --add-header "Connection: close" --http-raw-body \
        --http-chunked-input --http-auto-chunked --disable-logging --procname-prefix "$label "
}

start_services() {
    local nova=(--config-file "$ETC/nova/nova.conf" --config-file "$ETC/nova/nova-control.conf")
    local neutron=(--config-file "$ETC/neutron/neutron.conf" --config-file "$ETC/neutron/ml2.ini")
    api keystone keystone.wsgi.api "OS_KEYSTONE_CONFIG_FILES=$ETC/keystone/keystone.conf"
    api placement placement.wsgi.api "OS_PLACEMENT_CONFIG_DIR=$ETC/placement"
    api glance glance.wsgi.api "OS_GLANCE_CONFIG_DIR=$ETC/glance"
    until_ok "$PATIENCE" keystone answers keystone v3
    fill_catalog
    api nova-api nova.wsgi.osapi_compute "OS_NOVA_CONFIG_DIR=$ETC/nova" \
        "OS_NOVA_CONFIG_FILES=api-paste.ini;nova.conf;nova-control.conf"
    api neutron-api neutron.wsgi.api "OS_NEUTRON_CONFIG_DIR=$ETC/neutron" \
        "OS_NEUTRON_CONFIG_FILES=neutron.conf;ml2.ini"
    service neutron-rpc neutron-rpc-server "${neutron[@]}"
    service nova-conductor nova-conductor "${nova[@]}"
    service nova-scheduler nova-scheduler "${nova[@]}" --config-file "$ETC/nova/nova-market.conf" \
        --config-file "$ETC/nova/nova-scheduler.conf"
}

# Service users and endpoints: once, and again when catalog.py or a port changes.
fill_catalog() {
    local stamp
    stamp=$(cat "$HERE/catalog.py" <(echo "$OFFSET") | sha256sum)
    [ "$(cat "$STATE/catalog.done" 2>/dev/null)" != "$stamp" ] || return 0
    say "users, endpoints, projects ${PROJECTS[*]}"
    logged catalog as_admin python "$HERE/catalog.py" || die "the catalog could not be filled; see $LOG_DIR/catalog.log"
    printf '%s\n' "$stamp" >"$STATE/catalog.done"
}

# as_admin COMMAND...: with his OS_* and what follows
as_admin() (
    openstack_environment admin
    cloud_facts
    exec "$@"
)

# What catalog.py and playground.py are given, in the environment: no password on a command line.
cloud_facts() {
    local project name key
    export SERVICE_PASSWORD CLOUD_PROJECTS="${PROJECTS[*]}" CLOUD_GUEST=$STATE/guest
    export CLOUD_GATE=$GATE CLOUD_GATE_PORT=$STATE/gate
    for name in placement glance nova-api neutron-api market-api; do
        key=${name^^}
        export "URL_${key//-/_}=$(api_url "$name")"
    done
    for project in "${PROJECTS[@]}"; do export "${project^^}_PASSWORD"; done
}

# Image, flavors, network: once, and again when the guest or the script changes.
fill_playground() {
    local stamp
    logged image bash "$TESTBED/image" --state "$STATE" ||
        die "the guest's image could not be built; see $LOG_DIR/image.log"
    stamp=$(cat "$HERE/playground.py" "$STATE/guest/stamp" | sha256sum)
    [ "$(cat "$STATE/playground.done" 2>/dev/null)" != "$stamp" ] || return 0
    say "image, flavors, network"
    qemu-img create -q -f qcow2 "$STATE/guest/disk.qcow2" 16M
    logged playground as_admin python "$HERE/playground.py" || die "image or network failed; see $LOG_DIR/playground.log"
    printf '%s\n' "$stamp" >"$STATE/playground.done"
}
