#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/audit.sh: audit this machine, or the hosts of the inventory $HOSTS; $ARGS are further words for
# ansible-playbook, quoted as in a shell. Never asks for a password: without one, what only root may read is left out.
set -eu

cd "$(dirname "$0")/.."
playbook=.venv/bin/ansible-playbook
partial=

if [ -n "${HOSTS:-}" ]; then
    set -- -i "$HOSTS"
else
    set -- -i inventory/hosts.yml -l localhost
    if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null; then
        partial=yes
        set -- "$@" -e '{"gpuhost_become": false}'
    fi
fi
# ARGS="-l pve1 -e 'gpuhost_only=[swappiness]'": one string, but several words with quotes of their own.
eval "set -- \"\$@\" ${ARGS:-}"

status=0
"$playbook" playbooks/audit.yml "$@" || status=$?

if [ -n "$partial" ]; then
    if command -v sudo >/dev/null 2>&1; then
        echo "PARTIAL: for what only root may read: $playbook playbooks/audit.yml --ask-become-pass"
    else
        echo "PARTIAL: for what only root may read: make audit, as root"
    fi
fi
exit "$status"
