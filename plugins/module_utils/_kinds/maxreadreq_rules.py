# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Private to this collection: it may change at any time.
"""Devices whose config space may be written: a GPU that the host itself uses, awake and idle."""
from __future__ import annotations

import errno
import re
from functools import cached_property

from .._change.hung_gpus import read_marks, reason_to_leave
from .._change.text_file import write_obstacle
from .._change.tunable import Refused, expected_error
from .._host.host import Host
from .._host.reading import ABSENT, PASSED_THROUGH, Reading
from .._kernel.bracketed import chosen
from .._kernel.device_users import nodes_of_gpu, read_users, users_of
from .._nvidia.driver import read_gpus
from .._nvidia.libraries import read_mismatch
from .._nvidia.startup import Startup
from .._pci.address import DEVICES, list_addresses
from .._pci.holders import is_held_for_others, why_not_driven
from .._pci.sysfs import read_driver, read_id
from .._pve import guests as pve_guests
from .._pve import lxc

WRITABLE_CLASSES = ("03", "1200")       # display controllers, processing accelerators
LOCKDOWN = "/sys/kernel/security/lockdown"

_GPU_NODE = re.compile(r"/dev/nvidia\d+")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class Surroundings:
    """Guests and processes that may use a GPU, each read once. `allow_busy` accepts a GPU in use."""

    def __init__(self, host: Host, allow_busy: bool = False) -> None:
        self.host = host
        self.allow_busy = allow_busy

    def again(self) -> Surroundings:
        """A copy that reads everything again except which GPUs are usable: that only changes when the driver opens a
        GPU, and running nvidia-smi for each write could take minutes."""
        fresh = Surroundings(self.host, self.allow_busy)
        fresh.startup = self.startup
        return fresh

    @cached_property
    def guests(self) -> dict:
        return pve_guests.read(self.host)

    @cached_property
    def hung(self) -> Reading:
        return read_marks(self.host)

    @cached_property
    def mismatch(self) -> str | None:
        return read_mismatch(self.host)

    @cached_property
    def startup(self) -> Startup:
        return Startup(self.host)

    @cached_property
    def _users(self) -> Reading:
        return read_users(self.host)

    @cached_property
    def _minors(self) -> dict[str, int | None]:
        return {gpu["bdf"]: gpu["minor"] for gpu in read_gpus(self.host).value or []}

    def _nodes(self, bdf: str) -> list[str]:
        minor = self._minors.get(bdf)
        if minor is None and read_driver(self.host, bdf) == "nvidia":
            # Its device node is unknown: any open GPU node may be its own.
            return [node for user in self._users.value or [] for node in user["nodes"] if _GPU_NODE.fullmatch(node)]
        return nodes_of_gpu(self.host, bdf, minor)

    def users(self, bdf: str) -> Reading:
        return users_of(self._users, self._nodes(bdf))

    def containers(self, bdf: str) -> list[str]:
        return lxc.containers_given(self.guests, self._nodes(bdf))

    def describe_sharing(self, bdf: str) -> str | None:
        """Which containers have this GPU, and which processes use it now."""
        containers = self.containers(bdf)
        message = [f"containers {', '.join(containers)} have this GPU"] if containers else []
        users = self.users(bdf).value
        return "; ".join([*message, *([f"in use by {describe_users(users)}"] if users else [])]) or None


def require_allowed(host: Host, bdf: str, around: Surroundings) -> None:
    """Raises Refused with the reason if the device's config space must not be written."""
    _require_gpu(host, bdf)
    _require_ours(host, bdf, around)
    _require_started(host, bdf, around)
    _require_not_hung(bdf, around)
    _require_kernel(host, bdf)
    if not around.allow_busy:
        _require_idle(bdf, around)


def require_one_version(host: Host, bdf: str, around: Surroundings) -> None:
    """Raises Refused if NVIDIA's driver and libraries have different versions: the host is due for a reboot, and
    nvidia-smi could not show the effect of a write on the GPU."""
    if around.mismatch is not None and read_driver(host, bdf) == "nvidia":
        raise Refused(f"driver/library version mismatch: {around.mismatch}", but_back=True)


def _require_gpu(host: Host, bdf: str) -> None:
    class_ = read_id(host, bdf, "class", 6)
    if class_ is None or not class_.startswith(WRITABLE_CLASSES):
        raise Refused(f"class {class_}: only GPUs are written to (classes 03xx and 1200)")
    if not bdf.endswith(".0"):
        raise Refused("not function 0 of its device")
    physical = host.link_name(f"{DEVICES}/{bdf}/physfn")
    if physical is not None:
        raise Refused(f"a virtual function of {physical}: MaxReadReq is set on the physical function")


def _require_ours(host: Host, bdf: str, around: Surroundings) -> None:
    driver = read_driver(host, bdf)
    if is_held_for_others(driver):
        raise Refused(f"{PASSED_THROUGH}: it is bound to {driver}")
    claimed = pve_guests.claims(around.guests, bdf)
    if not claimed.ok:
        raise Refused(f"whether it is assigned to a VM is unknown: {claimed.detail or claimed.status}")
    if claimed.value:
        raise Refused(f"{PASSED_THROUGH}: " + ", ".join(
            f"VM {claim['vm']} has it in its configuration ({claim['key']}: {claim['value']})"
            for claim in claimed.value))
    _require_no_guests_inside(host, bdf, around)


def _require_started(host: Host, bdf: str, around: Surroundings) -> None:
    """Refuse an unusable GPU: its registers are left as the driver found them, for diagnosis."""
    driver = read_driver(host, bdf)
    obstacle = why_not_driven(read_id(host, bdf, "vendor"), driver)
    if obstacle is not None:
        raise Refused(obstacle)
    unusable = around.startup.why_unusable(bdf, bool(around.users(bdf).value)) if driver == "nvidia" else None
    if unusable is not None:
        raise Refused(f"the GPU is not usable: it is {unusable}")


def _require_no_guests_inside(host: Host, bdf: str, around: Surroundings) -> None:
    """Refuse a GPU whose virtual functions or mediated devices guests use."""
    if any(_UUID.fullmatch(name) for name in host.list(f"{DEVICES}/{bdf}")):
        raise Refused("it has mediated devices, which guests use")
    count = host.read_int(f"{DEVICES}/{bdf}/sriov_numvfs").value or 0
    virtual = [one for one in list_addresses(host) if count and host.link_name(f"{DEVICES}/{one}/physfn") == bdf]
    for one in virtual:
        driver, claimed = read_driver(host, one), pve_guests.claims(around.guests, one)
        if driver is not None or claimed.value or not claimed.ok:
            raise Refused(f"its virtual function {one} is used by a guest: "
                          + (f"bound to {driver}" if driver else "assigned to a VM"))
    if len(virtual) < count:
        raise Refused(f"it has {count} virtual functions, of which {count - len(virtual)} are not visible")


def _require_not_hung(bdf: str, around: Surroundings) -> None:
    hung = reason_to_leave(around.hung, bdf)
    if hung is not None:
        raise Refused(hung)


def _require_kernel(host: Host, bdf: str) -> None:
    """The kernel accepts config space writes from root unless it is locked down (pci_write_config())."""
    lockdown = host.read(LOCKDOWN).map(chosen)
    if lockdown.ok and lockdown.value != "none":
        raise expected_error(errno.EPERM, f"the kernel is locked down ({lockdown.value})")
    obstacle = write_obstacle(host, f"{DEVICES}/{bdf}/config")
    if obstacle is not None:
        raise obstacle


def _require_idle(bdf: str, around: Surroundings) -> None:
    users = around.users(bdf)
    if users.status == ABSENT:
        return          # a recorded host without /proc has no processes
    if not users.ok:
        raise Refused(f"whether it is in use is unknown: {users.detail or users.status}")
    if users.value:
        raise Refused(f"busy: in use by {describe_users(users.value)}")


def describe_users(users: list[dict]) -> str:
    return ", ".join(f"{user['command']} (pid {user['pid']}" + (f", container {user['container']})" if user["container"]
                                                                else ")") for user in users)
