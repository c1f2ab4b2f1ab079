# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Search a bug report with regular expressions only, without any code of the collection.

The import is compared with the result, so the search uses different sources where possible: the text of lspci -vvv
instead of the hex dump that the import reads, and the plain lines of dmesg and the journal.
"""
from __future__ import annotations

import gzip
import pathlib
import re
from typing import Any

RULE = "_" * 44
_GPU_CLASSES = re.compile(r"^((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?:VGA compatible controller|"
                          r"3D controller|Display controller) \[03[0-9a-f]{2}\]: .*\[10de:([0-9a-f]{4})\]",
                          re.MULTILINE)
_NVRM = re.compile(r"^NVRM version: .*?Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?)", re.MULTILINE)
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?[0-9a-fA-F:.]+[^)]*\): (\d+)")
_LINK = re.compile(r"Speed (\d+(?:\.\d)?)GT/s.*?Width x(\d+)")


def read_text(path: pathlib.Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8", "replace")


def search(text: str) -> dict[str, Any]:
    """`{gpus: {address: {device, speed, width, max_speed, max_width, mrrs, mps}}, driver, kernel, cmdline, xids}`."""
    blocks = text.split(f"\n{RULE}\n")
    listing = next((block for block in blocks if re.match(r"\s*\S*lspci -nn\n", block)), "")
    models, most = _models(text), _device_max(text)
    details = "\n".join(block for block in blocks if re.match(r"\s*\S*lspci -(?:nnD|d)", block))
    gpus = {}
    for address, device in _GPU_CLASSES.findall(listing):
        full = address if address.count(":") == 2 else f"0000:{address}"
        gpus[full] = {"device": device, **_registers(details, address, full),
                      **{name: found[full] for name, found in (("model", models), ("device_max", most))
                         if full in found}}
    uname = re.search(r"^uname: Linux \S+ (\S+)", text, re.MULTILINE)
    cmdline = re.search(r"^\*\*\* /proc/cmdline\n\*\*\* ls: .*\n(.*)$", text, re.MULTILINE)
    driver = _NVRM.search(text)
    return {"gpus": gpus, "driver": driver and driver[1], "kernel": uname and uname[1],
            "cmdline": cmdline and cmdline[1].strip(), "xids": _xids(blocks)}


def _models(text: str) -> dict[str, str]:
    """Models by address, from /proc/driver/nvidia/gpus."""
    found = re.findall(r"^\*\*\* ls: .*/gpus/([0-9a-f:.]+)/information\nModel:\s+(.*)$", text, re.MULTILINE)
    return {bdf: model.strip() for bdf, model in found}


def _device_max(text: str) -> dict[str, int]:
    """The PCIe generation that nvidia-smi reports as `Device Max`, by address."""
    parts = re.split(r"^GPU ([0-9A-Fa-f:.]+)$", text, flags=re.MULTILINE)
    found = {}
    for name, part in zip(parts[1::2], parts[2::2]):
        most = re.search(r"^ +Device Max +: (\d)$", part[:6000], re.MULTILINE)
        if most:
            found[name.lower()[-12:]] = int(most[1])
    return found


def _xids(blocks: list[str]) -> list[int]:
    """Xids of this boot: from dmesg, or from the journal if it has more because the ring buffer wrapped."""
    dmesg = next((block for block in blocks if re.match(r"\s*dmesg:", block)), "")
    scanned = next((block for block in blocks if re.match(r"\s*Scanning kernel log files", block)), "")
    journal = re.search(r"^  journalctl -b -?0:\n(.*?)(?=^  journalctl|\Z)", scanned, re.MULTILINE | re.DOTALL)
    ring = [int(number) for number in _XID.findall(dmesg)]
    kept = [int(number) for line in (journal[1] if journal else "").splitlines() if " kernel: " in line
            for number in _XID.findall(line)]
    return ring if re.search(r"\] Linux version ", dmesg) else max(ring, kept, key=len)


def _registers(details: str, address: str, full: str) -> dict[str, Any]:
    start = next((found for name in (full, address) if (found := re.search(
        rf"^{re.escape(name)} .*$", details, re.MULTILINE))), None)
    if start is None:
        return {}
    body = re.split(r"\n\s*\n", details[start.start():], maxsplit=1)[0]
    return _of_text(body) or _of_hex(body)


def _of_text(body: str) -> dict[str, Any]:
    """Device, link and sizes from the text of lspci -vvv."""
    control = re.search(r"MaxPayload (\d+) bytes, MaxReadReq (\d+) bytes", body)
    state = re.search(r"LnkSta:\s*(.*)", body)
    most = re.search(r"LnkCap:\s*(.*)", body)
    now, best = _LINK.search(state[1]) if state else None, _LINK.search(most[1]) if most else None
    if not (control and now and best):
        return {}
    return {"mps": int(control[1]), "mrrs": int(control[2]), "speed": float(now[1]), "width": int(now[2]),
            "max_speed": float(best[1]), "max_width": int(best[2])}


def _of_hex(body: str) -> dict[str, Any]:
    """The same from lspci -v -xxx: the capability with id 10, at the offset that the text names."""
    rows = re.findall(r"^([0-9a-f]{2}): ((?:[0-9a-f]{2} ?){16})$", body, re.MULTILINE)
    data = bytes.fromhex("".join(row for _at, row in rows))
    place = re.search(r"Capabilities: \[([0-9a-f]{2})\] Express", body)
    if place is None or len(data) < 256 or data[:4] == b"\xff\xff\xff\xff":
        return {"gone": data[:4] == b"\xff\xff\xff\xff"} if data else {}
    at = int(place[1], 16)
    control, cap, now = (int.from_bytes(data[at + offset:at + offset + 2], "little") for offset in (8, 12, 18))
    speeds = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0}
    return {"mps": 128 << (control >> 5 & 7), "mrrs": 128 << (control >> 12 & 7),
            "speed": speeds.get(now & 15), "width": now >> 4 & 63,
            "max_speed": speeds.get(cap & 15), "max_width": cap >> 4 & 63}


def differences(found: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    """Text lines describing where the imported facts differ from the search."""
    wrong = []
    nvidia = facts["nvidia"]
    most = {gpu["bdf"]: gpu["device_max_gen"] for gpu in nvidia["smi"].get("gpus", [])}
    pairs = {
        "driver": (found["driver"], nvidia["driver_version"]["value"]),
        "kernel": (found["kernel"], facts["kernel"]["release"]["value"]),
        "cmdline": (found["cmdline"], facts["kernel"]["cmdline"]["value"]),
        "xids": (sorted(found["xids"]), sorted(xid["xid"] for xid in nvidia["xids"]["value"] or [])),
        "gpus": (sorted(found["gpus"]), sorted(gpu["bdf"] for gpu in facts["gpus"] if gpu["vendor"] == "10de")),
    }
    wrong += [f"{name}: {here!r} and not {there!r}" for name, (here, there) in pairs.items() if here != there]
    for gpu in facts["gpus"]:
        wanted = found["gpus"].get(gpu["bdf"])
        if wanted:
            told = {**_told(gpu), "model": gpu["model"], "device_max": most.get(gpu["bdf"])}
            wrong += [f"{gpu['bdf']} {name}: {wanted[name]!r} and not {value!r}"
                      for name, value in told.items() if name in wanted and wanted[name] != value]
    return wrong


def _told(gpu: dict[str, Any]) -> dict[str, Any]:
    if gpu["state"] in ("gone", "asleep"):
        return {"device": gpu["device"], "gone": gpu["state"] == "gone"}
    express = gpu["pcie"]["value"] or {}
    link = express.get("link") or {}
    return {"device": gpu["device"], "mps": express.get("max_payload"), "mrrs": express.get("max_read_request"),
            "speed": link.get("speed_gts"), "width": link.get("width"), "max_speed": link.get("max_speed_gts"),
            "max_width": link.get("max_width")}
