# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by the other files of this directory
#
# Where everything of the cloud is, which ports it uses, and its passwords. Sourced; STATE is set.

HERE=$ROOT/tools/cloud.d
TESTBED=$ROOT/nova_market/testbed
VENV=$STATE/venv
MARKET_VENV=$STATE/market-venv
MARKET_BIN=$STATE/market-bin
ETC=$STATE/etc
PID_DIR=$STATE/run/pid
LOG_DIR=$STATE/log
CGROUP=nova-market-cloud-$(printf %s "$STATE" | sha256sum | cut -c1-6)
# else pip's packages, stevedore's entry points, the guests' kernel and what libvirt has learned about QEMU would
# stay after --purge
export XDG_CACHE_HOME=$STATE/cache NOVA_MARKET_CACHE=${NOVA_MARKET_CACHE:-$STATE/cache}
# Seconds until a service has to be ready that has not ended, which is found at once: many, for a machine on which
# other programs are at work
PATIENCE=600
HOSTS=(h1 h2)
PROJECTS=(dora emil)

# The usual ports plus an offset, so that a database or broker of the machine's own is not in the way.
OFFSET=${NOVA_MARKET_CLOUD_PORT_OFFSET:-10000}
declare -A PORT=(
    [mariadb]=$((3306 + OFFSET)) [rabbitmq]=$((5672 + OFFSET)) [epmd]=$((4369 + OFFSET))
    [erlang]=$((25672 + OFFSET)) [memcached]=$((11211 + OFFSET)) [keystone]=$((5000 + OFFSET))
    [placement]=$((8778 + OFFSET)) [glance]=$((9292 + OFFSET)) [nova-api]=$((8774 + OFFSET))
    [neutron-api]=$((9696 + OFFSET)) [market-api]=$((8781 + OFFSET))
)
# what a compute host reaches of these, on its own 127.0.0.1
FORWARDED=(keystone rabbitmq placement glance nova-api neutron-api)

# this machine's address in the network of the guests, on a port that one of the hosts plugs
GATE=10.1.0.254
GATE_HOST=${HOSTS[0]}
GATE_DEVICE=nmcloud-gate

host_address() { printf '10.254.0.1%s' "${1#h}"; }

# one tree is enough to know what is ours
trees() {
    awk '$3 == "cgroup2" && $2 == "/sys/fs/cgroup" { print $2; exit }
         $3 == "cgroup" && $2 ~ /\/pids$/ { print $2; exit }' /proc/mounts
}

# One password a purpose, made once, readable by root only.
read_secrets() {
    local name
    if [ ! -e "$STATE/secrets" ]; then
        (
            umask 077
            for name in DATABASE BROKER ADMIN SERVICE METADATA "${PROJECTS[@]^^}"; do
                printf '%s_PASSWORD=%s\n' "$name" "$(head -c 18 /dev/urandom | base64 | tr '+/' 'ab')"
            done >"$STATE/secrets.new"
            mv "$STATE/secrets.new" "$STATE/secrets"
        )
    fi
    # shellcheck source=/dev/null
    source "$STATE/secrets"
    BROKER_URL=rabbit://openstack:$BROKER_PASSWORD@127.0.0.1:${PORT[rabbitmq]}/
}

database_url() { printf 'mysql+pymysql://openstack:%s@127.0.0.1:%s/%s' "$DATABASE_PASSWORD" "${PORT[mariadb]}" "$1"; }

api_url() { printf 'http://127.0.0.1:%s' "${PORT[$1]}"; }

# openstack_environment PROJECT: exports what OpenStack's clients and nova-fairness log in with
openstack_environment() {
    local password=${1^^}_PASSWORD
    export OS_AUTH_URL OS_USERNAME=$1 OS_PASSWORD=${!password} OS_PROJECT_NAME=$1
    OS_AUTH_URL=$(api_url keystone)/v3
    export OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default OS_REGION_NAME=RegionOne
    export OS_IDENTITY_API_VERSION=3 OS_COMPUTE_API_VERSION=2.latest OS_PLACEMENT_API_VERSION=1.39
    export PATH=$VENV/bin:$MARKET_BIN:$PATH PYTHONWARNINGS=ignore
    [ "$1" = admin ] || return 0
    # what services of nova-market are configured with that are not those of `up --market`
    export NOVA_MARKET_TRANSPORT_URL=$BROKER_URL NOVA_MARKET_DATABASE_URL NOVA_MARKET_API_URL
    export NOVA_MARKET_WORKER_URL=http://$GATE:${PORT[market-api]}
    export NOVA_MARKET_SERVICE_PASSWORD=$SERVICE_PASSWORD
    NOVA_MARKET_DATABASE_URL=$(database_url nova_market)
    NOVA_MARKET_API_URL=$(api_url market-api)
}
