#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/integration.sh [ansible-test integration arguments]: run it on a copy of the checkout, with the Python of .venv.
set -eu

cd "$(dirname "$0")/.."
home=$PWD/.cache/integration/home
copy=$PWD/.cache/integration/ansible_collections/gpuhost/tuning
tools/collection-copy.sh "$copy"
mkdir -p "$home"

version=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
path=$PWD/.venv/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd "$copy"
HOME=$home PATH=$path exec ansible-test integration --color no --python "$version" "$@"
