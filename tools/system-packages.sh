#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/system-packages.sh: install the packages that bindep.txt lists for profile test and this machine lacks. Installs
# only as root on Debian and derivatives, and never on a Proxmox host; otherwise it prints the package names.
set -eu

cd "$(dirname "$0")/.."
if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "system packages: not a Debian; see bindep.txt for what the tests use"
    exit 0
fi

missing=
packages=$(sed -n 's/^\([^# ]*\) \[platform:dpkg test[] ].*/\1/p' bindep.txt)
for package in $packages; do
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
        missing="$missing $package"
done
if [ -z "$missing" ]; then
    exit 0
fi

if [ "$(id -u)" -ne 0 ] || [ -e /etc/pve ] || [ -e /usr/bin/pveversion ]; then
    echo "system packages: missing:$missing"
    echo "  apt-get install$missing"
    exit 0
fi
echo "system packages: installing$missing"
# Packages installed for tests must not start services: policy-rc.d(8).
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -qq --yes --no-install-recommends $missing
