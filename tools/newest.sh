#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/newest.sh: the tests of what touches Ansible once more (plugins, modules, playbooks), in .venv-newest, on the newest
# ansible-core that a Python found here takes (the one in .venv is 2.19 where there is a Python 3.11). Parsers and rules
# know nothing of Ansible: they are tested once, and on every Python of a managed host by ansible-test.
set -eu

cd "$(dirname "$0")/.."
if ! python=$(PYTHON='' tools/find-python.sh 3.14 3.13 3.12 2>/dev/null); then
    echo "newest: skipped, no Python 3.12 or newer was found"
    exit 0
fi
PYTHON=$python tools/setup-venv.sh .venv-newest test 3.14 3.13 3.12
.venv-newest/bin/ansible --version | sed -n 1p
[ "${1:-}" != --only-environment ] || exit 0
TMPDIR=$(tools/fast-temp.sh)
export TMPDIR
# Half an hour is several times what they take. No cache: the runs in .venv keep theirs.
exec timeout 1800 .venv-newest/bin/python -m pytest -p no:cacheprovider -n auto --maxprocesses 8 \
    -m "not soak and not once" tests/unit/plugins/action tests/unit/plugins/filter tests/unit/plugins/modules \
    tests/unit/plugins/plugin_utils/_ansible tests/unit/plugins/plugin_utils/_expressions \
    tests/unit/plugins/plugin_utils/_checks tests/playbooks
