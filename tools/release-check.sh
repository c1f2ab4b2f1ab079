#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/release-check.sh: run the checks of Ansible Galaxy, reviewers and the documentation site on this checkout:
# galaxy-importer with the rules of the community package, REUSE, the workflows, and a build of the documentation site.
# Exits with 1 if one of them reports a problem. Needs no network.
set -u

cd "$(dirname "$0")/.." || exit
root=$PWD
work=$root/.cache/release
rm -rf "$work"
mkdir -p "$work"
export PATH="$root/.venv-release/bin:$PATH"
export ANSIBLE_COLLECTIONS_PATH="$root/.ansible/collections"
status=0

failed() {
    echo "release: $1 FAILED"
    status=1
}

echo "release: ansible-galaxy collection build"
ansible-galaxy collection build --force --output-path "$work" >"$work/build.log" 2>&1 || failed build
archive=$(ls "$work"/gpuhost-tuning-*.tar.gz)

echo "release: galaxy-importer on ${archive##*/}"
cat >"$work/importer.cfg" <<'END'
[galaxy-importer]
REQUIRE_V1_OR_GREATER = True
CHECK_REQUIRED_TAGS = True
CHECK_CHANGELOG = True
RUN_ANSIBLE_DOC = True
RUN_ANSIBLE_LINT = True
RUN_FLAKE8 = False
END
# It writes into the current folder.
if ! (cd "$work" && GALAXY_IMPORTER_CONFIG=$work/importer.cfg python -m galaxy_importer.main "$archive") \
    >"$work/importer.log" 2>&1; then
    cat "$work/importer.log"
    failed galaxy-importer
fi

echo "release: reuse lint"
reuse lint --quiet || { reuse lint --lines; failed reuse; }

echo "release: workflows"
check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml || failed check-jsonschema
zizmor --offline --quiet .github/workflows || failed zizmor

echo "release: documentation site"
mkdir -m 755 "$work/site"
if antsibull-docs sphinx-init --use-current --squash-hierarchy --lenient --dest-dir "$work/site" gpuhost.tuning \
    >"$work/site.log" 2>&1 && (cd "$work/site" && ./build.sh) >>"$work/site.log" 2>&1; then
    # Labels of Ansible's own pages and of other collections need the network, so they are ignored.
    if grep -E 'WARNING|ERROR' "$work/site.log" \
        | grep -vE 'intersphinx|objects\.inv|failed to reach any of the inventories' \
        | grep -vE "undefined label: '([a-z_]+|ansible_collections\.ansible\..*)' " >"$work/site.warnings"; then
        cat "$work/site.warnings"
        failed "documentation site"
    fi
else
    cat "$work/site.log"
    failed "documentation site"
fi
exit "$status"
