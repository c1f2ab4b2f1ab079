# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs in the catalogue's instructions have the options that are printed, according to their manuals."""
from __future__ import annotations

import pytest
import yaml

from checkout import REPOSITORY
from program_options import PROGRAMS, unknown_options, unknown_programs

CHECKS = [check for path in sorted(REPOSITORY.glob("plugins/plugin_utils/catalogue/checks/*.yml"))
          for check in yaml.safe_load(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("text, found", [
    ("qm set 200 --affinity 0-31, then stop and start the VM", []),
    ("qm set 200 --hostpci0 0000:01:00", []),
    ("qm set 200 --afinity 0-31", ["qm: --afinity"]),
    ("qm set 200 --cpu host --balloon 0 --hugepages 1024 --numa 1 --numa0 cpus=0-31 --digest abc", []),
    ("docker update --cpuset-cpus 0-31 vllm", []),
    ("docker update --cpu-set 0-31 vllm", ["docker: --cpu-set"]),
    ("pct set 101 -delete dev0", ["pct: -delete"]),
    ("pct set 101 -dev0 /dev/nvidia0,mode=0666 -dev1 /dev/nvidia1", []),
    ("Use nvidia-smi -i 0 -pl 500. Then nvidia-smi --reset", ["nvidia-smi: --reset"]),
    ("nvidia-smi nvlink --status -i 0 shows which ones", []),
    ("update-initramfs -u -k all, then proxmox-boot-tool refresh", []),
    ("update-initramfs --update", ["update-initramfs: --update"]),
    ("systemctl --now enable x", ["systemctl: --now before a subcommand", "systemctl: --now"]),
    ("a file in /etc/modprobe.d -x", []),
    ("journalctl -k -b | grep -z NVRM", ["grep: -z"]),
])
def test_options_are_compared_with_the_manual(text, found):
    assert unknown_options(text) == found


def test_programs_of_a_script():
    assert unknown_programs('for n in 1 2; do echo 1 > "/sys/$n/x"; done\nfrobnicate -x\n') == ["frobnicate"]


@pytest.mark.parametrize("check", CHECKS, ids=[check["id"] for check in CHECKS])
def test_instructions_use_documented_options(check):
    texts = [check["fix"].get(key) or "" for key in ("how", "undo", "persist", "risk")]
    assert [one for text in texts for one in unknown_options(text)] == []


def test_every_manual_has_a_version():
    assert [name for name, program in PROGRAMS.items() if not any(sign.isdigit() for sign in program["manual"])] == []
