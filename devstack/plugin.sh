#!/bin/bash
# Called by DevStack: plugin.sh stack PHASE, plugin.sh unstack, plugin.sh clean.

_XTRACE_NOVA_MARKET_PLUGIN=$(set +o | grep xtrace)
set +o xtrace

# shellcheck source=devstack/lib/nova-fairness
source "$NOVA_MARKET_DIR/devstack/lib/nova-fairness"

if is_nova_fairness_enabled; then
    case "$1 ${2:-}" in
        "stack install")
            echo_summary "Installing nova-fairness"
            install_nova_fairness
            ;;
        "stack post-config")
            echo_summary "Configuring nova-fairness"
            configure_nova_fairness
            create_nova_fairness_accounts
            ;;
        "stack extra")
            # libvirt and n-cpu are up by now
            echo_summary "Starting nova-fairness"
            init_nova_fairness
            start_nova_fairness
            ;;
        "unstack "*)
            stop_nova_fairness
            ;;
        "clean "*)
            cleanup_nova_fairness
            ;;
    esac
fi

$_XTRACE_NOVA_MARKET_PLUGIN
