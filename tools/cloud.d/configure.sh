# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Every configuration file of the control plane, and the databases' schemas.

# auth USER: the options by which a service logs in
auth() {
    cat <<END
auth_type = password
auth_url = $(api_url keystone)/v3
username = $1
password = $SERVICE_PASSWORD
project_name = service
user_domain_name = Default
project_domain_name = Default
region_name = RegionOne
END
}

# [keystone_authtoken] of a service
accept_tokens() {
    cat <<END
[keystone_authtoken]
$(auth "$1")
www_authenticate_uri = $(api_url keystone)/v3
memcached_servers = 127.0.0.1:${PORT[memcached]}
service_token_roles = service
service_token_roles_required = true
END
}

configure() {
    mkdir -p "$ETC"/{keystone,placement,glance,nova,neutron} "$STATE/bin" \
        "$STATE"/glance/{images,staging,tasks} "$STATE"/nova/{control,instances} "$STATE/neutron" \
        "$STATE/keystone"
    chmod 700 "$ETC" "$STATE/keystone"
    configure_keystone
    configure_placement
    configure_glance
    configure_nova
    configure_neutron
}

configure_keystone() {
    cat >"$ETC/keystone/keystone.conf" <<END
[database]
connection = $(database_url keystone)
[fernet_tokens]
key_repository = $STATE/keystone/fernet-keys
[fernet_receipts]
key_repository = $STATE/keystone/fernet-keys
[credential]
key_repository = $STATE/keystone/credential-keys
[identity]
# bcrypt at full strength is most of the CPU of a small cloud
password_hash_rounds = 4
[token]
expiration = 86400
END
}

configure_placement() {
    cat >"$ETC/placement/placement.conf" <<END
[placement_database]
connection = $(database_url placement)
[api]
auth_strategy = keystone
$(accept_tokens placement)
END
}

configure_glance() {
    cp "$VENV/etc/glance/glance-api-paste.ini" "$ETC/glance/"
    cat >"$ETC/glance/glance-api.conf" <<END
[DEFAULT]
enabled_backends = file:file
worker_self_reference_url = $(api_url glance)
[database]
connection = $(database_url glance)
[glance_store]
default_backend = file
[file]
filesystem_store_datadir = $STATE/glance/images
[os_glance_staging_store]
filesystem_store_datadir = $STATE/glance/staging
[os_glance_tasks_store]
filesystem_store_datadir = $STATE/glance/tasks
[paste_deploy]
flavor = keystone
[oslo_concurrency]
lock_path = $STATE/glance
$(accept_tokens glance)
END
}

# nova.conf: what every service of Nova shares. nova-control.conf: what API, conductor and scheduler see
# besides; a nova-compute that sees a [database] complains.
configure_nova() {
    cp "$VENV/etc/nova/api-paste.ini" "$ETC/nova/"
    cat >"$ETC/nova/nova.conf" <<END
[DEFAULT]
transport_url = $BROKER_URL
my_ip = 127.0.0.1
allow_resize_to_same_host = false
# the test guest ignores ACPI: do not wait a minute for it at stop, resize and migration
shutdown_timeout = 3
graceful_shutdown_timeout = 5
resume_guests_state_on_host_boot = true
report_interval = 10
service_down_time = 60
rootwrap_config = $VENV/etc/nova/rootwrap.conf
[compute]
# no tap exists on the target before libvirt makes it, so no event comes
live_migration_wait_for_vif_plug = false
[vnc]
enabled = false
[workarounds]
# a Linux kernel (aki) looks like a GPT disk to the inspector, which would fail block migration
disable_deep_image_inspection = true
[glance]
api_servers = $(api_url glance)
[placement]
$(auth nova)
[service_user]
send_service_user_token = true
$(auth nova)
[neutron]
service_metadata_proxy = true
metadata_proxy_shared_secret = $METADATA_PASSWORD
$(auth nova)
[cinder]
$(auth nova)
$(accept_tokens nova)
END
    cat >"$ETC/nova/nova-control.conf" <<END
[DEFAULT]
host = control
state_path = $STATE/nova/control
[wsgi]
api_paste_config = $ETC/nova/api-paste.ini
[database]
connection = $(database_url nova)
[api_database]
connection = $(database_url nova_api)
[oslo_concurrency]
lock_path = $STATE/nova/control
[oslo_policy]
policy_file = $ETC/nova/policy.yaml
[conductor]
workers = 1
[scheduler]
workers = 1
discover_hosts_in_cells_interval = 15
END
    # a playground: everybody may say on which host a server is to run (server create --host h1)
    printf '"compute:servers:create:requested_destination": ""\n' >"$ETC/nova/policy.yaml"
    configure_plugins
    # settings of nova-scheduler that go before all others; kept when it is there
    [ -e "$ETC/nova/nova-scheduler.conf" ] || : >"$ETC/nova/nova-scheduler.conf"
}

# Our filters and weighers, which let everything pass while no market runs. The times suit rounds of seconds.
configure_plugins() {
    cat >"$ETC/nova/nova-market.conf" <<END
[filter_scheduler]
available_filters = nova.scheduler.filters.all_filters
available_filters = nova_market.scheduler.all_filters
enabled_filters = ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,ServerGroupAntiAffinityFilter,ServerGroupAffinityFilter,AffordableFilter,ShareGuaranteeFilter,LeaseFilter
weight_classes = nova.scheduler.weights.all_weighers,nova_market.scheduler.all_weighers
[nova_market]
$(auth nova)
refresh = 2
max_age = 40
timeout = 5
END
}

configure_neutron() {
    cp "$VENV/etc/neutron/api-paste.ini" "$ETC/neutron/"
    cat >"$ETC/neutron/neutron.conf" <<END
[DEFAULT]
transport_url = $BROKER_URL
core_plugin = ml2
graceful_shutdown_timeout = 5
service_plugins =
auth_strategy = keystone
state_path = $STATE/neutron
api_paste_config = $ETC/neutron/api-paste.ini
rpc_workers = 1
rpc_state_report_workers = 0
notify_nova_on_port_status_changes = true
notify_nova_on_port_data_changes = true
[database]
connection = $(database_url neutron)
[oslo_concurrency]
lock_path = $STATE/neutron
[nova]
$(auth nova)
[placement]
$(auth placement)
$(accept_tokens neutron)
END
    cat >"$ETC/neutron/ml2.ini" <<END
[ml2]
type_drivers = local,flat,vlan
tenant_network_types = vlan
mechanism_drivers = openvswitch
extension_drivers = port_security
[ml2_type_vlan]
network_vlan_ranges = physnet1:100:199
[ml2_type_flat]
flat_networks = physnet1
[securitygroup]
enable_security_group = true
END
}

# Once for each set of versions: half a minute of imports.
fill_databases() {
    local done=$STATE/databases.done stamp
    stamp=$(sha256sum <"$HERE/requirements.lock")
    [ "$(cat "$done" 2>/dev/null)" != "$stamp" ] || return 0
    say "databases"
    logged databases make_tables || die "the databases could not be filled; see $LOG_DIR/databases.log"
    printf '%s\n' "$stamp" >"$done"
}

make_tables() {
    local keystone=(keystone-manage --config-file "$ETC/keystone/keystone.conf")
    local nova=(nova-manage --config-file "$ETC/nova/nova.conf" --config-file "$ETC/nova/nova-control.conf")
    "${keystone[@]}" db_sync &&
        "${keystone[@]}" fernet_setup --keystone-user root --keystone-group root &&
        "${keystone[@]}" credential_setup --keystone-user root --keystone-group root &&
        OS_BOOTSTRAP_PASSWORD=$ADMIN_PASSWORD "${keystone[@]}" bootstrap \
            --bootstrap-region-id RegionOne --bootstrap-admin-url "$(api_url keystone)/v3" \
            --bootstrap-public-url "$(api_url keystone)/v3" --bootstrap-internal-url "$(api_url keystone)/v3" &&
        placement-manage --config-file "$ETC/placement/placement.conf" db sync &&
        glance-manage --config-file "$ETC/glance/glance-api.conf" db_sync &&
        "${nova[@]}" api_db sync &&
        "${nova[@]}" cell_v2 map_cell0 &&
        "${nova[@]}" db sync &&
        make_cell &&
        neutron-db-manage --config-file "$ETC/neutron/neutron.conf" --config-file "$ETC/neutron/ml2.ini" upgrade heads
}

make_cell() {
    local listed
    listed=$("${nova[@]}" cell_v2 list_cells) || return
    grep -q ' cell1 ' <<<"$listed" || "${nova[@]}" cell_v2 create_cell --name cell1
}
