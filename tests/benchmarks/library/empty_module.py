# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible.module_utils.basic import AnsibleModule


def main():
    AnsibleModule(argument_spec={"sysroot": {"type": "path"}}, supports_check_mode=True).exit_json(changed=False)


if __name__ == "__main__":
    main()
