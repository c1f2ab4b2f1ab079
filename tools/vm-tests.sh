#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/vm-tests.sh [--must] [pytest arguments]: run the tests on real kernels, in guests that QEMU boots. If that is
# not possible, a line says why and what is needed; with --must, or GPUHOST_CI set, that is a failure. --only-images
# builds missing guest images and runs nothing.
set -eu

cd "$(dirname "$0")/.."
must=${GPUHOST_CI:-}
if [ "${1:-}" = --must ]; then
    must=1
    shift
fi

images=
if [ "${1:-}" = --only-images ]; then
    images=only
fi

tools/system-packages.sh
# shellcheck disable=SC2086
if ! why=$(python3 tests/vm/vm.py check ${GPUHOST_VM_RELEASES:-} 2>&1); then
    echo "VM tests skipped: $why"
    [ -z "$must" ] || exit 1
    exit 0
fi
# shellcheck disable=SC2086
python3 tests/vm/vm.py build --missing ${GPUHOST_VM_RELEASES:-}
[ -z "$images" ] || exit 0
TMPDIR=$(tools/fast-temp.sh)
export TMPDIR
export GPUHOST_VM=1
crashed=.cache/vm/crashed
rm -f "$crashed"
# Two test files at a time: while one waits for its guests, the other keeps the machine busy.
set -- .venv/bin/python -m pytest -n 2 --dist loadfile --durations 10 tests/vm "$@"
status=0
"$@" || status=$?
if [ "$status" -ne 0 ] && [ -e "$crashed" ]; then
    # QEMU's emulation occasionally crashes a kernel, which is no failure of the tested code.
    echo "The kernel of a guest crashed; what failed is tried once more."
    status=0
    "$@" --last-failed || status=$?
fi
exit "$status"
