#!/bin/bash
# Called by DevStack: plugin.sh stack PHASE, plugin.sh unstack, plugin.sh clean. Without arguments, as Grenade's
# scripts source it, it defines the functions.

_XTRACE_NOVA_MARKET_PLUGIN=$(set +o | grep xtrace)
set +o xtrace

# shellcheck source=devstack/lib/nova-market-node
source "$NOVA_MARKET_DIR/devstack/lib/nova-market-node"
# shellcheck source=devstack/lib/nova-fairness
source "$NOVA_MARKET_DIR/devstack/lib/nova-fairness"
# shellcheck source=devstack/lib/nova-market
source "$NOVA_MARKET_DIR/devstack/lib/nova-market"

function configure_nova_market_services {
    configure_nova_market_node
    if is_nova_market_enabled || nova_fairness_reads_quotas; then
        configure_nova_market_account
    fi
    if is_nova_fairness_enabled; then
        configure_nova_fairness
    fi
    if is_nova_market_enabled; then
        configure_nova_market
    fi
    if is_service_enabled nova-market-api; then
        create_nova_market_endpoint
    fi
}

function init_nova_market_services {
    init_nova_market_node
    if is_nova_fairness_enabled; then
        init_nova_fairness
    fi
    if is_nova_market_enabled; then
        init_nova_market
    fi
}

function start_nova_market_services {
    if is_nova_fairness_enabled; then
        start_nova_fairness
    fi
    if is_nova_market_enabled; then
        start_nova_market
    fi
}

if is_nova_fairness_enabled || is_nova_market_enabled; then
    case "${1:-} ${2:-}" in
        "stack install")
            echo_summary "Installing nova-market"
            install_nova_market_node
            ;;
        "stack post-config")
            echo_summary "Configuring nova-market"
            configure_nova_market_services
            ;;
        "stack extra")
            # libvirt, n-cpu and the database are up by now
            echo_summary "Starting nova-market"
            init_nova_market_services
            start_nova_market_services
            ;;
        "stack test-config")
            if is_service_enabled tempest; then
                echo_summary "Configuring Tempest for nova-market"
                configure_tempest_for_nova_market
            fi
            ;;
        "unstack "*)
            stop_nova_fairness
            stop_nova_market
            ;;
        "clean "*)
            cleanup_nova_market
            cleanup_nova_market_node
            ;;
    esac
fi

$_XTRACE_NOVA_MARKET_PLUGIN
