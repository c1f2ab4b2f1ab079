# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel command line asks of PCI; what on it has no effect stands in test_derive_boot.py."""
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.plugin_utils._derive.cmdline import pci_options


@pytest.mark.parametrize("given, options", [
    ([], []), ([("quiet", None), ("pci", None)], []), ([("pci", "realloc")], ["realloc"]),
    ([("pci", "realloc=off,pcie_bus_perf"), ("pcie_aspm", "off"), ("pci", "noaer")],
     ["realloc=off", "pcie_bus_perf", "noaer"]),
])
def test_options_of_all_pci_parameters(given, options):
    assert pci_options({"parameters": [{"name": name, "value": value} for name, value in given]}) == options
