# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of QEMU, and whether it may use the processor's virtualization."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
import time

from .settings import CACHE, Unusable, find_program

READY = "guest ready"
PROBE_SECONDS = 15
SCRIPT, SYSTEMD = "/sbin/vm-init", "/lib/systemd/systemd"     # the first process of a guest
MEMORY_MIB = 768

# Accelerator and CPU. QEMU 7.2 leaves wrong flags behind an emulated cmpxchg16b, which the kernel's SLUB uses: without
# -cx16 kernels crash at random.
ACCELERATORS = {
    "kvm": ("kvm", "host"),
    "tcg": ("tcg,thread=multi,tb-size=128", "max,-cx16,vendor=AuthenticAMD,family=25,model=17,stepping=1"),
}
SERVER = ("type=0,vendor=gpuhost.tuning,version=1.0,date=01/02/2026",
          "type=1,manufacturer=gpuhost.tuning,product=GPU test server",
          "type=2,manufacturer=gpuhost.tuning,product=GPU test board")


def command(image: pathlib.Path, accelerator: str, *, name: str, init: str = SCRIPT, append: str = "",
            virtual: bool = False, port: int | None = None, initramfs: pathlib.Path | None = None) -> list[str]:
    """A q35 machine with two NUMA nodes of one CPU each. Files of its own lie in the folder it is started in.

    It says nothing of being a virtual machine unless `virtual`: what is tested are hosts.
    """
    kind, cpu = ACCELERATORS[accelerator]
    if not virtual:
        cpu += ",-hypervisor"
    network = f"user,id=net0,hostfwd=tcp:127.0.0.1:{port}-:22" if port else "user,id=net0"
    # Errors only: every character on the console costs an emulated processor time.
    kernel = ("root=/dev/nvme0n1 rootfstype=ext4 rw console=ttyS0 loglevel=4 "
              f"init={init} hostname={name} {append}").rstrip()
    if init == SYSTEMD:
        kernel += " net.ifnames=0 systemd.show_status=no"      # udev leaves eth0 its name
    half = MEMORY_MIB // 2
    return [
        find_program("qemu-system-x86_64") or "qemu-system-x86_64", "-name", f"gpuhost-{name}", "-M", "q35",
        "-accel", kind, "-cpu", cpu, *(() if virtual else [word for text in SERVER for word in ("-smbios", text)]),
        "-smp", "2,sockets=2,cores=1", "-m", f"{MEMORY_MIB}M",
        "-object", f"memory-backend-ram,id=ram0,size={half}M", "-numa", "node,nodeid=0,cpus=0,memdev=ram0",
        "-object", f"memory-backend-ram,id=ram1,size={half}M", "-numa", "node,nodeid=1,cpus=1,memdev=ram1",
        "-numa", "dist,src=0,dst=1,val=32",
        "-nodefaults", "-display", "none", "-serial", "file:serial.log", "-qmp", "unix:qmp,server=on,wait=off",
        "-kernel", str(image / "vmlinuz"), "-append", kernel, *(("-initrd", str(initramfs)) if initramfs else ()),
        "-drive", f"file={image / 'root.ext4'},if=none,id=root,format=raw,snapshot=on",
        "-device", "pcie-root-port,id=port0,chassis=1,slot=1", "-device", "nvme,serial=root,drive=root,bus=port0",
        "-netdev", network,
        "-device", "pcie-root-port,id=port1,chassis=2,slot=2", "-device", "virtio-net-pci,netdev=net0,bus=port1",
    ]


def choose_accelerator(image: pathlib.Path) -> str:
    """`kvm` only where a guest really came up with it: /dev/kvm may exist and a stock kernel still not boot."""
    wanted = os.environ.get("GPUHOST_VM_ACCEL")
    if wanted:
        if wanted not in ACCELERATORS:
            raise Unusable(f"GPUHOST_VM_ACCEL is {wanted!r}; known: {', '.join(ACCELERATORS)}")
        return wanted
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    answer = CACHE / "accelerator.json"
    here = {"boot": pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip(), "user": os.geteuid()}
    try:
        known = json.loads(answer.read_text())
        if {name: known[name] for name in here} == here:
            return known["accelerator"]
    except (OSError, ValueError, KeyError):
        pass
    accelerator = "kvm" if _boots_with_kvm(image) else "tcg"
    answer.write_text(json.dumps({**here, "accelerator": accelerator}))
    return accelerator


def _boots_with_kvm(image: pathlib.Path) -> bool:
    with tempfile.TemporaryDirectory(prefix="gpuhost-probe-") as folder:
        log = pathlib.Path(folder, "serial.log")
        log.touch()
        probe = subprocess.Popen(command(image, "kvm", name="probe", init="/sbin/vm-probe"), cwd=folder,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + PROBE_SECONDS
            while time.monotonic() < end and probe.poll() is None:
                if READY in log.read_text(errors="replace"):
                    return True
                time.sleep(0.2)
            return False
        finally:
            probe.kill()
            probe.wait()
