#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/lint.sh: run the linters. Exits with 1 if any of them reports a problem.
set -u

cd "$(dirname "$0")/.." || exit
PATH="$PWD/.venv/bin:$PATH"
status=0

check() {
    echo "lint: $1"
    "$@" || status=1
}

check ruff check --quiet .
check yamllint --strict .
# shellcheck disable=SC2046
check shellcheck .ci/run $(git ls-files '*.sh')
check ansible-lint -q --offline --nocolor
exit "$status"
