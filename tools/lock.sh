#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/lock.sh [uv options]: regenerate requirements/*.txt from requirements/pyproject.toml, with the same versions in
# all of them, for every Python from 3.11 on. Locked versions are kept if they still fit; `-U` upgrades to new releases.
set -eu

cd "$(dirname "$0")/../requirements"
UV=${UV:-uv}
if ! command -v "$UV" >/dev/null 2>&1; then
    echo "uv is needed to lock: python3 -m pip install uv, or UV=/path/to/uv make lock" >&2
    exit 1
fi

lock() {     # lock FILE OPTION...: write FILE, starting with the licence lines of this script
    file=$1
    shift
    "$UV" pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --no-emit-find-links --no-header --no-annotate -o "$file" "$@"
    { sed -n 2,4p ../tools/lock.sh; echo "# Written by make lock from pyproject.toml."; cat "$file"; } >"$file.new"
    mv "$file.new" "$file"
}

lock dev.txt --group dev "$@"
lock test.txt --group test -c dev.txt
lock run.txt -c dev.txt
lock bench.txt --group bench -c dev.txt "$@"
lock release.txt --group release "$@"
