#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/setup-venv.sh FOLDER LOCK VERSION...: create a virtual environment in FOLDER with the packages of
# requirements/LOCK.txt (run, test, dev or bench), using the first Python found of the versions. Does nothing if it is
# up to date.
set -eu

cd "$(dirname "$0")/.."
folder=$1
lock=$2
shift 2

case $lock in       # every lock includes the smaller ones
    dev) locks="dev test run" ;;
    test) locks="test run" ;;
    *) locks=$lock ;;
esac

if "$folder/bin/python" -c '' 2>/dev/null && cmp -s "requirements/$lock.txt" "$folder/installed-$lock.txt"; then
    exit 0
fi
if ! "$folder/bin/python" -m pip --version >/dev/null 2>&1; then
    python=$(tools/find-python.sh "$@")
    echo "Setting up $folder with $python"
    "$python" -m venv --clear "$folder"
fi
echo "Installing requirements/$lock.txt into $folder"
"$folder/bin/python" -m pip install -qq --disable-pip-version-check --require-hashes -r "requirements/$lock.txt"
for each in $locks; do
    cp "requirements/$each.txt" "$folder/installed-$each.txt"
done
