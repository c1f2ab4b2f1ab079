# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pages tell a reader to type or to open is there."""
from __future__ import annotations

import pathlib
import re
import shlex

import pytest
import yaml
from ansible_collections.gpuhost.tuning.plugins.action import audit
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._ansible.variables import FORMER, KNOWN, PREFIX

from checkout import REPOSITORY, files

PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("roles/*/README.md")])
# Pages that other programs write or keep.
PAGES = [page for page in PAGES if "plugins" not in page.relative_to(REPOSITORY).parts]


def name_of(page: pathlib.Path) -> str:
    return str(page.relative_to(REPOSITORY))


def commands(page: pathlib.Path) -> list[str]:
    """The lines of the page's shell blocks, comments dropped, and what stands in `backticks` and begins with make."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [re.split(r"\s#\s", line)[0].strip() for block in blocks
             for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line] + re.findall(r"`(make [^`]*)`", text)


def targets() -> set[str]:
    text = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):.*## ", text, re.MULTILINE))


def test_make_targets_exist():
    known = targets() | {"TARGET"}
    called = [(name_of(page), words[1]) for page in PAGES for words in map(shlex.split, commands(page))
              if words[:1] == ["make"] and len(words) > 1]
    assert len(called) > 20
    assert [(page, target) for page, target in called if target not in known] == []


def test_playbooks_exist():
    there = {path.stem for path in REPOSITORY.glob("playbooks/*.yml")}
    named = [(name_of(page), name) for page in PAGES for name in re.findall(
        r"\b(?:playbooks/(?=\w+\.yml)|ansible-playbook gpuhost\.tuning\.)(\w+)", page.read_text(encoding="utf-8"))]
    assert len(named) > 20
    assert [(page, name) for page, name in named if name not in there] == []


INLINE = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
OWN = re.compile(r"https://(?:github\.com/gpuhost/tuning/(?:blob|tree)|raw\.githubusercontent\.com/gpuhost/tuning)/main/")


def test_links_lead_somewhere():
    links = [(page, link) for page in PAGES for link in INLINE.findall(page.read_text(encoding="utf-8"))
             if "://" not in link]
    assert len(links) > 100
    assert [(name_of(page), link) for page, link in links if not (page.parent / link).exists()] == []


def test_readme_links_are_absolute_and_lead_somewhere():
    """Galaxy shows this page without its neighbours."""
    links = INLINE.findall((REPOSITORY / "README.md").read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link] == []
    own = [OWN.sub("", link) for link in links if OWN.match(link)]
    assert len(own) > 10
    assert [link for link in own if not (REPOSITORY / link).exists()] == []


@pytest.mark.parametrize("section", ["Requirements", "Tested with", "Communication", "Contributing", "Release notes",
                                     "License"])
def test_readme_has_the_sections_that_reviewers_ask_for(section):
    assert f"\n## {section}\n" in (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_readme_begins_with_audit_and_test():
    lines = [line for line in commands(REPOSITORY / "README.md") if not line.startswith("git clone")]
    assert lines[:2] == ["make audit", "make test"]


def test_every_target_is_listed_with_one_line():
    text = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    phony = set(re.search(r"^\.PHONY:((?:[^\\\n]|\\\n)*)", text, re.MULTILINE)[1].replace("\\", "").split())
    assert phony - targets() == {"run-environment", "test-environment", "dev-environment", "bench-environment", "link"}


def shared_variables() -> set[str]:
    """The gpuhost_ variables that roles and playbooks use, in templates, in conditions and by their names, and those
    that the frame around every task reads."""
    files = [*REPOSITORY.glob("roles/*/defaults/main.yml"), REPOSITORY / "roles/audit/tasks/main.yml",
             *REPOSITORY.glob("playbooks/*.yml"), REPOSITORY / "plugins/plugin_utils/_action/guarded.py"]
    used = re.compile(r"(?:{{[^}]*\b|when: |\[\w+, |_variable\(\")(gpuhost_\w+)")
    return {name for file in files for name in used.findall(file.read_text(encoding="utf-8"))}


def test_the_reference_lists_the_variables_that_exist():
    text = (REPOSITORY / "docs" / "reference" / "variables.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(gpuhost_\w+)` \|", text, re.MULTILINE)
    assert listed == sorted({PREFIX + word for word in KNOWN})
    assert shared_variables() - {PREFIX + word for word in FORMER} <= set(listed)


def test_the_reference_lists_the_parts_that_exist():
    text = (REPOSITORY / "docs" / "reference" / "parts.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| (\w+) \| `gpuhost\.tuning\.(\w+)` \|", text, re.MULTILINE))
    folders = {"module": "plugins/modules", "filter": "plugins/filter", "lookup": "plugins/lookup",
               "callback": "plugins/callback", "playbook": "playbooks"}
    there = {(kind, pathlib.Path(name).stem) for kind, folder in folders.items() for name in files(folder, new=False)
             if not name.endswith(".cfg")}
    assert listed == there | {("role", name.split("/")[1]) for name in files("roles", new=False)}


def test_readme_is_read_in_five_minutes():
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    assert len(re.sub(r"\]\([^)]*\)", "]", prose).split()) <= 900


def role_options(role):
    arguments = yaml.safe_load((REPOSITORY / "roles" / role / "meta" / "argument_specs.yml").read_text("utf-8"))
    return {name: option for entry in arguments["argument_specs"].values()
            for name, option in entry.get("options", {}).items()}


@pytest.mark.parametrize("role", sorted(path.parts[-3] for path in REPOSITORY.glob("roles/*/defaults/main.yml")))
def test_role_defaults_are_its_arguments(role):
    defaults = yaml.safe_load((REPOSITORY / "roles" / role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    options = role_options(role)
    assert set(defaults) == set(options)
    assert all(name.startswith(f"{role}_") for name in options)


def test_the_audit_role_has_the_options_of_its_task():
    """It has no defaults of its own: those of the module hold."""
    (block, *_rest) = yaml.safe_load((REPOSITORY / "roles" / "audit" / "tasks" / "main.yml").read_text("utf-8"))
    handed = block["block"][0]["gpuhost.tuning.audit"]["variables"]
    assert handed == {option: [f"audit_{option}", f"gpuhost_{option}"] for option in handed}
    options = role_options("audit")
    assert set(options) == {names[0] for names in handed.values()}
    assert {name: option["default"] for name, option in options.items()} == {
        f"audit_{option}": audit.ARGUMENTS[option]["default"] for option in handed}
