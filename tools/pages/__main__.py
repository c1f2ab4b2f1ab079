# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m pages` writes the pages of docs/checks and docs/reference; with --check it only compares them."""
from __future__ import annotations

import pathlib
import sys

from ansible_collections.gpuhost.tuning.plugins.plugin_utils._checks.catalogue import (
    load_profile,
    profile_names,
    shipped,
)

from .index import index_page
from .page import check_page
from .reference import reference_pages

HOW = "write them anew with: make check-pages"


def pages() -> dict[str, str]:
    """The text of every page by file name."""
    checks = shipped()
    profiles = [load_profile(name, checks) for name in ("inference", *(set(profile_names()) - {"inference"}))]
    profiles[1:] = sorted(profiles[1:], key=lambda profile: profile.name)
    made = {f"{check.id}.md": check_page(check, profiles) for check in checks}
    return {**made, "README.md": index_page(checks, profiles)}


def differences(folder: pathlib.Path, wanted: dict[str, str]) -> list[str]:
    """Names of pages that are missing, differ, or are obsolete."""
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return sorted(name for name in there.keys() | wanted.keys() if there.get(name) != wanted.get(name))


def write(folder: pathlib.Path, wanted: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in differences(folder, wanted):
        if name in wanted:
            (folder / name).write_text(wanted[name], encoding="utf-8")
        else:
            (folder / name).unlink()


def main(arguments: list[str]) -> str | None:
    """Write or compare the pages; returns an error message, or None on success."""
    docs = pathlib.Path(__file__).parents[2] / "docs"
    made = {"checks": pages(), "reference": reference_pages()}
    if arguments != ["--check"]:
        for folder, wanted in made.items():
            write(docs / folder, wanted)
        return None
    stale = {folder: differences(docs / folder, wanted) for folder, wanted in made.items()}
    named = "; ".join(f"docs/{folder}: {', '.join(names)}" for folder, names in stale.items() if names)
    return f"not as the catalogue and the documentation have it: {named}; {HOW}" if named else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
