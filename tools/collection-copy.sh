#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/collection-copy.sh FOLDER: copy the tracked and new files of this checkout to FOLDER, which ends in
# ansible_collections/gpuhost/tuning: ansible-test accepts only a real folder of that name.
set -eu

cd "$(dirname "$0")/.."
rm -rf "$1"
mkdir -p "$1"
git ls-files --cached --others --exclude-standard | while IFS= read -r file; do
    if [ -e "$file" ]; then printf '%s\n' "$file"; fi
done | tar -cf - -T - | tar -xf - -C "$1"
# Without its own repository, ansible-test would use that of the checkout, which ignores everything in .cache.
git init --quiet "$1"
