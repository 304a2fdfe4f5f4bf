#!/bin/sh
# Written by bayop export: SETTING
# usage: sudo sh FILE apply     note what is there, and apply; when a write fails, everything is put back
#        sudo sh FILE undo      put back what apply has found
#        sudo sh FILE hold      apply until Ctrl-C or SIGTERM, and then undo
#        sh FILE verify         say all that is otherwise; changes nothing, and needs no root
#
# What was found is in /run/bayop-export until it is put back, so a restart of the machine is an undo, too. Don't let
# bayop-agent or TuneD write the same: of two that put back, the one that came last has to end first.
# Exit codes: 0 done; 1 not done, or not all could be put back.
set -eu
export LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin # ethtool, for who is not root
found=/run/bayop-export
verify=

fail() {
    printf 'error: %s\n' "$1" >&2
    [ $# -eq 1 ] || printf 'hint: %s\n' "$2" >&2
    exit 1
}

# Whether this is to verify alone, which says what is otherwise and goes on.
otherwise() {
    [ -n "$verify" ] || return 1
    verify=otherwise
    printf 'error: %s\n' "$1" >&2
}

# Notes what is there before it is changed, the last first.
note() {
    { printf '%s\n' "$*" && cat "$found"; } >"$found.new"
    mv "$found.new" "$found"
}

# put FILE TEXT
put() {
    if [ ! -e "$1" ]; then
        otherwise "this machine has no $1" && return 0
        fail "this machine has no $1"
    fi
    was=$(cat "$1") || {
        otherwise "cannot read $1" && return 0
        fail "cannot read $1"
    }
    [ "$was" != "$2" ] || return 0
    ! otherwise "$1 has $was and not $2" || return 0
    note file "$1" "$was"
    printf '%s\n' "$2" >"$1" || fail "cannot write $2 to $1"
}

# shown DEVICE PARAMETER
shown() {
    case $2 in
    adaptive-rx) ethtool -c "$1" | sed -n 's/^Adaptive RX: *\([^ ]*\).*/\1/p' ;;
    adaptive-tx) ethtool -c "$1" | sed -n 's/^Adaptive RX:.*TX: *\([^ ]*\).*/\1/p' ;;
    *) ethtool -c "$1" | sed -n "s/^$2:[[:space:]]*//p" ;;
    esac
}

# coalesce DEVICE PARAMETER VALUE
coalesce() {
    was=$(shown "$1" "$2")
    case $was in
    "$3") return 0 ;;
    '' | n/a)
        [ "$3" != off ] || return 0 # a switch that is not there is off
        ! otherwise "the driver of $1 has no $2" || return 0
        fail "the driver of $1 has no $2"
        ;;
    esac
    ! otherwise "$2 of $1 is $was and not $3" || return 0
    note coalesce "$1" "$2" "$was"
    ethtool -C "$1" "$2" "$3" || fail "cannot set $2 of $1 to $3"
}

# put_back KIND FILE TEXT, or put_back KIND DEVICE 'PARAMETER VALUE'
put_back() {
    case $1 in
    file) [ "$(cat "$2")" = "$3" ] || printf '%s\n' "$3" >"$2" ;;
    coalesce) ethtool -C "$2" "${3% *}" "${3#* }" ;;
    esac
}

undo() {
    left=
    while read -r kind where what; do
        put_back "$kind" "$where" "$what" || left="$left $where"
    done <"$found"
    [ -z "$left" ] || fail "could not be put back:$left" "$found says what was there"
    rm "$found"
}

# Each line is done when it is so already.
set_all() {
SETTINGS
}

apply() {
    [ ! -e "$found" ] || fail "an export is applied already" "sh $0 undo"
    : >"$found"
    trap undo EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    [ -z "${1:-}" ] || trap 'exit 0' INT TERM HUP
    set_all
}

[ "${1:-}" = verify ] || [ "$(id -u)" -eq 0 ] || fail "only root may do this" "sudo sh $0 ${1:-apply}"
case ${1:-} in
apply)
    apply
    trap - EXIT
    ;;
hold)
    apply held # a signal is how it ends
    while :; do
        sleep 1
    done
    ;;
undo)
    [ -e "$found" ] || fail "nothing is applied"
    undo
    ;;
# What TuneD's plug-in script says; after a crash it starts again.
start)
    [ ! -e "$found" ] || undo
    apply
    trap - EXIT
    ;;
stop) [ ! -e "$found" ] || undo ;;
verify)
    verify=so
    set_all
    [ "$verify" = so ]
    ;;
*)
    sed -n 's/^# usage/usage/p; s/^#        s/       s/p' "$0" >&2
    exit 1
    ;;
esac
