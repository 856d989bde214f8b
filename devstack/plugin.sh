#!/bin/bash
# Called by DevStack: plugin.sh stack PHASE, plugin.sh unstack, plugin.sh clean.

_XTRACE_NOVA_MARKET_PLUGIN=$(set +o | grep xtrace)
set +o xtrace

# shellcheck source=devstack/lib/nova-fairness
source "$NOVA_MARKET_DIR/devstack/lib/nova-fairness"
# shellcheck source=devstack/lib/nova-market
source "$NOVA_MARKET_DIR/devstack/lib/nova-market"

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

if is_nova_market_enabled; then
    case "$1 ${2:-}" in
        "stack install")
            echo_summary "Installing the market"
            install_nova_market
            ;;
        "stack post-config")
            echo_summary "Configuring the market"
            configure_nova_market
            create_nova_market_accounts
            if [[ $NOVA_MARKET_SCHEDULER == True ]] && is_service_enabled n-sch; then
                configure_nova_market_scheduler
            fi
            ;;
        "stack extra")
            echo_summary "Starting the market"
            init_nova_market
            start_nova_market
            ;;
        "unstack "*)
            stop_nova_market
            ;;
        "clean "*)
            cleanup_nova_market
            ;;
    esac
fi

$_XTRACE_NOVA_MARKET_PLUGIN
