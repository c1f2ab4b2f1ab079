# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.gpuhost.tuning.plugins.module_utils._system.firmware import read

from hosts.kernel import plant_firmware


def test_server(tree, host):
    plant_firmware(tree, system_vendor="ASUSTeK COMPUTER INC.", product_name="ESC8000A-E13P ",
                   board_name="K15PG-D24 Series", bios_vendor="American Megatrends Inc.", bios_version="1302",
                   bios_date="09/18/2025")
    assert {name: reading.value for name, reading in read(host).items()} == {
        "system_vendor": "ASUSTeK COMPUTER INC.", "product_name": "ESC8000A-E13P", "board_name": "K15PG-D24 Series",
        "bios_vendor": "American Megatrends Inc.", "bios_version": "1302", "bios_date": "09/18/2025"}


def test_machine_without_tables(host):
    assert {reading.status for reading in read(host).values()} == {"absent"}
