#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/ansible-tests.sh FOLDER [--brief]: run the tests of code that uses Ansible (plugins, modules, playbooks) in the
# environment FOLDER. Parsers and rules do not depend on Ansible: they are tested once, and by ansible-test on every
# Python version of managed hosts. --brief leaves out the engine that evaluates checks, which imports nothing of Ansible
# (tests/unit/test_rooms.py), and tests marked one_core.
set -eu

cd "$(dirname "$0")/.."
environment=$1
brief=${2:-}
units=tests/unit/plugins
marks="not soak and not once"
set -- $units/action $units/filter $units/modules $units/plugin_utils/_ansible tests/playbooks
if [ "$brief" = --brief ]; then
    marks="$marks and not one_core"
else
    set -- "$@" $units/plugin_utils/_expressions $units/plugin_utils/_checks
fi

"$environment/bin/ansible" --version | sed -n 1p
TMPDIR=$(tools/fast-temp.sh)
export TMPDIR
# Half an hour is several times their normal duration. No cache, so that the one of the runs in .venv is kept.
exec timeout 1800 "$environment/bin/python" -m pytest -p no:cacheprovider -n auto --maxprocesses 8 --dist worksteal \
    -m "$marks" "$@"
