#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/core-tests.sh CORE: run the tests of code that uses Ansible in .venv-core-CORE, on one series of ansible-core
# (2.20), or with `pre` on the newest release on PyPI, including pre-releases. $PYTHON names the Python; the default is
# the newest one found that this ansible-core supports.
set -eu

cd "$(dirname "$0")/.."
core=${1:?"name a series of ansible-core: make core-tests CORE=2.20, or CORE=pre"}
folder=.venv-core-$core
case $core in
    2.19) pythons="3.13 3.12 3.11" wanted="ansible-core~=2.19.0" ;;
    2.20 | 2.21) pythons="3.14 3.13 3.12" wanted="ansible-core~=$core.0" ;;
    pre) pythons="3.15 3.14 3.13" wanted=ansible-core ;;
    *)
        echo "core-tests: wanted 2.19, 2.20, 2.21 or pre, found $core" >&2
        exit 2
        ;;
esac
# shellcheck disable=SC2086
tools/setup-venv.sh "$folder" test $pythons
# The lock has one ansible-core per Python; this installs another one on purpose.
options=
if [ "$core" = pre ]; then options="--pre --upgrade"; fi
# shellcheck disable=SC2086
"$folder/bin/python" -m pip install -q --disable-pip-version-check $options "$wanted"
exec tools/ansible-tests.sh "$folder"
