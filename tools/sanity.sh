#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/sanity.sh [--every-python] [ansible-test sanity arguments]: run it on a copy of the tracked and new files, as it
# accepts only a real folder named ansible_collections/gpuhost/tuning. Its environments are kept in .cache/sanity/home.
# Tests of several Pythons run on the oldest and the newest one found, and on that of .venv, or on every one: what can be
# compiled and imported by the first two can be by those between them.
set -eu

cd "$(dirname "$0")/.."
root=$PWD
home=$root/.cache/sanity/home
every=
if [ "${1:-}" = --every-python ]; then
    every=1
    shift
fi
copy=$root/.cache/sanity/ansible_collections/gpuhost/tuning

tools/collection-copy.sh "$copy"
mkdir -p "$home/.ansible/test/cache"

# ansible-test looks here for its pip bootstrap script before it downloads one.
for version in $(.venv/bin/python - <<'END'
import pathlib, re
import ansible_test._internal as internal
text = (pathlib.Path(internal.__file__).parent / "python_requirements.py").read_text()
print(*{version.replace(".", "_") for version in re.findall(r"""\bpip=['"]([0-9.]+)['"]""", text)})
END
); do
    cp tools/get_pip.py "$home/.ansible/test/cache/get_pip_$version.py"
done
# pip keeps using the user's settings, but quietly.
mkdir -p "$home/.pip"
printf '[global]\nquiet = 2\n' >"$home/.pip/pip.conf"
[ -e "$home/.config" ] || ln -s "${XDG_CONFIG_HOME:-$HOME/.config}" "$home/.config"

# Use the real folders of Pythons, because ansible-test stops at the first shim that does not start one. Those that this
# ansible-test does not know are left out.
path=$root/.venv/bin
first='' last=''
for version in $(.venv/bin/python - <<'END'
from ansible_test._util.target.common import constants
versions = constants.REMOTE_ONLY_PYTHON_VERSIONS + constants.CONTROLLER_PYTHON_VERSIONS
print(*(version for version in versions if version != "3.8"))
END
); do
    python=$(PYTHON='' tools/find-python.sh "$version" 2>/dev/null) || continue
    [ -z "$every" ] || path=$path:$(dirname "$python")
    last=$(dirname "$python")
    first=${first:-$last}
done
path=$path:$first:$last

cd "$copy"
HOME=$home PATH=$path:/usr/sbin:/usr/bin:/sbin:/bin exec ansible-test sanity --color no "$@"
