#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/find-python.sh VERSION...: print the path of the first Python of these versions (3.11 3.12 ...) that runs and
# can create virtual environments; else say why there is none and exit with 1. $PYTHON, if set, replaces all candidates.
# Every candidate is started: a name on PATH may be a shim that only reports that its Python is not selected.
set -u

candidates() {      # candidates VERSION: paths that may be that Python, one per line
    command -v "python$1"
    command -v python3
    for folder in /usr/local/bin /usr/bin "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin \
        "${XDG_DATA_HOME:-$HOME/.local/share}/uv/python/cpython-$1".*/bin; do
        [ -x "$folder/python$1" ] && echo "$folder/python$1"
    done
}

version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
}

without_venv=
IFS='
'
for version in "$@"; do
    for python in ${PYTHON:-$(candidates "$version")}; do
        [ "$(version_of "$python")" = "$version" ] || continue
        # ensurepip, which virtual environments need, is in the package python3-venv on Debian.
        if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            "$python" -c 'import sys; print(sys.executable)'
            exit 0
        fi
        without_venv=$python
    done
done

if [ -n "$without_venv" ]; then
    echo "$without_venv cannot make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv" >&2
elif [ -n "${PYTHON:-}" ]; then
    echo "PYTHON=$PYTHON is not one of: Python $(echo "$@" | sed 's/ /, /g')" >&2
else
    found=$(version_of python3)
    echo "No Python $(echo "$@" | sed 's/ /, /g') found${found:+ (python3 is $found)}." \
        "Install one, or name it: make PYTHON=/path/to/python3.11" >&2
fi
exit 1
