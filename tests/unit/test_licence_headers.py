# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every file that can hold a comment says who may use it and how."""
from __future__ import annotations

import pathlib

from checkout import REPOSITORY, files

# REUSE-IgnoreStart
HEADER = [
    "Copyright (c) 2026, gpuhost.tuning contributors",
    "GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)",
    "SPDX-License-Identifier: GPL-3.0-or-later",
]
# Code for the kernel is under a licence that the kernel takes, named as the kernel's own files do it.
KERNEL_CODE = "tests/vm/modules/"
KERNEL_HEADER = ["SPDX-License-Identifier: GPL-2.0-or-later", "Copyright (c) 2026, gpuhost.tuning contributors"]
# REUSE-IgnoreEnd
PRIVATE = "Private to this collection: it may change at any time."

# No comments there, or prose whose licence is that of the collection as a whole, or written by a tool.
WITHOUT = {".json", ".md", ".rst", ".gitignore", ".png"}
WITHOUT_NAMES = {"LICENSE", "LICENSES/GPL-2.0-or-later.txt", "LICENSES/GPL-3.0-or-later.txt",
                 "changelogs/changelog.yaml", "CHANGELOG.rst"}


def needs_header(name: str) -> bool:
    path = pathlib.Path(name)
    return not (path.suffix in WITHOUT or path.name in WITHOUT or name in WITHOUT_NAMES)


def head(name: str) -> list[str]:
    """The comment lines at the top, without their signs."""
    lines = (REPOSITORY / name).read_text(encoding="utf-8").splitlines()[:8]
    return [line.removeprefix("<!-- ").lstrip("#/*;. ").rstrip("/* ") for line in lines]


def test_git_lists_the_files_of_this_checkout():
    assert {"galaxy.yml", "plugins/module_utils/_host/host.py", "Makefile"} <= set(files())


def has_header(name: str) -> bool:
    lines = head(name)
    start = 1 if lines[0].startswith(("!", "---")) else 0
    header = KERNEL_HEADER if name.startswith(KERNEL_CODE) else HEADER
    return lines[start:start + len(header)] == header


def test_every_file_has_its_licence_header():
    named = [name for name in files() if needs_header(name)]
    assert len(named) > 500
    assert [name for name in named if not has_header(name)] == []


def test_shared_code_says_that_it_is_private():
    shared = [name for name in files("plugins/module_utils", "plugins/plugin_utils") if name.endswith(".py")]
    assert len(shared) > 200
    assert [name for name in shared if not pathlib.PurePath(name).parts[2].startswith("_")] == []
    assert [name for name in shared if head(name)[3] != PRIVATE] == []
