# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What OpenStack stands on: MariaDB, RabbitMQ and memcached, on 127.0.0.1, all their state below STATE.
# The configuration of the machine's own (/etc/mysql, /etc/rabbitmq) has no say.

port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# service LABEL COMMAND...: in the background, unless it runs
service() { alive "$1" || launch "$@"; }

# listeners PORT: processes of this cloud that listen on it
listeners() {
    comm -12 <(members | sort) <(ss -Hltnp "sport = :$1" | grep -o 'pid=[0-9]*' | cut -d = -f 2 | sort -u)
}

# claim LABEL: the port that a service is about to listen on must be nobody else's. What a service of this cloud has
# started, and that has outlived it, is ended.
claim() {
    local left
    if alive "$1" || ! port_open "${PORT[$1]}"; then return; fi
    mapfile -t left < <(listeners "${PORT[$1]}")
    if [ "${#left[@]}" -gt 0 ]; then
        say "$1 has ended, but not what it has started: ${left[*]} is ended too"
        halt "${left[@]}"
    fi
    ! port_open "${PORT[$1]}" ||
        die "port ${PORT[$1]} of 127.0.0.1, for $1, is taken by another program;" \
            "set NOVA_MARKET_CLOUD_PORT_OFFSET (now $OFFSET) to shift all ports"
}

start_backing() {
    start_mariadb
    start_rabbitmq
    claim memcached
    service memcached memcached -u nobody -l 127.0.0.1 -p "${PORT[memcached]}" -m 64
    until_ok "$PATIENCE" memcached port_open "${PORT[memcached]}"
}

start_mariadb() {
    local directory=$STATE/mariadb name socket=$STATE/mariadb/socket
    claim mariadb
    if [ ! -d "$directory/mysql" ]; then
        mkdir -p "$directory"
        chown mysql: "$directory"
        logged mariadb-install mariadb-install-db --no-defaults --user=mysql --datadir="$directory" \
            --auth-root-authentication-method=socket --skip-test-db ||
            die "mariadb-install-db failed; see $LOG_DIR/mariadb-install.log"
    fi
    service mariadb mariadbd --no-defaults --user=mysql --datadir="$directory" --socket="$socket" \
        --pid-file="$directory/pid" --bind-address=127.0.0.1 --port="${PORT[mariadb]}" \
        --skip-name-resolve --max-connections=1000 --innodb-buffer-pool-size=256M \
        --innodb-flush-log-at-trx-commit=2 --character-set-server=utf8mb3 \
        --collation-server=utf8mb3_general_ci --skip-log-bin
    until_ok "$PATIENCE" mariadb mariadb --no-defaults -S "$socket" -e 'SELECT 1'
    {
        printf "CREATE USER IF NOT EXISTS openstack@'127.0.0.1' IDENTIFIED BY '%s';\n" "$DATABASE_PASSWORD"
        printf "GRANT ALL ON *.* TO openstack@'127.0.0.1';\n"
        for name in keystone placement glance nova nova_api nova_cell0 neutron nova_market; do
            printf 'CREATE DATABASE IF NOT EXISTS %s;\n' "$name"
        done
    } | mariadb --no-defaults -S "$socket"
}

# Debian's wrapper would change to the user rabbitmq and its directories: the server's own script is run.
# The scheduler threads must not spin (+sbwt none), which costs a quarter of a CPU when idle.
rabbitmq_environment() {
    local directory=$STATE/rabbitmq
    mkdir -p "$directory" "$LOG_DIR/rabbitmq"
    export HOME=$directory ERL_EPMD_ADDRESS=127.0.0.1 ERL_EPMD_PORT=${PORT[epmd]}
    export RABBITMQ_NODENAME=nova-market-cloud@localhost RABBITMQ_NODE_IP_ADDRESS=127.0.0.1
    export RABBITMQ_NODE_PORT=${PORT[rabbitmq]} RABBITMQ_DIST_PORT=${PORT[erlang]}
    export RABBITMQ_MNESIA_BASE=$directory/mnesia RABBITMQ_LOG_BASE=$LOG_DIR/rabbitmq
    export RABBITMQ_PID_FILE=$directory/pid RABBITMQ_ENABLED_PLUGINS_FILE=$directory/plugins
    export RABBITMQ_CONF_ENV_FILE=/dev/null RABBITMQ_CONFIG_FILE=$directory/none
    export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1} \
+sbwt none +sbwtdcpu none +sbwtdio none"
}

start_rabbitmq() {
    claim epmd
    claim rabbitmq
    # in a subshell: HOME is RabbitMQ's there
    (
        rabbitmq_environment
        # else RabbitMQ would make one that no file knows
        service epmd epmd -port "${PORT[epmd]}"
        until_ok "$PATIENCE" epmd port_open "${PORT[epmd]}"
        service rabbitmq /usr/lib/rabbitmq/bin/rabbitmq-server
        until_ok "$PATIENCE" rabbitmq port_open "${PORT[rabbitmq]}"
        control() { /usr/lib/rabbitmq/bin/rabbitmqctl -n "$RABBITMQ_NODENAME" "$@"; }
        until_ok "$PATIENCE" rabbitmq control await_startup
        # the broker instead of the script that has started it and waits for its end
        broker=$(listeners "${PORT[rabbitmq]}" | head -n 1)
        [ -z "$broker" ] || [ "$(pid_of rabbitmq)" = "$broker" ] || printf '%s\n' "$broker" >"$PID_DIR/rabbitmq"
        [ ! -e "$STATE/rabbitmq/user" ] || exit 0
        # the password on standard input: a command line is seen by every user
        control list_users 2>/dev/null | grep -q '^openstack' ||
            control add_user openstack <<<"$BROKER_PASSWORD" >/dev/null 2>&1
        control set_permissions openstack '.*' '.*' '.*' >/dev/null
        ! control list_users 2>/dev/null | grep -q '^guest' || control delete_user guest >/dev/null
        : >"$STATE/rabbitmq/user"
    ) || die "RabbitMQ does not start; see $LOG_DIR/rabbitmq.log"
}
