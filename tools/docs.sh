#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/docs.sh: check that the documentation of plugins and roles and the changelog fragments are complete and well
# formed, and that the pages of the checks match the catalogue (`make check-pages` writes them).
# tools/sanity.sh checks that documentation and argument specs are equal (validate-modules).
set -eu

cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
export ANSIBLE_COLLECTIONS_PATH="$PWD/.ansible/collections"

echo "docs: antsibull-docs lint-collection-docs"
antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs=all --disallow-unknown-collection-refs .
echo "docs: antsibull-changelog lint"
antsibull-changelog lint
echo "docs: pages of the checks"
PYTHONPATH="tools:$ANSIBLE_COLLECTIONS_PATH" python -m pages --check
