# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Daemons with process-id files, without an init system. Sourced; whoever sources it sets
#   CGROUP    name of the cgroup in which all of them live, in each of the trees that `trees` prints
#   PID_DIR   one file a daemon, with its process id
#   LOG_DIR   one LABEL.log a daemon
# and defines die, and `still TEXT`, which may print a line of progress. A process is ours when it lies in our
# cgroup, so that a reused process id is never taken for one of ours, and whatever a daemon leaves behind is found.

# Prints every process in our cgroups; zombies do not count.
members() {
    local tree pid
    for tree in $(trees); do
        [ ! -d "$tree/$CGROUP" ] || find "$tree/$CGROUP" -name cgroup.procs -exec cat {} + 2>/dev/null
    done | sort -un | while read -r pid; do
        if running "$pid"; then printf '%s\n' "$pid"; fi
    done
}

running() {
    local status
    status=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) && [ "${status:0:1}" != Z ] && [ -n "$status" ]
}

make_cgroups() {
    local tree
    for tree in $(trees); do mkdir -p "$tree/$CGROUP"; done
}

remove_cgroups() {
    local tree
    for tree in $(trees); do
        [ ! -d "$tree/$CGROUP" ] || find "$tree/$CGROUP" -depth -type d -exec rmdir {} \; 2>/dev/null || true
    done
}

# Moves the calling shell. Under version 2 a cgroup that shares out controllers holds no process: then
# there is a leaf for the daemons.
join() {
    local tree leaf
    for tree in $(trees); do
        leaf=$tree/$CGROUP
        [ ! -d "$leaf/daemons" ] || leaf=$leaf/daemons
        printf '%s\n' "$BASHPID" >"$leaf/cgroup.procs"
    done
}

pid_of() { cat "$PID_DIR/$1" 2>/dev/null; }

alive() {
    local pid
    pid=$(pid_of "$1") && grep -q "/$CGROUP" "/proc/$pid/cgroup" 2>/dev/null && running "$pid"
}

# A daemon must not hold a lock or a pipe of who launched it: whoever reads the pipe would wait for its end.
close_inherited() {
    local path descriptor
    for path in "/proc/$BASHPID/fd"/*; do
        descriptor=${path##*/}
        # bash keeps its script open as 255, and closes that itself
        if [ "$descriptor" -gt 2 ] && [ "$descriptor" -ne 255 ]; then exec {descriptor}>&-; fi
    done
}

# launch LABEL COMMAND...: in our cgroups and a session of its own
launch() {
    local label=$1
    shift
    (
        join
        close_inherited
        exec setsid "$@"
    ) >>"$LOG_DIR/$label.log" 2>&1 </dev/null &
    printf '%s\n' $! >"$PID_DIR/$label"
    # until it has joined, nobody could tell it from one that has ended
    until alive "$label" || ! running $!; do sleep 0.02; done
}

# halt PID...: TERM, and KILL for what is left after 15 s
halt() {
    local pid left _
    kill -TERM "$@" 2>/dev/null || true
    for _ in $(seq 150); do
        left=()
        for pid in "$@"; do
            if running "$pid"; then left+=("$pid"); fi
        done
        [ "${#left[@]}" -gt 0 ] || return 0
        sleep 0.1
    done
    kill -KILL "${left[@]}" 2>/dev/null || true
}

# halt_daemons LABEL...: all at once
halt_daemons() {
    local label pids=()
    for label in "$@"; do
        if alive "$label"; then pids+=("$(pid_of "$label")"); fi
    done
    [ "${#pids[@]}" -eq 0 ] || halt "${pids[@]}"
    for label in "$@"; do rm -f "$PID_DIR/$label"; done
}

# others_than LABEL...: prints the daemons that were started, without these
others_than() {
    local label
    for label in $(cd "$PID_DIR" 2>/dev/null && ls); do
        [[ " $* " == *" $label "* ]] || printf '%s\n' "$label"
    done
}

# Ends everything in our cgroups and removes them.
end_members() {
    local pids _
    mapfile -t pids < <(members)
    [ "${#pids[@]}" -eq 0 ] || halt "${pids[@]}"
    # a killed guest of several hundred MiB takes a moment to go
    for _ in $(seq 100); do
        [ -n "$(members)" ] || break
        sleep 0.1
    done
    [ -z "$(members)" ] || die "these processes would not end: $(members | tr '\n' ' ')"
    remove_cgroups
}

# until_ok SECONDS LABEL COMMAND...: until the command succeeds; the daemon LABEL has to live meanwhile
until_ok() {
    local seconds=$1 label=$2 end=$((SECONDS + $1))
    shift 2
    until "$@" >/dev/null 2>&1; do
        alive "$label" || die "$label has ended; the end of $LOG_DIR/$label.log:" \
            "$(tail -n 5 "$LOG_DIR/$label.log" 2>/dev/null)"
        [ "$SECONDS" -lt "$end" ] || die "$label is not ready after $seconds s; see $LOG_DIR/$label.log." \
            "It may only be slow: the same command again goes on from here"
        still "$label is not ready yet; see $LOG_DIR/$label.log"
        sleep 0.2
    done
}

# Prints label, state, process id and log of each daemon that was started; 1 when one has ended.
daemon_table() {
    local label all=0
    for label in $(cd "$PID_DIR" 2>/dev/null && ls -tr); do
        if alive "$label"; then
            printf '%-18s up   %7s  %s\n' "$label" "$(pid_of "$label")" "$LOG_DIR/$label.log"
        else
            printf '%-18s down %7s  %s\n' "$label" - "$LOG_DIR/$label.log"
            all=1
        fi
    done
    return $all
}
