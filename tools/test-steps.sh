#!/usr/bin/env bash
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/test-steps.sh: run every step of `make test`, even after a failed one, and print how long each took. Steps that
# use one CPU or wait for the network run in parallel; their output is shown when they have ended.
set -uo pipefail

cd "$(dirname "$0")/.." || exit
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failed=()

# step NAME COMMAND...: run COMMAND and write its output, status and duration to files.
step() {
    local name=$1 began=$SECONDS status=0
    shift
    "$@" >"$logs/$name" 2>&1 || status=$?
    echo "$status $((SECONDS - began))" >"$logs/$name.end"
}

# shown NAME...: print the output of steps that have ended.
shown() {
    local name status took
    for name in "$@"; do
        read -r status took <"$logs/$name.end"
        echo "=== make $name"
        cat "$logs/$name"
        [ "$status" -eq 0 ] || failed+=("$name")
        echo "$name: $took s$([ "$status" -eq 0 ] || echo ', FAILED')" >>"$logs/table"
    done
}

# together NAME...: run make targets in parallel.
together() {
    local name pids=()
    for name in "$@"; do
        step "$name" make --no-print-directory "$name" &
        pids+=($!)
    done
    wait "${pids[@]}"
    shown "$@"
}

tools/system-packages.sh || exit
# Fetch the guest images and a second environment while the linters run.
step vm-images tools/vm-tests.sh --only-images &
fetching=($!)
step newest-environment tools/newest.sh --only-environment &
fetching+=($!)
together sanity lint docs integration
together pytest
wait "${fetching[@]}"
shown vm-images newest-environment
together newest molecule
together vm
echo
echo "steps of make test, on $(nproc) CPUs ($(date +%F)):"
sed 's/^/  /' "$logs/table"
echo "  all: $SECONDS s"
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
