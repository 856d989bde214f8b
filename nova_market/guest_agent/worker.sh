#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nova-market-worker for guests without Python: POSIX sh with BusyBox 1.34 or newer, or with curl.
#
# Speaks the protocol of doc/source/specs/worker.rst in its text form, and does what worker.py does, with four
# differences: it has no max_rss_mib; a script that exits with 129 to 192 counts as ended by a signal; jobs are kept
# apart as far as there are setpriv or nsenter, and unshare; whole outputs are stored where there is curl.
#
# The credential is in the body of each request, which is a file: a command line can be seen by every user.
#
# Usage: worker.sh URL WORKER_ID CREDENTIAL_FILE [USER [DIRECTORY]]
# NOVA_MARKET_INSECURE=1: https without checking the certificate; NOVA_MARKET_ALLOW_ROOT=1: jobs may run as root
# NOVA_MARKET_CACERT: file of certificates of the API. NOVA_MARKET_TIMEOUT: seconds for a request, 30.

set -u
umask 022
PROGRAM=nova-market-worker
MAX_TAIL=65536

log() { echo "$PROGRAM: $*" >&2; }
fail() { log "$*"; exit 2; }

[ $# -ge 3 ] || fail 'give URL WORKER_ID CREDENTIAL_FILE [USER [DIRECTORY]]'
URL=${1%/}/v1/worker/$2
USER_NAME=${4:-} # empty: each job has a uid of its own
PLACE=${5:-/var/lib/nova-market-worker}
TIMEOUT=${NOVA_MARKET_TIMEOUT:-30}
[ -r "$3" ] || fail "$3: give a file with the credential of this worker"
CREDENTIAL=$(cat "$3")
[ "$CREDENTIAL" ] || fail "$3: it is empty: it should have the credential of this worker"
SESSION=$(tr -dc 'A-Za-z0-9' < /dev/urandom | head -c 43)
ME=$(id -u)
[ "$ME" = 0 ] || USER_NAME=$(id -un)
if [ "$USER_NAME" ]; then
    JOB_UID=$(id -u "$USER_NAME" 2>/dev/null) || fail "there is no user $USER_NAME: give another one"
    JOB_GID=$(id -g "$USER_NAME")
    if [ "$JOB_UID" = 0 ] && [ -z "${NOVA_MARKET_ALLOW_ROOT:-}" ]; then
        fail 'jobs would run as root: give another user, or set NOVA_MARKET_ALLOW_ROOT=1'
    fi
fi

# --- requests: begun, and looked at until they have ended, so that time limits are kept meanwhile ---------------

HELP=$(wget --help 2>&1)
if command -v curl >/dev/null 2>&1 && [ -z "${NOVA_MARKET_NO_CURL:-}" ]; then
    FETCH=curl
else
    case $HELP in
        *BusyBox*--post-file*) FETCH=busybox ;;
        *--post-file*) FETCH=wget ;;
        *) fail 'neither curl nor a wget with --post-file is here: BusyBox has it from 1.34 on' ;;
    esac
fi
case $URL in
    http://*) ;;
    https://*)
        if [ $FETCH = busybox ] && [ -z "${NOVA_MARKET_INSECURE:-}" ]; then
            fail 'wget of BusyBox checks no certificate: install curl, or set NOVA_MARKET_INSECURE=1'
        fi ;;
    *) fail "$1: give http:// or https://" ;;
esac

mkdir -p "$PLACE" || fail "$PLACE: it cannot be made"
chmod 711 "$PLACE"
PLACE=$(cd "$PLACE" && pwd -P)
OLD=$(cat "$PLACE/lock" 2>/dev/null)
if [ "$OLD" ] && [ "$OLD" != $$ ] && grep -qs "worker" "/proc/$OLD/cmdline"; then
    fail "$PLACE: another agent runs there"
fi
echo $$ > "$PLACE/lock"
WIRE=$PLACE/wire
umount "$WIRE/mqueue" 2>/dev/null
rm -rf "$WIRE"
(umask 077 && mkdir "$WIRE") || fail "$WIRE: it cannot be made"

fetch() { # KIND: sends body.KIND, keeps answer.KIND; prints the status, 000 where there was none
    set -- "$1" "$WIRE/body.$1" "$WIRE/answer.$1" "$WIRE/error.$1"
    case $FETCH in
        curl)
            curl -sS -m "$TIMEOUT" ${NOVA_MARKET_INSECURE:+-k} \
                ${NOVA_MARKET_CACERT:+--cacert "$NOVA_MARKET_CACERT"} -A $PROGRAM -H 'Expect:' \
                -H 'Content-Type: text/plain' --data-binary "@$2" -o "$3" -w '%{http_code}' "$URL/$1" 2>"$4"
            return ;;
        wget)
            wget -q -S -t 1 -T "$TIMEOUT" --max-redirect=0 ${NOVA_MARKET_INSECURE:+--no-check-certificate} \
                ${NOVA_MARKET_CACERT:+"--ca-certificate=$NOVA_MARKET_CACERT"} -U $PROGRAM \
                --header 'Content-Type: text/plain' --post-file "$2" -O "$3" "$URL/$1" 2>"$4" ;;
        busybox)
            # shellcheck disable=SC2086 # words of an option
            $LIMITED wget -q $LIMIT ${NOVA_MARKET_INSECURE:+--no-check-certificate} -U $PROGRAM \
                --header 'Content-Type: text/plain' --post-file "$2" -O "$3" "$URL/$1" 2>"$4" ;;
    esac && echo 200 && return
    status=$(sed -n -e 's/.*HTTP\/[0-9.]* \([1-5][0-9][0-9]\).*/\1/p' "$4" | tail -n 1)
    echo "${status:-000}"
}

LIMITED='' LIMIT=''
case $HELP in
    *' -T '*) LIMIT="-T $TIMEOUT" ;;
    *) command -v timeout >/dev/null 2>&1 && LIMITED="timeout $TIMEOUT" ;;
esac

request() { # KIND: begins a request
    rm -f "$WIRE/answer.$1" "$WIRE/status.$1"
    { fetch "$1" > "$WIRE/part.$1"; mv "$WIRE/part.$1" "$WIRE/status.$1"; } 3>&- &
    REQUEST_PID=$!
}

requested() { # KIND: whether the request has ended; its status is then in STATUS
    [ -e "$WIRE/status.$1" ] || return 1
    STATUS=$(cat "$WIRE/status.$1")
    wait "$REQUEST_PID"
    return 0
}

insist() { # KIND: tries again until it is answered; STATUS is then 200, or that of a refusal
    pause=1 denied=0 trouble=
    while :; do
        request "$1"
        until requested "$1"; do nap; done
        case $STATUS in
            200) [ "$(field "$1" order)" ] && break ;;
            401) denied=$((denied + 1)); [ $denied -lt 4 ] || break ;;
            408 | 429) ;;
            4*) break ;;
        esac
        [ "$STATUS" = "$trouble" ] || log "$1: status $STATUS $(head -c 200 "$WIRE/error.$1" 2>/dev/null)"
        trouble=$STATUS
        sleep $pause
        pause=$((pause * 2)); [ $pause -le 60 ] || pause=60
    done
    if [ "$STATUS" != 200 ]; then log "$1: status $STATUS"; elif [ "$trouble" ]; then log 'the API answers again'; fi
}

field() { # KIND NAME: a value of an answer; only lines before the empty one count
    sed -n -e '/^$/q' -e "s/^$2=//p" "$WIRE/answer.$1" 2>/dev/null | head -n 1
}

number() { # KIND NAME DEFAULT: a whole number of an answer
    found=$(field "$1" "$2")
    found=${found%%.*}
    case $found in '' | *[!0-9]*) echo "$3" ;; *) echo "$found" ;; esac
}

texts() { # cuts the texts of the job out of the answer, by their lengths
    skip=$(($(sed -n -e '/^$/q' -e p "$WIRE/answer.next" | wc -c) + 2))
    # shellcheck disable=SC2013 # names without blanks
    for name in $(sed -n -e '/^$/q' -e 's/^\([a-z]*\)=.*/\1/p' "$WIRE/answer.next"); do
        case $name in script | checkpoint | environment) ;; *) continue ;; esac
        size=$(number next "$name" 0)
        tail -c +$skip "$WIRE/answer.next" | head -c "$size" > "$RUN/$name" || return 1
        skip=$((skip + size))
    done
}

# --- processes ---------------------------------------------------------------------------------------------------

uptime_seconds() { read -r up _ < /proc/uptime; echo "${up%%.*}"; }
hundredths() { read -r up _ < /proc/uptime; echo "${up%%.*}${up##*.}"; }
seconds() { printf '%d.%02d' $(($1 / 100)) $(($1 % 100)); }
nap() { sleep 0.2 2>/dev/null || sleep 1; }

marked() { # grep of BusyBox sees nothing behind a zero byte
    { tr '\000' '\n' < "$1/environ"; } 2>/dev/null | grep -qF "NOVA_MARKET_RUN=$MARK"
}

members() { # pids of what the job has begun: of its uid; without one in its sessions, or with its mark
    for one in /proc/[0-9]*; do
        if [ "$APART" ]; then
            while read -r name value _; do
                case $name$value in
                    State:[ZX]) break ;;
                    Uid:*) [ "$value" != "$JOB_UID" ] || echo "${one#/proc/}"; break ;;
                esac
            done < "$one/status"
            continue
        fi
        read -r line < "$one/stat" || continue
        # shellcheck disable=SC2086 # state, parent, group, session
        case $line in *') '*) set -- ${line##*) } ;; *) set -- ? ? ? ? ;; esac
        case $1 in Z | X) continue ;; esac
        if [ "$4" = "${MAIN:-none}" ] || [ "$4" = "${SAVER:-none}" ] || marked "$one"; then
            echo "${one#/proc/}"
        fi
    done 2>/dev/null
}

quoted() { printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }

as_job() { # COMMAND...: becomes it as the user of the job. A setuid program could begin what is not of its uid
    # shellcheck disable=SC2086 # words of a command
    case $WAY in
        setpriv) set -- setpriv --no-new-privs --reuid "$JOB_UID" --regid "$JOB_GID" $OF_GROUPS "$@" ;;
        nsenter) set -- $BOUND nsenter -S "$JOB_UID" -G "$JOB_GID" "$@" ;;
        su) # that of BusyBox takes options of the command for its own
            line='exec'
            for word in "$@"; do line="$line $(quoted "$word")"; done
            set -- $BOUND su -s /bin/sh "$USER_NAME" -c "$line" ;;
    esac
    # shellcheck disable=SC2086
    [ -z "$SPACE" ] || set -- $SPACE sh -c "$MOUNTS" "$RUN" "$@"
    exec "$@"
}

signal_all() { # SIGNAL: whether there was a process
    found=$(members)
    [ "$found" ] || return
    # all of a uid in one instant: one that begins others all the time cannot outrun it
    [ "$APART" ] && (SPACE=''; as_job sh -c "kill -$1 -1") 2>/dev/null && return
    # shellcheck disable=SC2086 # several pids
    kill "-$1" $found 2>/dev/null
    :
}

end_all() { # whether none is left
    left=50
    while signal_all KILL; do
        left=$((left - 1))
        [ $left -gt 0 ] || return
        nap
    done
}

files() { # ACTION...: of the job's uid where all may write
    # shellcheck disable=SC2086 # several directories
    find $OPEN $OTHERS "$WIRE/mqueue" -user "$JOB_UID" -prune "$@" 2>/dev/null
}

objects() { # as ipcrm takes them: what the job has made of System V IPC
    awk -v uid="$JOB_UID" 'FNR == 1 { kind = "-" substr("qms", ++n, 1) }
        $(kind == "-s" ? 7 : 10) == uid { print kind, $2 }
        ' /proc/sysvipc/msg /proc/sysvipc/shm /proc/sysvipc/sem 2>/dev/null
}

clean() { # ends and removes what the job has begun and made outside of its directory; whether nothing is left
    end_all || return
    [ "$APART" ] || return 0
    files -exec rm -rf {} +
    # shellcheck disable=SC2046 # several words
    ipcrm $(objects) 2>/dev/null
    [ -z "$(files; objects)" ]
}

launch() { # NAME: runs a script of the job as its user, in a session of its own; its end goes to ended.NAME
    LAUNCHED=$1
    (
        cd "$RUN/work" || exit 1
        # shellcheck disable=SC2016 # expanded by the shell inside
        ( as_job setsid sh -c 'echo $$ >&4; exec /bin/sh "$0" "$1" 4>&-' "$RUN/start" "$1"
        ) </dev/null >"$RUN/control/pipe" 2>&1 4>"$RUN/control/pid.$1" # inside: "Terminated" is not output
        echo $? > "$RUN/control/code.$1"
        times >> "$RUN/control/code.$1"
        mv "$RUN/control/code.$1" "$RUN/control/ended.$1"
    ) 2>/dev/null 3>&- &
    launched
}

launched() { # waits until the last one that is launched is of the job's uid: what is not yet is found by nobody
    until [ -s "$RUN/control/pid.$LAUNCHED" ] || [ -e "$RUN/control/ended.$LAUNCHED" ]; do nap; done
}

keep() { # what the job writes: its last bytes in `before` and `latest`, and the first LIMIT ones in `whole`
    exec < "$RUN/control/pipe" 3>&-
    cd "$RUN/control" || exit 1
    total=0 kept=0
    : > latest
    while dd bs=$MAX_TAIL count=1 of=chunk 2>/dev/null && [ -s chunk ]; do
        total=$((total + $(wc -c < chunk)))
        echo $total > total.new && mv total.new total # first: it is never less than what is sent
        cat chunk >> latest
        if [ "$kept" -lt "$WHOLE" ]; then
            head -c $((WHOLE - kept)) chunk >> whole
            kept=$(wc -c < whole)
        fi
        [ "$(wc -c < latest)" -lt $MAX_TAIL ] || mv latest before
        [ -e latest ] || : > latest
    done
}

# --- a job --------------------------------------------------------------------------------------------------------

identity() { printf 'credential=%s\njob_id=%s\nattempt=%s\n' "$CREDENTIAL" "$JOB" "$ATTEMPT"; }

output() { # the end of a body: bytes in all, an empty line, the last ones
    tail=$RUN/control/tail
    cat "$RUN/control/before" "$RUN/control/latest" 2>/dev/null | tail -c $MAX_TAIL > "$tail"
    printf 'output_bytes=%s\n\n' "$(cat "$RUN/control/total" 2>/dev/null || echo 0)"
    cat "$tail"
}

beat() { # sends a heartbeat when it is time, and takes the order of its answer
    if [ "$BEATING" ]; then
        requested heartbeat || return
        BEATING='' BEAT_AT=$(($(uptime_seconds) + INTERVAL))
        case $STATUS in
            200)
                case $(field heartbeat order) in
                    go_on) INTERVAL=$(number heartbeat seconds 10) ;;
                    stop) ORDER=stopped NOTICE=$(number heartbeat seconds 0) ;;
                    cancel) ORDER=cancelled NOTICE=$(number heartbeat seconds 0) ;;
                esac ;;
            404 | 409) log "heartbeat: status $STATUS"; ORDER=abandoned ;;
            *) [ "$STATUS" = "$TROUBLE" ] || log "heartbeat: status $STATUS; the job goes on" ;;
        esac
        TROUBLE=$STATUS
    elif [ "$(uptime_seconds)" -ge "$BEAT_AT" ]; then
        { identity; echo "ran=$(seconds $(($(hundredths) - BEGAN)))"; output; } > "$WIRE/body.heartbeat"
        request heartbeat
        BEATING=1
    fi
}

prepare() { # the directory of an attempt
    rm -rf "$RUN"
    mkdir "$RUN" && chmod 711 "$RUN" && (umask 077 && mkdir "$RUN/control" "$RUN/work") || return 1
    mkfifo "$RUN/control/pipe" && texts || return 1
    # shellcheck disable=SC2016 # expanded when it runs
    {
        printf 'PATH=%s USER=%s\n' "$(quoted "$PATH")" "${USER_NAME:-$OWN}"
        echo 'run=${0%/start}; NOVA_MARKET_RUN=$run; HOME=$run/work; TMPDIR=$HOME'
        echo 'export PATH HOME TMPDIR USER NOVA_MARKET_RUN'
        echo 'first=$(head -c 2 "$run/$1")'
        echo '. "$run/environment"'
        echo 'if [ "$first" = "#!" ]; then exec "$run/$1"; else exec /bin/sh "$run/$1"; fi'
    } > "$RUN/start"
    chmod 500 "$RUN/script" "$RUN/checkpoint" && chmod 400 "$RUN/environment" || return 1
    cat /etc/passwd > "$RUN/passwd"
    [ -z "$OWN" ] || echo "$OWN:x:$JOB_UID:$JOB_GID::$RUN/work:/bin/sh" >> "$RUN/passwd"
    [ "$ME" != 0 ] || chown "$JOB_UID" "$RUN/work" "$RUN/script" "$RUN/checkpoint" "$RUN/environment"
}

watch() { # until the script has ended, by itself (END is empty) or by an order
    limit=$(($(uptime_seconds) + TIME_LIMIT)) last=0 half=0
    while :; do
        beat
        now=$(uptime_seconds)
        [ "$ORDER" != abandoned ] || return
        if [ -z "$END" ]; then
            [ ! -e "$RUN/control/ended.script" ] || return
            END=$ORDER
            if [ -z "$END" ] && [ "$now" -ge $limit ]; then
                END=time_limit NOTICE=$(number next notice 30)
            fi
            if [ "$END" ]; then
                last=$((now + NOTICE)) half=$((now + NOTICE / 2))
                signal_all TERM
            fi
        else
            gone=''
            [ ! -e "$RUN/control/ended.script" ] || gone=1
            if [ "$END" = stopped ] && [ -s "$RUN/checkpoint" ] && [ -z "$SAVER" ]; then
                if [ "$gone" ] || [ "$now" -ge $half ]; then
                    launch checkpoint
                    SAVER=$(cat "$RUN/control/pid.checkpoint")
                fi
            fi
            [ "$now" -lt $last ] || return
            if [ "$gone" ] && { [ -z "$SAVER" ] || [ -e "$RUN/control/ended.checkpoint" ]; }; then return; fi
        fi
        nap
    done
}

code() { head -n 1 "$RUN/control/ended.$1" 2>/dev/null; }

used() { # user and system seconds of what the launching shells have waited for
    cat "$RUN/control/ended.script" "$RUN/control/ended.checkpoint" 2>/dev/null | awk '
        function s(text) { split(text, part, "m"); return part[1] * 60 + part[2] }
        NF == 2 && ++lines % 2 == 0 { user += s($1); kernel += s($2) }
        END { printf "user_seconds=%.2f\nsystem_seconds=%.2f\n", user, kernel }'
}

upload() { # the whole output, with heartbeats meanwhile
    url=$(field next output_url)
    [ "$url" ] || return
    [ $FETCH = curl ] || { log 'the output is not stored: there is no curl'; echo uploaded=false; return; }
    : >> "$RUN/control/whole"
    printf 'url = "%s"\n' "$(printf %s "$url" | sed 's/[\\"]/\\&/g')" > "$RUN/control/target"
    curl -sS -f -m 3600 -K "$RUN/control/target" -T "$RUN/control/whole" >/dev/null 2>"$RUN/control/refusal" &
    sender=$!
    while kill -0 $sender 2>/dev/null; do beat; nap; done
    if wait $sender; then echo uploaded=true; else log "the output is not stored: $(cat "$RUN/control/refusal")"; echo uploaded=false; fi
}

result() { # the body of a result
    ran=$(($(hundredths) - BEGAN))
    end_all
    left=50
    until [ -e "$RUN/control/ended.script" ] || [ $left = 0 ]; do left=$((left - 1)); nap; done
    exec 3>&-
    left=25
    while [ $left -gt 0 ] && kill -0 "$KEEPER" 2>/dev/null; do left=$((left - 1)); nap; done
    kill "$KEEPER" 2>/dev/null # something that was not found writes still
    [ "$ORDER" != abandoned ] || return
    stored=$(upload)
    exit_code=$(code script)
    identity
    case ${END:-$exit_code} in
        [a-z]*) echo "end=$END" ;;
        129 | 1[3-8]? | 19[0-2]) printf 'end=signal\nsignal=%s\n' $((exit_code - 128)) ;;
        *) printf 'end=exit\nexit_code=%s\n' "$exit_code" ;;
    esac
    echo "wall_seconds=$(seconds $ran)"
    used
    [ ! -e "$RUN/control/ended.checkpoint" ] || echo "checkpoint=$(code checkpoint)"
    [ -z "$stored" ] || echo "$stored"
    output
}

run_job() { # one attempt of one job
    JOB=$(field next id) ATTEMPT=$(number next attempt 0)
    case $JOB in *[!0-9a-f-]* | '') log "the job has no id: $JOB"; return ;; esac
    TIME_LIMIT=$(number next time_limit 0) INTERVAL=$(number next seconds 10)
    RUN=$PLACE/$JOB.$ATTEMPT MARK=$PLACE/$JOB.$ATTEMPT MAIN='' SAVER=''
    END='' ORDER='' NOTICE=0 BEATING='' TROUBLE='' BEGAN=0
    [ -z "$OWN" ] || next_uid
    identity > "$WIRE/body.heartbeat"
    insist heartbeat # nothing is started before the API has noted that it is
    [ "$STATUS" = 200 ] || return
    case $(field heartbeat order) in
        go_on) ;;
        cancel) { identity; printf 'end=cancelled\nwall_seconds=0\n'; } > "$WIRE/body.result"; insist result; return ;;
        *) { identity; printf 'end=stopped\nwall_seconds=0\n'; } > "$WIRE/body.result"; insist result; return ;;
    esac
    WHOLE=0
    [ -z "$(field next output_url)" ] || [ $FETCH != curl ] || WHOLE=$(number next output_limit 0)
    if prepare 2>"$WIRE/error.prepare"; then
        exec 3<>"$RUN/control/pipe"
        keep &
        KEEPER=$!
        BEGAN=$(hundredths) BEAT_AT=$(($(uptime_seconds) + INTERVAL))
        launch script
        MAIN=$(cat "$RUN/control/pid.script")
        watch
        result > "$WIRE/body.result"
    else
        text=$(head -c 200 "$WIRE/error.prepare" | tr -c '[:print:]' ' ')
        { identity; printf 'end=not_started\nwall_seconds=0\ntext=%s\n' "$text"; } > "$WIRE/body.result"
    fi
    [ -z "$BEATING" ] || until requested heartbeat; do nap; done
    if [ "$ORDER" != abandoned ]; then insist result; fi
    LAUNCHED=''
    if ! clean || ! rm -rf "$RUN"; then give_up; fi
}

give_up() {
    log 'something of a job can neither be ended nor removed: no other job runs here'
    leave 4
}

leave() {
    [ -z "$LAUNCHED" ] || launched
    clean
    umount "$WIRE/mqueue" 2>/dev/null
    rm -rf "$WIRE" "${RUN:-$WIRE}" "$PLACE/lock"
    exit "$1"
}

# --- what keeps jobs apart: a uid, and mounts where all that the guest has besides OPEN is read-only ---------------

next_uid() { TURN=$(((TURN + 1) % 30000)); JOB_UID=$((70000 + TURN)); JOB_GID=$JOB_UID; }
can() { (as_job true) 2>/dev/null; }

MARK=$PLACE/ LAUNCHED='' APART='' OWN='' WAY='' BOUND='' SPACE='' OPEN='' OTHERS=''
TURN=$(($$ * 97)) # not where an agent before this one has been
if [ "$ME" = 0 ] && [ "${JOB_UID:-1}" != 0 ]; then
    APART=1 OF_GROUPS=--init-groups WAY=setpriv
    if [ -z "$USER_NAME" ]; then OWN=nova-job OF_GROUPS=--clear-groups; next_uid; fi
    setpriv --no-new-privs true 2>/dev/null && BOUND='setpriv --no-new-privs'
    # su of util-linux stays, and kills its job two seconds after SIGTERM; that of BusyBox becomes the job
    can || { WAY=nsenter; [ "$OWN" ] && can; } || WAY=su
    if [ "$OWN" ] && [ $WAY = su ]; then
        log 'neither setpriv nor nsenter gives a job a uid of its own: jobs run as nobody'
        OWN='' USER_NAME=nobody JOB_UID=$(id -u nobody) JOB_GID=''
    fi
    for one in /tmp /var/tmp /dev/shm; do OPEN="$OPEN $(cd $one 2>/dev/null && pwd -P)"; done
    mkdir "$WIRE/mqueue" && mount -t mqueue mqueue "$WIRE/mqueue" 2>/dev/null # queues of POSIX are files there
    SPACE='unshare -m'
    command -v ipcrm >/dev/null 2>&1 || SPACE="$SPACE -i"
    if ! $SPACE true 2>/dev/null; then
        SPACE=''
        log 'without unshare jobs write where all may: that is searched four levels deep'
        OTHERS=$(find / -maxdepth 4 '(' -path /proc -o -path /sys ')' -prune \
            -o -type d -perm -2 -prune -print 2>/dev/null)
    fi
fi
# shellcheck disable=SC2016 # expanded inside
MOUNTS="OPEN='$OPEN'"'
{   for at in $OPEN "$0/work"; do mount -o rbind "$at" "$at"; done
    while read -r from at kind _; do
        case $from:$kind in
            /dev/* | *:devtmpfs | *:overlay | *:ramfs | *:rootfs | *:tmpfs | *:zfs) ;;
            *) continue ;;
        esac
        case " $OPEN $0/work " in *" $at "*) ;; *) mount -o remount,bind,ro "$at" ;; esac
    done < /proc/mounts
    mount -o bind "$0/passwd" /etc/passwd
    cd "$0/work"
} 2>/dev/null
exec "$@"'
trap 'leave 0' TERM INT
for one in "$PLACE"/*.[0-9]*/work; do # what an agent before this one has left
    # shellcheck disable=SC2012 # there may be no stat
    left_by=$(ls -ldn "$one" 2>/dev/null | awk '{ print $3 }')
    case $left_by in '' | 0) ;; *) (JOB_UID=$left_by; clean) || give_up ;; esac
done
clean || give_up
rm -rf "$PLACE"/*.[0-9]*
while :; do
    printf 'credential=%s\nsession=%s\nagent=sh 1\nclock=%s\n' "$CREDENTIAL" "$SESSION" "$(date +%s)" > "$WIRE/body.next"
    insist next
    [ "$STATUS" = 200 ] || leave 3
    CREDENTIAL=$SESSION # from the first answer on only this process knows what opens the API
    pause=$(number next seconds 5)
    case $(field next order) in
        exit) leave 0 ;;
        run) run_job ;;
        *) if [ "$pause" -gt 0 ]; then sleep "$pause"; else nap; fi ;;
    esac
    [ "$STATUS" != 401 ] || leave 3
done
