# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._pci.nvidia_ids import architecture


@pytest.mark.parametrize("device, name", [
    ("1b06", "pascal"), ("1d10", "pascal"), ("15f8", "pascal"),                 # 1080 Ti, MX150, P100
    ("17c2", "maxwell"), ("13f2", "maxwell"),                                   # TITAN X, M60
    ("1db4", "volta"),                                                          # V100
    ("1eb8", "turing"), ("2182", "turing"),                                     # T4, 1660 Ti
    ("20b0", "ampere"), ("2204", "ampere"), ("2236", "ampere"), ("2684", "ada"), ("26b9", "ada"),
    ("2331", "hopper"), ("2335", "hopper"), ("2342", "hopper"),                 # H100, H200, GH200
    ("2901", "blackwell"), ("2941", "blackwell"), ("3182", "blackwell"),        # B200, GB200, B300
    ("2b85", "blackwell"), ("2bb1", "blackwell"), ("2bb4", "blackwell"), ("2bb5", "blackwell"), ("2d04", "blackwell"),
])
def test_architectures(device, name):
    assert architecture(device) == name


@pytest.mark.parametrize("device", ["22a3", "1af1", "0fba", "22e8", "ffff", "0000", None])
def test_switches_audio_and_unknown_ids_have_none(device):
    assert architecture(device) is None
