# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.gpuhost.tuning.plugins.filter.batches import FilterModule

batches = FilterModule().filters()["batches"]


def test_sizes_for_serial():
    assert batches([1, "10%"], 400) == [1, 25]


def test_a_mistake_is_an_error_of_the_filter():
    with pytest.raises(AnsibleFilterError, match="gpuhost_serial"):
        batches(0, 4)
