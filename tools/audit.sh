#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/audit.sh: audit this machine, the hosts of the inventory $HOSTS, or the host described by the file $REPORT
# (nvidia-bug-report.log.gz and others, docs/intake.md); $ARGS are further arguments for ansible-playbook, quoted as in
# a shell. Never asks for a password: without one, what only root may read is left out.
# Exits with 3 if hosts have findings at gpuhost_fail_on or above and nothing else failed: reports/last-run.json (or the
# one in gpuhost_report_dir=FOLDER of $ARGS) says which. Ansible has one status for both, and make one for all failures.
set -eu

here=$PWD
cd "$(dirname "$0")/.."
playbook=.venv/bin/ansible-playbook
partial=

if [ -n "${HOST:-}" ] && [ -z "${HOSTS:-}" ]; then
    echo "HOST=$HOST is not used: an inventory is given as HOSTS=FILE, one host of it with ARGS='-l $HOST'" >&2
    exit 2
fi

book=audit
if [ -n "${REPORT:-}" ]; then
    # A report is only read on this machine: no root, no password.
    [ -z "${HOSTS:-}" ] || { echo "HOSTS=$HOSTS is not used with REPORT=$REPORT: give one of them" >&2; exit 2; }
    case $REPORT in /*) ;; *) REPORT=$here/$REPORT ;; esac
    book=import
    set -- -i inventory/hosts.yml -e "{\"gpuhost_import\": [\"$(printf %s "$REPORT" | sed 's/[\\"]/\\&/g')\"]}"
elif [ -n "${HOSTS:-}" ]; then
    set -- -i "$HOSTS"
else
    set -- -i inventory/hosts.yml -l localhost
    if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null; then
        partial=yes
        set -- "$@" -e '{"gpuhost_become": false}'
    fi
fi
# ARGS="-l pve1 -e 'gpuhost_only=[swappiness]'": one string that contains several words with their own quotes.
eval "set -- \"\$@\" ${ARGS:-}"

reports=$(printf '%s\n' "$@" | sed -n 's/.*gpuhost_report_dir=\([^ ]*\).*/\1/p' | sed '$!d')
last_run=${reports:-reports}/last-run.json
before=$(cat "$last_run" 2>/dev/null || true)

status=0
"$playbook" "playbooks/$book.yml" "$@" || status=$?
after=$(cat "$last_run" 2>/dev/null || true)
if [ "$status" -eq 2 ] && [ "$after" != "$before" ]; then
    case $after in
        *'": "failed"'* | *'": "unreachable"'* | *'": "not audited"'*) ;;
        *'": "findings"'*) status=3 ;;
    esac
fi

if [ -n "$partial" ]; then
    if command -v sudo >/dev/null 2>&1; then
        echo "PARTIAL: for what only root may read: $playbook playbooks/audit.yml --ask-become-pass"
    else
        echo "PARTIAL: for what only root may read: make audit, as root"
    fi
fi
exit "$status"
