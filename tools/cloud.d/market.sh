# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The market beside the cloud, as `up --market` starts it: the API, the five services of a controller, and
# nova-fairness for each compute host, outside of its namespaces. All run from an environment of their own,
# because they want other versions of libraries than Nova.

MARKET_SERVICES=(engine controller jobs leases notices)

# start_market CPUS...: those of each host
start_market() {
    local name host
    install_market
    configure_market
    market_commands
    say "the market"
    logged market-databases nova-market-manage db sync ||
        die "the market's tables could not be made; see $LOG_DIR/market-databases.log"
    claim market-api
    service market-api env "UWSGI_VIRTUALENV=$MARKET_VENV" \
        "NOVA_MARKET_CONFIG_FILE=$ETC/nova_market/nova_market.conf" uwsgi --ini "$ETC/nova_market/uwsgi.ini"
    for name in "${MARKET_SERVICES[@]}"; do service "market-$name" "nova-market-$name"; done
    for host in "${HOSTS[@]}"; do
        configure_fairness "$host" "$1"
        shift
        service "market-$host" "nova-fairness-$host"
    done
    until_ok "$PATIENCE" market-api answers market-api
    say "waiting for the first round of the market"
    until_ok "$PATIENCE" market-engine nova-market-engine status
    for host in "${HOSTS[@]}"; do until_ok "$PATIENCE" "market-$host" "nova-fairness-$host" status; done
}

# While the hosts run: nova-fairness puts back what the guests had.
stop_market() {
    local daemons
    mapfile -t daemons < <(cd "$PID_DIR" 2>/dev/null && compgen -G 'market-*')
    [ "${#daemons[@]}" -eq 0 ] || say "the market"
    halt_daemons "${daemons[@]}"
}

install_market() {
    fill_venv "$MARKET_VENV" setup.cfg setup.py pyproject.toml requirements.txt constraints.txt -- \
        -c "$ROOT/constraints.txt" -e "${ROOT}[api,fairness]" PyMySQL \
        "$(grep '^python-memcached==' "$HERE/requirements.lock")"
}

configure_market() {
    # the directory is the operator's: what is in it has precedence, and no `up` touches it
    mkdir -p "$ETC/nova_market/nova_market.conf.d" "$STATE/market"
    cat >"$ETC/nova_market/nova_market.conf" <<END
[DEFAULT]
transport_url = $BROKER_URL
[database]
connection = $(database_url nova_market)
[openstack]
# Nova of a busy machine takes longer than the usual 10 s for some requests
timeout = 60
$(auth market)
$(accept_tokens market)
[fairness]
exchange = oslo
[exchange]
members = $(IFS=, && printf %s "${HOSTS[*]}")
market_engines = engine.cloud
[market]
name = engine.cloud
# a playground: nobody wants to wait a minute for a price, or for an administrator who grants credits
period = 20
total_credits = 1000
new_project_weight = 1
renew_every = 3
return_delay = 3
# the CPUs of the hosts are for guests alone
host_reserve_cores = 0
host_reserve_memory_mib = 64
coordination_url = file://$STATE/market/coordination
[jobs]
worker_url = http://$GATE:${PORT[market-api]}
END
    # the file that the package installs, for the port and the uWSGI of this cloud, with one process
    sed -e '/^plugins/d' -e "s/^http-socket = .*/http-socket = 127.0.0.1:${PORT[market-api]}/" \
        -e 's/^processes = .*/processes = 1/' "$ROOT/etc/nova_market/nova-market-api-uwsgi.ini" \
        >"$ETC/nova_market/uwsgi.ini"
}

# configure_fairness HOST CPUS: what differs from nova_market.conf
configure_fairness() {
    cat >"$ETC/nova_market/$1.conf" <<END
[fairness]
interval = 5
policy = market
resources = cpu
memory_control = off
# disks of guests are files that are seen in the host's mount namespace alone
disk_control = off
state_path = $STATE/market/$1
[host]
name = $1
libvirt_uri = $(bash "$TESTBED/host" uri --state "$STATE" "$1")
cpus = $2
END
}

# Our commands with their configuration, for `run` and `shell`: nova-market-engine status, nova-fairness-h1 status
market_commands() {
    local name host
    mkdir -p "$MARKET_BIN"
    for name in api manage status "${MARKET_SERVICES[@]}"; do
        market_command "nova-market-$name" "nova-market-$name" nova_market
    done
    for host in "${HOSTS[@]}"; do market_command "nova-fairness-$host" nova-fairness nova_market "$host"; done
}

# market_command NAME PROGRAM CONFIGURATION...
market_command() {
    local name=$1 program=$2 file
    shift 2
    {
        printf '#!/bin/sh\nexec %s' "$MARKET_VENV/bin/$program"
        for file in "$@"; do printf ' --config-file %s' "$ETC/nova_market/$file.conf"; done
        printf ' --config-dir %s' "$ETC/nova_market/nova_market.conf.d"
        printf ' "$@"\n'
    } >"$MARKET_BIN/$name.new"
    chmod 755 "$MARKET_BIN/$name.new"
    # a rename: a program that runs can't be written
    mv "$MARKET_BIN/$name.new" "$MARKET_BIN/$name"
}
