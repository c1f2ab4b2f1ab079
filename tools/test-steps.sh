#!/usr/bin/env bash
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/test-steps.sh: run every step of `make test`, even after a failed one, and print how long each took and how much
# CPU time it used. Linters run one after the other beside pytest, so that no CPU is idle while the longest one ends.
set -uo pipefail

cd "$(dirname "$0")/.." || exit
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failed=()
TIMEFORMAT='%U %S'

# step NAME COMMAND...: run COMMAND and write its output, status, duration and CPU time to files.
step() {
    local name=$1 began=$SECONDS status=0
    shift
    { time "$@" >"$logs/$name" 2>&1; } 2>"$logs/$name.cpu" || status=$?
    echo "$status $((SECONDS - began)) $(awk '{printf "%.0f", $1 + $2}' "$logs/$name.cpu")" >"$logs/$name.end"
}

# in_turn NAME...: run make targets one after the other.
in_turn() {
    local name
    for name in "$@"; do
        step "$name" make --no-print-directory "$name"
    done
}

# shown NAME...: print the output of steps that have ended.
shown() {
    local name status took cpu
    for name in "$@"; do
        read -r status took cpu <"$logs/$name.end"
        echo "=== make $name"
        cat "$logs/$name"
        [ "$status" -eq 0 ] || failed+=("$name")
        echo "$name: $took s, $cpu s of CPU time$([ "$status" -eq 0 ] || echo ', FAILED')" >>"$logs/table"
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
# Once, for the steps that need it begin together.
make --no-print-directory dev-environment || exit
step newest-environment tools/newest.sh --only-environment &
environment=$!
step vm-images tools/vm-tests.sh --only-images &
images=$!
in_turn lint docs integration sanity &
linters=$!
together pytest
wait "$environment"
shown newest-environment
together newest molecule
# Guests have time limits: nothing runs beside them.
wait "$linters" "$images"
shown lint docs integration sanity vm-images
together vm
echo
echo "steps of make test, on $(nproc) CPUs ($(date +%F)):"
sed 's/^/  /' "$logs/table"
echo "  all: $SECONDS s"
if [ ${#failed[@]} -gt 0 ]; then
    echo "failed: ${failed[*]}"
    exit 1
fi
