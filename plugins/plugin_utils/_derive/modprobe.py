# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""modprobe.d compared with the running modules: options not in effect, and blacklisted modules that are loaded."""
from __future__ import annotations

import re
from typing import Any

from .paths.peer_ability import registry_keys
from .reading import value

_OPTION = re.compile(r'(\w+)=((?:[^\s"]|"[^"]*")*)')
_NUMBER = re.compile(r"-?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)", re.ASCII)
_TRUTH = {"y": "1", "n": "0"}       # param_set_bool(), kernel/params.c
_PREFIX = "NVreg_"
# nv-reg.h: the only parameter that /proc/driver/nvidia/params prints under another name.
_PRINTED_AS = {"RestrictProfilingToAdminUsers": "RmProfilingAdminOnly"}
_NOTHING = re.compile(r"(/usr)?/s?bin/(false|true)\b.*|:")
_COMMAND_LINE = "the kernel command line"
# Keys that override the driver's own detection of transfers between GPUs (nvrm_registry.h).
_P2P_KEYS = ("ForceP2P", "RMForceP2PType", "RMPcieP2PType", "RMForceStaticBar1", "PeerMappingOverride")


def modprobe(facts: dict[str, Any]) -> dict[str, Any]:
    """`derived.modprobe`: the number of options, those not in effect, blacklisted modules that are loaded anyway, and a
    sentence if nvidia itself is blacklisted; sentences name file and time."""
    nvidia = facts["nvidia"]
    lines = [*(value(nvidia["modprobe"]) or []), *_of_command_line(facts["kernel"]["parameters"])]
    wanted = {(line["module"], name): (text, line) for line in lines if line["keyword"] == "options"
              for name, text in _OPTION.findall(line["text"])}
    initramfs = value(nvidia["initramfs"])
    states = {module["name"]: module["state"] for module in nvidia["modules"]}
    barred = {line["module"]: line for line in lines if _bars(line)}
    return {
        "options": len(wanted),
        "not_live": [message for (module, name), (text, line) in wanted.items()
                     if (message := _not_live(module, name, text, line, nvidia, initramfs))],
        "barred": [f"{module} is loaded although {_place(line)} blocks it{_because(line, initramfs)}"
                   for module, line in barred.items() if module == "nouveau" and states.get(module) == "live"],
        "barred_modules": sorted(barred),
        "nvidia_barred": f"{_place(barred['nvidia'])} blocks it." if "nvidia" in barred else None,
        "registry": _registry(nvidia),
    }


def _of_command_line(parameters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The options on the kernel command line: modprobe reads module.option= and modprobe.blacklist= after its files."""
    found = []
    for entry in parameters:
        module, dot, option = entry["name"].partition(".")
        line = {"path": _COMMAND_LINE, "modified": None}
        if entry["name"] in ("modprobe.blacklist", "module_blacklist"):
            found += [{**line, "keyword": "blacklist", "module": name.replace("-", "_"), "text": ""}
                      for name in (entry["value"] or "").split(",")]
        elif dot and module.replace("-", "_").startswith("nvidia"):
            found.append({**line, "keyword": "options", "module": module.replace("-", "_"),
                          "text": f"{option}={entry['value'] or ''}"})
    return found


def _bars(line: dict[str, Any]) -> bool:
    return line["keyword"] == "blacklist" or (line["keyword"] == "install" and bool(_NOTHING.fullmatch(line["text"])))


def _place(line: dict[str, Any]) -> str:
    return line["path"] + (f" ({line['modified']})" if line["modified"] else "")


def _because(line: dict[str, Any], initramfs: dict[str, Any] | None) -> str:
    """The reason by comparing the times of file and initramfs, which are ISO 8601 in UTC and sort as text."""
    if initramfs is None or line["modified"] is None:
        return ""
    made = f"{initramfs['path']} ({initramfs['modified']})"
    if initramfs["modified"] < line["modified"]:
        return f": {made} is older and does not include it"
    return f": {made} is newer, so a reboot is pending, or something loads it by name"


def _not_live(module: str, name: str, wanted: str, line: dict[str, Any], nvidia: dict[str, Any],
              initramfs: dict[str, Any] | None) -> str | None:
    """The sentence for an option that differs from the running value; None if they agree or it is not known."""
    runs = _running(module, name, nvidia)
    if runs is None or _plain(runs) == _plain(wanted):
        return None
    return (f"{module} runs with {name}={runs or 'nothing'}, {_place(line)} says {wanted or 'nothing'}"
            f"{_because(line, initramfs)}")


def _running(module: str, name: str, nvidia: dict[str, Any]) -> str | None:
    if module == "nvidia":
        printed = name.removeprefix(_PREFIX)
        names = {one["name"]: one["value"] for one in value(nvidia["parameters"]) or []}
        return names.get(_PRINTED_AS.get(printed, printed)) if name.startswith(_PREFIX) else None
    return next((value(one["value"]) for one in nvidia["module_parameters"]
                 if (one["module"], one["name"]) == (module, name)), None)


def _plain(text: str) -> str:
    """`438` for `0666` and `0x1b6`, `1` for `Y`; the kernel accepts numbers in C notation (kstrtouint(), base 0)."""
    text = text.strip().replace('"', "")
    if not _NUMBER.fullmatch(text):
        return _TRUTH.get(text.lower(), text)
    digits = text.lstrip("-")
    base = 16 if digits[:2].lower() == "0x" else 8 if digits.startswith("0") and digits != "0" else 10
    return str((int(digits, base) * (-1 if text.startswith("-") else 1)) & 0xFFFFFFFF)


def _registry(nvidia: dict[str, Any]) -> list[str]:
    """What is wrong with the running RegistryDwords, `Key=1;Other=0x2`; the driver ignores unknown ones."""
    names = {one["name"] for one in value(nvidia["parameters"]) or []}
    keys = registry_keys(nvidia["parameters"])
    message = [f"{key} is a module parameter, not a registry key, so it has no effect here: use {_PREFIX}{key}"
               for key in keys if key in names]
    return message + [f"{key}={text} overrides the driver's detection of peer-to-peer support"
                      for key, text in keys.items() if key in _P2P_KEYS]
