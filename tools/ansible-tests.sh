#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/ansible-tests.sh FOLDER: run the tests of code that uses Ansible (plugins, modules, playbooks) in the
# environment FOLDER. Parsers and rules do not depend on Ansible: they are tested once, and by ansible-test on every
# Python version of managed hosts.
set -eu

cd "$(dirname "$0")/.."
"$1/bin/ansible" --version | sed -n 1p
TMPDIR=$(tools/fast-temp.sh)
export TMPDIR
# Half an hour is several times their normal duration. No cache, so that the one of the runs in .venv is kept.
exec timeout 1800 "$1/bin/python" -m pytest -p no:cacheprovider -n auto --maxprocesses 8 \
    -m "not soak and not once" tests/unit/plugins/action tests/unit/plugins/filter tests/unit/plugins/modules \
    tests/unit/plugins/plugin_utils/_ansible tests/unit/plugins/plugin_utils/_expressions \
    tests/unit/plugins/plugin_utils/_checks tests/playbooks
