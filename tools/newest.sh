#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/newest.sh: repeat tests of code that uses Ansible in .venv-newest, with the newest ansible-core of the lock
# that a Python on this machine supports (.venv has 2.19 if there is a Python 3.11).
set -eu

cd "$(dirname "$0")/.."
if ! python=$(PYTHON='' tools/find-python.sh 3.14 3.13 3.12 2>/dev/null); then
    echo "newest: skipped, no Python 3.12 or newer was found"
    exit 0
fi
PYTHON=$python tools/setup-venv.sh .venv-newest test 3.14 3.13 3.12
[ "${1:-}" != --only-environment ] || exit 0
exec tools/ansible-tests.sh .venv-newest --brief
