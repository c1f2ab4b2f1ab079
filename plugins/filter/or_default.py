# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ..plugin_utils._ansible import survey
from ..plugin_utils._ansible.untag import untag


def or_default(value: Any, default: Any) -> Any:
    """The value of a variable, or the default if a survey left it empty."""
    return survey.or_default(untag(value), untag(default))


class FilterModule:
    def filters(self) -> dict[str, Any]:
        return {"or_default": or_default}
