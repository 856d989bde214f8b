# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Debian's packages and a virtual environment with exact versions. The constraints that OpenStack publishes
# lag behind nova 34: with them pip silently takes an older nova, hence requirements.lock.

install_openstack() {
    local python stamp
    install_packages cloud
    stamp=$(sha256sum <"$HERE/requirements.lock")
    [ "$(cat "$VENV/.nova-market" 2>/dev/null)" != "$stamp" ] || return 0
    python=$(find_python)
    say "OpenStack from PyPI into $VENV: five to ten minutes; see $LOG_DIR/openstack.log"
    [ -x "$VENV/bin/python" ] || "$python" -m venv "$VENV"
    logged openstack "$VENV/bin/python" -m pip install --progress-bar off -r "$HERE/requirements.lock" ||
        die "pip could not install OpenStack; see $LOG_DIR/openstack.log"
    correct_neutron
    printf '%s\n' "$stamp" >"$VENV/.nova-market"
}

# nova-scheduler and nova-api load classes of ours, so this tree is a part of their environment: without its
# requirements, which Nova has but for msgspec, and without its commands, which have an environment of their own.
install_plugins() {
    local stamp
    stamp=$({ printf '%s\n' "$ROOT" && cat "$ROOT/setup.cfg" && cat "$VENV/.nova-market"; } | sha256sum)
    [ "$(cat "$VENV/.nova-market-plugins" 2>/dev/null)" != "$stamp" ] || return 0
    say "the scheduler plug-ins from $ROOT"
    logged plugins "$VENV/bin/python" -m pip install --progress-bar off --no-deps -e "$ROOT" \
        "$(grep '^msgspec==' "$ROOT/constraints.txt")" ||
        die "pip could not install the scheduler plug-ins; see $LOG_DIR/plugins.log"
    rm -f "$VENV"/bin/nova-fairness "$VENV"/bin/nova-market-*
    printf '%s\n' "$stamp" >"$VENV/.nova-market-plugins"
}

# neutron 29.0.0: between the activation of a live migration's target and the removal of its source, the
# target's agent takes the inactive binding for a sign that the port is leaving, skips it, and the guest
# arrives without a network. Where the active binding is the agent's own, no such conclusion is drawn here.
correct_neutron() {
    local file
    file=$(find "$VENV/lib" -path '*/neutron/agent/rpc.py')
    sed -i 's/^\( *\)if inactive_binding and inactive_binding.host != host:$/\1if inactive_binding and host not in (inactive_binding.host, binding.host):/' "$file"
    grep -q 'host not in (inactive_binding.host, binding.host)' "$file" ||
        say "note: neutron has changed, its correction for live migration no longer applies"
}
