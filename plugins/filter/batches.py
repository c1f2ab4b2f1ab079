# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleFilterError

from ..plugin_utils._ansible.untag import untag
from ..plugin_utils._rollout.batches import sizes


def batches(asked: Any, hosts: int) -> list[int]:
    """Batch sizes for `serial`, none above 25."""
    try:
        return sizes(untag(asked), int(hosts))
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"batches": batches}
