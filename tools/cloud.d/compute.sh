# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The compute hosts: each a host of the test bed with Open vSwitch, a neutron agent, sshd (for cold
# migration) and nova-compute in it. The APIs and RabbitMQ stay on the 127.0.0.1 outside; socat carries
# each of their ports through a unix socket onto the host's own 127.0.0.1, so that one configuration serves
# everywhere. eth0 is for host to host traffic, eth1 for that of the guests.

# on HOST COMMAND...: inside a compute host
on() {
    local host=$1
    shift
    bash "$TESTBED/host" run --state "$STATE" "$host" "$@"
}

# host_daemon HOST LABEL COMMAND...
host_daemon() {
    local host=$1 label=$2
    shift 2
    bash "$TESTBED/host" daemon --state "$STATE" "$host" "$label" env "PATH=$STATE/bin:$VENV/bin:$PATH" \
        PYTHONWARNINGS=ignore "$@"
}

# wait_on HOST COMMAND...
wait_on() {
    local host=$1 end=$((SECONDS + PATIENCE))
    shift
    until on "$host" "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$end" ] || die "$host: no success in $PATIENCE s: $*; see $LOG_DIR/$host"
        still "$host is not ready yet: $*; see $LOG_DIR/$host"
        sleep 0.3
    done
}

# neutron and oslo.privsep call sudo X-rootwrap CONFIGURATION COMMAND; here everybody is root. ssh and scp
# between hosts use the cloud's own key, not root's.
make_shims() {
    local program
    if [ ! -x "$STATE/bin/sudo" ]; then
        printf '#!/bin/sh\ncase $1 in *-rootwrap) shift 2 ;; esac\nexec "$@"\n' >"$STATE/bin/sudo"
        chmod 755 "$STATE/bin/sudo"
    fi
    mkdir -p "$STATE/ssh"
    chmod 700 "$STATE/ssh"
    [ -e "$STATE/ssh/id" ] || ssh-keygen -q -t ed25519 -N '' -C nova-market-cloud -f "$STATE/ssh/id"
    [ -e "$STATE/ssh/host" ] || ssh-keygen -q -t ed25519 -N '' -C nova-market-cloud -f "$STATE/ssh/host"
    printf '* %s\n' "$(cat "$STATE/ssh/host.pub")" >"$STATE/ssh/known_hosts"
    cat >"$STATE/ssh/config" <<END
Host *
  IdentityFile $STATE/ssh/id
  IdentitiesOnly yes
  UserKnownHostsFile $STATE/ssh/known_hosts
  LogLevel ERROR
END
    for program in ssh scp; do
        printf '#!/bin/sh\nexec /usr/bin/%s -F %s "$@"\n' "$program" "$STATE/ssh/config" \
            >"$STATE/bin/$program.new"
        chmod 755 "$STATE/bin/$program.new"
        # a rename: a program that runs can't be written
        mv "$STATE/bin/$program.new" "$STATE/bin/$program"
    done
}

# start_host HOST CPUS MEMORY_MIB
start_host() {
    local host=$1 cpus=$2 memory=$3 address label
    address=$(host_address "$host")
    mkdir -p "$STATE/hosts/$host"/{instances,ovs} "$STATE/nova/$host"
    {
        printf '127.0.0.1 localhost\n'
        for label in "${HOSTS[@]}"; do printf '%s %s\n' "$(host_address "$label")" "$label"; done
    } >"$STATE/hosts/names"
    configure_host "$host" "$cpus" "$address"
    logged "host-$host" bash "$TESTBED/host" start "$host" --state "$STATE" --cpus "$cpus" --memory-mib "$memory" \
        --cable "nmcloud-hosts=eth0=$address/24" --cable nmcloud-guests=eth1 --listen "$address" \
        --bind "$STATE/hosts/$host/instances=$STATE/nova/instances" --bind "$STATE/hosts/names=/etc/hosts" ||
        die "$host does not start; see above"
    ln -sfn "../hosts/$host/log" "$LOG_DIR/$host"
    for label in "${FORWARDED[@]}"; do
        service "to-$label" socat "UNIX-LISTEN:$STATE/run/$label,fork,unlink-early,mode=600" \
            "TCP:127.0.0.1:${PORT[$label]}"
        host_daemon "$host" "to-$label" socat "TCP-LISTEN:${PORT[$label]},bind=127.0.0.1,fork,reuseaddr" \
            "UNIX-CONNECT:$STATE/run/$label"
    done
    start_switch "$host"
    host_daemon "$host" sshd /usr/sbin/sshd -D -e -f "$STATE/hosts/$host/sshd_config"
    host_daemon "$host" neutron-agent neutron-openvswitch-agent \
        --config-file "$ETC/neutron/neutron.conf" --config-file "$ETC/neutron/$host.conf"
    # one DHCP server is enough
    [ "$host" != "${HOSTS[0]}" ] || host_daemon "$host" neutron-dhcp neutron-dhcp-agent \
        --config-file "$ETC/neutron/neutron.conf" --config-file "$ETC/neutron/$host.conf"
    host_daemon "$host" nova-compute nova-compute \
        --config-file "$ETC/nova/nova.conf" --config-file "$ETC/nova/$host.conf"
}

start_switch() {
    local host=$1 directory=$STATE/hosts/$1/ovs
    [ -e "$directory/conf.db" ] ||
        ovsdb-tool create "$directory/conf.db" /usr/share/openvswitch/vswitch.ovsschema
    host_daemon "$host" ovsdb ovsdb-server "$directory/conf.db" --unixctl=/run/openvswitch/ovsdb.ctl \
        --remote=punix:/run/openvswitch/db.sock --remote=ptcp:6640:127.0.0.1
    wait_on "$host" ovs-vsctl --no-wait init
    # before ovs-vswitchd starts, or TCP between guests dies: the userspace datapath would pass on the
    # half-done checksums of virtio and veth
    on "$host" ovs-vsctl --no-wait set Open_vSwitch . other_config:userspace-tso-enable=true
    host_daemon "$host" ovs-vswitchd ovs-vswitchd unix:/run/openvswitch/db.sock \
        --unixctl=/run/openvswitch/vswitchd.ctl
    on "$host" ovs-vsctl --timeout=30 --may-exist add-br br-ex -- set bridge br-ex datapath_type=netdev -- \
        --may-exist add-port br-ex eth1
}

# The market API in the network of the guests: a veth pair from this machine to the switch of a host, whose
# neutron agent wires it as it wires a guest, and socat from its address to the API.
open_gate() {
    local id mac
    read -r id mac <"$STATE/gate"
    wait_on "$GATE_HOST" ovs-vsctl br-exists br-int
    if ! ip link show "$GATE_DEVICE" >/dev/null 2>&1; then
        ip link add "$GATE_DEVICE" type veth peer name gate \
            netns "$(bash "$TESTBED/host" pid --state "$STATE" "$GATE_HOST")"
        sysctl -qw "net.ipv6.conf.$GATE_DEVICE.disable_ipv6=1"
    fi
    on "$GATE_HOST" ip link set gate up
    ip link set "$GATE_DEVICE" address "$mac" up
    ip addr replace "$GATE/24" dev "$GATE_DEVICE"
    on "$GATE_HOST" ovs-vsctl --timeout=30 --may-exist add-port br-int gate -- set Interface gate \
        "external_ids:iface-id=$id" "external_ids:attached-mac=$mac" external_ids:iface-status=active
    service gate socat "TCP-LISTEN:${PORT[market-api]},bind=$GATE,fork,reuseaddr" \
        "TCP:127.0.0.1:${PORT[market-api]}"
    bind_gate "$id"
}

# Neutron binds a port to a host whose agent has reported, and does not try again by itself.
bind_gate() {
    local end=$((SECONDS + PATIENCE))
    until (openstack_environment admin && [ "$(openstack port show -f value -c binding_vif_type "$1")" = ovs ]); do
        [ "$SECONDS" -lt "$end" ] || die "the port $1 is not bound; see $LOG_DIR/$GATE_HOST/neutron-agent.log"
        (openstack_environment admin && openstack port unset --host "$1" &&
            openstack port set --host "$GATE_HOST" "$1")
        still "the port of the market API is not bound yet; see $LOG_DIR/$GATE_HOST/neutron-agent.log"
    done
}

configure_host() {
    local host=$1 cpus=$2 address=$3
    cat >"$STATE/hosts/$host/sshd_config" <<END
ListenAddress $address
Port 22
HostKey $STATE/ssh/host
AuthorizedKeysFile $STATE/ssh/id.pub
SetEnv PATH=/usr/sbin:/usr/bin:/sbin:/bin
StrictModes no
Subsystem sftp internal-sftp
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PidFile none
END
    cat >"$ETC/nova/$host.conf" <<END
[DEFAULT]
host = $host
my_ip = $address
state_path = $STATE/nova/$host
instances_path = $STATE/nova/instances
compute_driver = libvirt.LibvirtDriver
reserved_host_memory_mb = 0
reserved_host_disk_mb = 512
cpu_allocation_ratio = 8.0
ram_allocation_ratio = 1.0
config_drive_format = iso9660
[compute]
cpu_shared_set = $cpus
[oslo_concurrency]
lock_path = $STATE/nova/$host
[libvirt]
virt_type = qemu
cpu_mode = none
hw_machine_type = x86_64=pc
num_pcie_ports = 0
live_migration_scheme = tcp
live_migration_inbound_addr = $address
END
    cat >"$ETC/neutron/$host.conf" <<END
[DEFAULT]
host = $host
state_path = $STATE/neutron/$host
interface_driver = openvswitch
[ovs]
datapath_type = netdev
bridge_mappings = physnet1:br-ex
[agent]
tunnel_types =
[securitygroup]
enable_security_group = false
firewall_driver = noop
[oslo_concurrency]
lock_path = $STATE/neutron/$host
END
}
