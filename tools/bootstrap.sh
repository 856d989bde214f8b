# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What tools/test and tools/demo share: Debian packages of bindep.txt, and a virtual environment.
# Sourced, not run. Afterwards:
#   ROOT   the source tree          VENV   the virtual environment (NOVA_MARKET_VENV, default .venv)
#   NOVA_VENV   the one with Nova in it, beside it
#   MARKET_VENV   the one for a playground, beside it
#   SUDO   array, the words before a command that needs root: empty for root, (sudo) with sudo
#   CAN_BE_ROOT   yes or no
#   LOGS   directory with a log of each step; empty until open_logs was called

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=$(realpath -m "${NOVA_MARKET_VENV:-$ROOT/.venv}")
NOVA_VENV=$VENV-nova
MARKET_VENV=$VENV-market
SUDO=()
CAN_BE_ROOT=yes
LOGS=
STARTED=$SECONDS
# what the tests need of the package; tox.ini and tools/pins have the same
EXTRAS=api,dask,fairness,leases,redfish,sim,tempest
# pip is asked for packages, not for news
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

# seconds after which somebody who sees no progress is told that there is some
EVERY=15
SAID=$SECONDS

# Progress, with the seconds since the start, where it can't mix with a program's output.
say() {
    SAID=$SECONDS
    printf '[%4ds] %s\n' "$((SECONDS - STARTED))" "$*" >&2
}

# For loops that wait: says it where nothing has been said for a while.
still() { [ "$((SECONDS - SAID))" -lt "$EVERY" ] || say "$@"; }

die() {
    printf 'tools/%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# open_logs TOOL: from now on `logged` writes into files of this directory; those of the last run go.
open_logs() {
    LOGS=$VENV-logs/$1
    { rm -rf "$LOGS" && mkdir -p "$LOGS"; } || die "could not make the directory $LOGS"
    say "logs are in $LOGS"
}

# repeat_progress NAME LOG: until its input ends, now and then a line with the last one of LOG.
repeat_progress() {
    local began=$SECONDS status
    while :; do
        status=0
        read -r -t "$EVERY" || status=$?
        # above 128: nothing came, and the input has not ended
        [ "$status" -gt 128 ] || return 0
        say "$1: for $((SECONDS - began)) s now; $2: $(last_line "$2")"
    done
}

# last_line LOG: the beginning of it, without the time and the process id of OpenStack's programs
last_line() { tail -n 1 "$1" | tr -dc '[:print:]' | sed -E 's/^[0-9-]{10} [0-9:.]+ [0-9]+ //' | cut -c 1-60; }

# with_progress NAME LOG COMMAND...: what it prints is appended to LOG, and where that takes long, lines of progress
# appear. They end with this shell, too, which alone holds the pipe.
with_progress() {
    local status=0
    exec 8> >(repeat_progress "$1" "$2")
    "${@:3}" >>"$2" 2>&1 8>&- || status=$?
    exec 8>&-
    return "$status"
}

# logged NAME COMMAND...: what it prints goes into NAME.log; when it fails, the end of that is shown.
logged() {
    local log status=0
    if [ -z "$LOGS" ]; then
        "${@:2}" >&2
        return
    fi
    log=$LOGS/$1.log
    with_progress "$1" "$log" "${@:2}" || status=$?
    if [ "$status" -ne 0 ]; then
        say "$1: the end of $log:"
        tail -n 40 "$log" >&2
    fi
    return "$status"
}

in_ci() { [ "${CI:-}" = true ] || [ "${CI:-}" = 1 ]; }

# sudo counts when it needs no password, or when somebody is there to type it.
find_root() {
    [ "$(id -u)" -eq 0 ] && return
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        SUDO=(sudo)
    else
        CAN_BE_ROOT=no
    fi
}

# packages PROFILE...: what bindep.txt names for them, and what it names without a profile.
packages() {
    awk -v wanted=" $* " '
        /^[[:space:]]*(#|$)/ { next }
        {
            name = $1; take = 1; profiles = 0
            if (match($0, /\[[^]]*\]/)) {
                n = split(substr($0, RSTART + 1, RLENGTH - 2), words, /[[:space:]]+/)
                hit = 0
                for (i = 1; i <= n; i++) {
                    if (words[i] ~ /^platform:/) continue
                    profiles++
                    if (index(wanted, " " words[i] " ")) hit = 1
                }
                take = (profiles == 0 || hit)
            }
            if (take) print name
        }' "$ROOT/bindep.txt"
}

missing_packages() {
    local name
    for name in $(packages "$@"); do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] ||
            printf '%s\n' "$name"
    done
}

# Without an init system a package's daemon would be started by its maintainer script and never be
# stopped: forbid it for the time of the installation. Where systemd runs, and where somebody has a
# policy already, nothing is touched.
apt_install() (
    policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
    # a mirror that does not answer for a moment, and another installation that has the lock
    retry=(-o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
    if [ ! -d "${SYSTEMD_RUNS:-/run/systemd/system}" ] && [ ! -e "$policy" ] && [ ! -L "$policy" ]; then
        trap '"${SUDO[@]}" rm -f "$policy"' EXIT
        trap 'exit 130' INT TERM
        printf '#!/bin/sh\nexit 101\n' | "${SUDO[@]}" tee "$policy" >/dev/null
        "${SUDO[@]}" chmod 755 "$policy"
    fi
    {
        # an installation that was killed makes each later one fail until this was done
        "${SUDO[@]}" env DEBIAN_FRONTEND=noninteractive dpkg --configure -a &&
            "${SUDO[@]}" apt-get "${retry[@]}" update -qq &&
            "${SUDO[@]}" env DEBIAN_FRONTEND=noninteractive \
                apt-get "${retry[@]}" install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends "$@"
    } >&2
)

# install_packages PROFILE...
install_packages() {
    local missing
    if ! command -v dpkg-query >/dev/null; then
        say "not a Debian system: the packages that bindep.txt names are taken to be here"
        return
    fi
    mapfile -t missing < <(missing_packages "$@")
    [ "${#missing[@]}" -gt 0 ] || return 0
    [ "$CAN_BE_ROOT" = yes ] ||
        die "these packages are missing and there is neither root nor sudo to install them:" \
            "${missing[*]}"
    say "packages: installing ${#missing[@]} of Debian's${LOGS:+; see $LOGS/packages.log}"
    logged packages apt_install "${missing[@]}" || die "apt-get could not install: ${missing[*]}"
    say "packages: installed"
}

find_python() {
    local name
    for name in python3 python3.13 python3.12 python3.11; do
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$name"
            return
        fi
    done
    die "Python 3.11 or newer is needed; python3 is $(python3 --version 2>&1)"
}

requirement_files() {
    printf '%s\n' setup.cfg setup.py pyproject.toml requirements.txt test-requirements.txt \
        doc/requirements.txt constraints.txt
}

# stamp FILES... -- PIP ARGUMENTS...: what an environment is made from.
stamp() {
    local files=()
    while [ "$1" != -- ]; do
        files+=("$1")
        shift
    done
    shift
    cd "$ROOT" && { printf '%s\n' "$@"; cat tools/build-constraints.txt "${files[@]}"; } | sha256sum
}

# fill_venv DIRECTORY FILES... -- PIP ARGUMENTS...: the environment is filled again only when the arguments or one
# of the files that it is made from have changed.
fill_venv() {
    local venv=$1 python stamp
    shift
    stamp=$(stamp "$@")
    while [ "$1" != -- ]; do shift; done
    shift
    (
        flock 9
        [ "$(cat "$venv/.nova-market" 2>/dev/null)" = "$stamp" ] &&
            "$venv/bin/python" -c pass 2>/dev/null && exit
        if [ -d "$venv" ] && [ ! -e "$venv/pyvenv.cfg" ] && [ -n "$(ls -A "$venv")" ]; then
            say "$venv is not empty and no virtual environment: it is left alone"
            exit 1
        fi
        python=$(find_python) || exit
        say "venv: filling $venv ($("$python" --version)), a few minutes${LOGS:+; see $LOGS/$(basename "$venv").log}"
        cd "$ROOT" || exit
        # for the environments in which packages without a wheel are built; a path of its own could have blanks
        export PIP_CONSTRAINT=tools/build-constraints.txt PIP_BUILD_CONSTRAINT=tools/build-constraints.txt
        # one whose Python is gone (an upgrade, another user's) is made anew
        "$venv/bin/python" -c pass 2>/dev/null || "$python" -m venv --clear "$venv" || exit
        logged "$(basename "$venv")" "$venv/bin/python" -m pip install --progress-bar off "$@" || exit
        printf '%s\n' "$stamp" >"$venv/.nova-market"
        say "venv: $venv is filled"
    ) 9>"$venv.lock" || die "could not make the virtual environment $venv; see above"
}

make_venv() {
    local files
    mapfile -t files < <(requirement_files)
    fill_venv "$VENV" "${files[@]}" -- \
        -c "$ROOT/constraints.txt" -r "$ROOT/test-requirements.txt" -r "$ROOT/doc/requirements.txt" \
        -e "${ROOT}[$EXTRAS]"
    export PATH="$VENV/bin:$PATH"
}

# What a playground needs, and the client: nothing that has to be compiled, and no package of Debian.
market_parts() {
    printf '%s\n' setup.cfg setup.py pyproject.toml requirements.txt constraints.txt -- \
        -c "$ROOT/constraints.txt" python-openstackclient -e "${ROOT}[api]"
}

market_stamp() {
    local parts
    mapfile -t parts < <(market_parts)
    stamp "${parts[@]}"
}

make_market_venv() {
    local parts
    mapfile -t parts < <(market_parts)
    fill_venv "$MARKET_VENV" "${parts[@]}"
}

# Nova wants other versions than our services: the tests inside it have an environment of their own.
make_nova_venv() {
    fill_venv "$NOVA_VENV" setup.cfg setup.py pyproject.toml requirements.txt \
        tests/nova/requirements.txt tests/nova/constraints.txt -- \
        -c "$ROOT/tests/nova/constraints.txt" -r "$ROOT/tests/nova/requirements.txt" -e "${ROOT}[scheduler]"
}
