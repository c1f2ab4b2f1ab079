#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# tools/sanity.sh [ansible-test sanity arguments]: run it on a copy of the tracked and new files, as it accepts only a
# real folder named ansible_collections/gpuhost/tuning. Its environments are kept in .cache/sanity/home.
set -eu

cd "$(dirname "$0")/.."
root=$PWD
home=$root/.cache/sanity/home
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

# Use the real folders of Pythons, because ansible-test stops at the first shim that does not start one.
path=$root/.venv/bin
for version in 3.9 3.10 3.11 3.12 3.13 3.14; do
    if python=$(PYTHON='' tools/find-python.sh "$version" 2>/dev/null); then
        path=$path:$(dirname "$python")
    fi
done

cd "$copy"
HOME=$home PATH=$path:/usr/sbin:/usr/bin:/sbin:/bin exec ansible-test sanity --color no "$@"
