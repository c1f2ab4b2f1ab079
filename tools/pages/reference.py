# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/reference: every variable and every part of the collection, from argument specs and plugin documentation."""
from __future__ import annotations

import ast
import pathlib
import re
from typing import Any

import yaml
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._render.text import code, table

REPOSITORY = pathlib.Path(__file__).parents[2]
# Variables of playbooks, such as batches and the choice of hosts, which no role has.
OF_PLAYBOOKS = pathlib.Path(__file__).with_name("shared_variables.yml")
_MARKUP = re.compile(r"\b([CVOIBPM])\(([^)]*)\)")


def reference_pages() -> dict[str, str]:
    """The text of each page by file name."""
    return {"variables.md": _variables_page(), "parts.md": _parts_page()}


def variables() -> dict[str, dict[str, Any]]:
    """`{gpuhost_name: {description, default, type, roles}}` of all variables shared by roles and playbooks."""
    found: dict[str, dict[str, Any]] = {name: {**known, "roles": known["playbooks"]}
                                        for name, known in _yaml(OF_PLAYBOOKS).items()}
    for role in _roles():
        options = _options(role)
        for option, shared in _shared_names(role).items():
            entry = found.setdefault(shared, {**options[option], "roles": []})
            entry["roles"] = [*entry["roles"], role]
    return dict(sorted(found.items()))


def parts() -> list[tuple[str, str, str]]:
    """`(kind, name, what it does)` of playbooks, roles and plugins."""
    found = [("playbook", path.stem, _first_comment(path)) for path in sorted(REPOSITORY.glob("playbooks/*.yml"))]
    found += [("role", role, _specs(role)["main"]["short_description"]) for role in _roles()]
    for kind, folder in (("module", "modules"), ("filter", "filter"), ("lookup", "lookup"), ("callback", "callback")):
        for path in sorted((REPOSITORY / "plugins" / folder).iterdir()):
            document = _documentation(path)
            if document:
                found.append((kind, path.stem, document["short_description"]))
    return found


def _variables_page() -> str:
    rows = [(code(name), _default(entry), plain(entry["description"]), ", ".join(entry["roles"]))
            for name, entry in variables().items()]
    return "\n".join([
        "# Variables", "",
        "The same for all playbooks; give them with `-e`, in the inventory or in group_vars. A misspelt name, a value "
        "of the wrong type and one that refers to something undefined fail the host before anything is changed; any "
        "other unknown name that begins with `gpuhost_` is warned of. In a playbook of your own each role also takes "
        "its options under its own name: `audit_fail_on` counts before `gpuhost_fail_on`.", "",
        "This page is made from the argument specs of the roles (`make check-pages`).", "",
        *table(("variable", "default", "meaning", "used by"), rows), ""])


def _parts_page() -> str:
    rows = [(kind, code(f"gpuhost.tuning.{name}"), plain(text)) for kind, name, text in parts()]
    return "\n".join([
        "# Playbooks, roles and plugins", "",
        "`ansible-doc gpuhost.tuning.host_info` shows a module's options and results, `ansible-doc -t role "
        "gpuhost.tuning.audit` those of a role. This page is made from their documentation (`make check-pages`).", "",
        *table(("part", "name", "what it does"), rows), ""])


def plain(text: Any) -> str:
    """Convert Ansible's markup to Markdown on one line."""
    joined = " ".join(text) if isinstance(text, list) else str(text)
    return " ".join(_MARKUP.sub(lambda found: code(found[2]), joined).split())


def _default(entry: dict[str, Any]) -> str:
    default = entry.get("default")
    if default is None or default == "":
        return "none"
    return code(str(default).lower() if isinstance(default, bool) else str(default))


def _roles() -> list[str]:
    return sorted(path.parts[-3] for path in REPOSITORY.glob("roles/*/meta/argument_specs.yml"))


def _specs(role: str) -> dict[str, Any]:
    return _yaml(REPOSITORY / "roles" / role / "meta" / "argument_specs.yml")["argument_specs"]


def _options(role: str) -> dict[str, Any]:
    return {name: option for entry in _specs(role).values() for name, option in entry.get("options", {}).items()}


def _shared_names(role: str) -> dict[str, str]:
    """`{option of the role: variable shared by all roles}`."""
    defaults = REPOSITORY / "roles" / role / "defaults" / "main.yml"
    if defaults.exists():
        found = {option: re.findall(r"gpuhost_\w+", str(text)) for option, text in _yaml(defaults).items()}
        return {option: names[0] for option, names in found.items() if names}
    (block, *_rest) = _yaml(REPOSITORY / "roles" / role / "tasks" / "main.yml")
    handed = block["block"][0]["gpuhost.tuning.audit"]["variables"]
    return dict(handed.values())


def _first_comment(path: pathlib.Path) -> str:
    """The first comment of a playbook after the licence; it says what the playbook does."""
    lines = path.read_text(encoding="utf-8").splitlines()[4:]
    start = next(number for number, line in enumerate(lines) if line.startswith("# "))
    end = next((number for number, line in enumerate(lines) if number > start and not line.startswith("# ")), start + 1)
    return " ".join(line[2:] for line in lines[start:end])


def _documentation(path: pathlib.Path) -> dict[str, Any] | None:
    if path.suffix == ".yml":
        return _yaml(path)["DOCUMENTATION"]
    if path.suffix != ".py":
        return None
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DOCUMENTATION":
            return yaml.safe_load(ast.literal_eval(node.value))
    return None


def _yaml(path: pathlib.Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))
