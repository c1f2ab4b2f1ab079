# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Complete hand-written facts of five machines, for tests of checks.

epyc()         two EPYC 9575F, eight RTX PRO 6000 Blackwell behind four switches, Proxmox VE, tuned: nothing to find
workstation()  a desktop Ryzen with one RTX 4090, as a distribution leaves it
xeon()         two Xeons under intel_pstate in active mode, four L40S, no RDMA
vm()           a small KVM guest without a GPU
container()    an LXC container on the epyc() host
merge()        the facts of a machine with a fragment merged into them
"""
from __future__ import annotations

import copy
from typing import Any

import neutral_placement

GIB = 1 << 30


def ok(value: Any) -> dict:
    return {"status": "ok", "value": value}


def nothing_persisted() -> dict:
    return {"ledger": lacking(), "files": [], "boot": lacking(), "this_boot": False, "rebooted": None, "values": []}


def lacking(status: str = "absent") -> dict:
    return {"status": status, "value": None}


ABSENT = lacking()


def merge(base: Any, fragment: Any) -> Any:
    """`base` with `fragment` merged into it.

    Mappings are merged key by key. A list replaces the list, but each mapping in it is completed from the first item of
    the replaced list: `{gpus: [{numa_node: ...}]}` is one GPU, otherwise equal to the first one.
    """
    if isinstance(base, dict) and isinstance(fragment, dict):
        return {**base, **{key: merge(base.get(key), value) for key, value in fragment.items()}}
    if isinstance(base, list) and isinstance(fragment, list) and base:
        return [merge(base[0], item) if isinstance(item, dict) else item for item in fragment]
    return copy.deepcopy(fragment)


# -- PCI ------------------------------------------------------------------------------------------------------

def link(speed: float = 32.0, width: int = 16, max_speed: float = 32.0, max_width: int = 16) -> dict:
    return {"speed_gts": speed, "width": width, "max_speed_gts": max_speed, "max_width": max_width,
            "target_speed_gts": max_speed, "autonomous_speed_disabled": False, "aspm": "disabled"}


def pcie(kind: str, its_link: dict | None, read_request: int, payload_supported: int = 256) -> dict:
    """Registers of the PCI Express capability, with MaxPayload 256."""
    return {"capability": 0x60, "type": kind, "max_payload": 256, "max_payload_supported": payload_supported,
            "max_read_request": read_request, "relaxed_ordering": True, "extended_tags": True,
            "extended_tags_supported": True, "no_snoop": True, "ten_bit_tags": True, "ten_bit_tags_supported": True,
            "completion_timeout": "50us-50ms", "completion_timeout_disabled": False, "link": its_link,
            "device_control": 0x2937}


POWER = {"state": ok("D0"), "runtime_status": ok("active"), "control": ok("on")}
NO_ERRORS = {"correctable": 0, "nonfatal": 0, "fatal": 0, "details": {}}


def acs(redirect: bool = False) -> dict:
    return {"source_validation": True, "translation_blocking": False, "request_redirect": redirect,
            "completion_redirect": redirect, "upstream_forwarding": True, "egress_control": False,
            "direct_translated": False}


def port(bdf: str, kind: str, node: int, vendor: str = "1022", device: str = "153e") -> dict:
    """A root port or a port of a switch with a link of 32 GT/s x16."""
    return {"bdf": bdf, "vendor": vendor, "device": device, "class": "060400",
            "driver": "pcieport", "numa_node": ok(node), "power": copy.deepcopy(POWER), "state": "ok",
            "pcie": ok(pcie(kind, link(), 512, 512)), "aer": ok(copy.deepcopy(NO_ERRORS)),
            "acs": ok(None if kind == "upstream_port" else acs())}


def gpu(bdf: str, path: list[str], node: int, minor: int) -> dict:
    """An RTX PRO 6000 Blackwell Server Edition on the nvidia driver, idle, with its link at 2.5 GT/s."""
    return {
        "bdf": bdf, "vendor": "10de", "device": "2bb5", "class": "030200", "subsystem": "10de:204e", "revision": "a1",
        "model": "NVIDIA RTX PRO 6000 Blackwell Server Edition", "generation": "blackwell", "state": "ok",
        "driver": "nvidia", "power": copy.deepcopy(POWER), "numa_node": ok(node),
        "local_cpus": ok(("0-63,128-191", "64-127,192-255")[node]),
        "virtual_function": False, "physical_function": None, "virtual_functions": 0,
        "pcie": ok(pcie("legacy_endpoint", link(speed=2.5), 4096)), "aer": ok(copy.deepcopy(NO_ERRORS)),
        "acs": ok(None),
        "bars": ok([{"index": 0, "start": 0x7b000000000, "size": 64 << 20, "bits": 64, "prefetchable": True},
                    {"index": 2, "start": 0x76000000000, "size": 128 * GIB, "bits": 64, "prefetchable": True}]),
        "largest_bar": 128 * GIB,
        "resizable_bar": ok([{"bar": 2, "size": 128 * GIB, "sizes": [64 << 20, 128 * GIB]}]),
        "memory_mib": ok(97887), "minor": ok(minor), "uuid": ok(f"GPU-00000000-0000-4000-8000-00000000000{minor}"),
        "gsp_firmware": ok("595.58.03"), "iommu_group": ok(20 + minor), "iommu_type": ok("identity"),
        "interrupts": [{"irq": 120 + minor, "affinity": ok("0-255"), "effective": ok(("8", "72")[node]),
                        "node": ok(node)}],
        "path": path, "link_samples": None, "amd": None, "claimed_by": ok([]), "containers": ["101"], "users": ok([]),
    }


# Four switches with two GPUs each. /dev/nvidiaN does not follow the order on the bus.
_SWITCHES = (("0000:00:01.1", 0x01, 0, (2, 3)), ("0000:20:01.1", 0x21, 0, (0, 1)),
             ("0000:80:01.1", 0x81, 1, (6, 7)), ("0000:a0:01.1", 0xa1, 1, (4, 5)))


def _eight_gpus() -> tuple[list[dict], list[dict]]:
    gpus, ports = [], []
    for root, bus, node, minors in _SWITCHES:
        upstream = f"0000:{bus:02x}:00.0"
        for slot, minor in enumerate(minors):
            downstream = f"0000:{bus + 1:02x}:{slot:02x}.0"
            gpus.append(gpu(f"0000:{bus + 2 + slot:02x}:00.0", [downstream, upstream, root], node, minor))
            ports.append(port(downstream, "downstream_port", node, "1000", "c030"))
        ports += [port(upstream, "upstream_port", node, "1000", "c030"), port(root, "root_port", node)]
    return gpus, ports


# -- CPU, memory, kernel --------------------------------------------------------------------------------------

def policy(number: int, driver: str, governor: str, governors: list[str], epp: str | None = None,
           boost: int | None = None) -> dict:
    epps = ["default", "performance", "balance_performance", "balance_power", "power"]
    return {"policy": f"policy{number}", "cpus": str(number), "driver": ok(driver), "governor": ok(governor),
            "governors": ok(governors), "epp": ok(epp) if epp else ABSENT, "epps": ok(epps) if epp else ABSENT,
            "min_khz": ok(1500000), "max_khz": ok(5000000), "hardware_min_khz": ok(1500000),
            "hardware_max_khz": ok(5000000), "bios_limit_khz": ABSENT, "headroom": ABSENT,
            "boost": ABSENT if boost is None else ok(boost)}


def idle_state(number: int, name: str, latency: int, cpus: str, disabled: str = "") -> dict:
    return {"state": f"state{number}", "name": name, "description": name, "latency_us": latency,
            "residency_us": 2 * latency, "cpus": cpus, "disabled_cpus": disabled, "disabled_by_default": False}


def node(number: int, cpus: str, distances: list[int], gib: int) -> dict:
    return {"node": f"node{number}", "id": number, "cpus": cpus, "package": number, "memory_kib": ok(gib << 20),
            "free_kib": ok(gib << 19), "gpu": None, "distances": distances}


def _memory(gib: int) -> dict:
    return {
        "total_kib": ok(gib << 20), "available_kib": ok(gib << 19),
        "thp": {"enabled": ok("madvise"), "defrag": ok("madvise"), "shmem_enabled": ok("never"),
                "khugepaged_defrag": ok(1), "enabled_choices": ok(["always", "madvise", "never"]),
                "sizes": [{"kib": 2048, "enabled": ok("inherit")}], "pmd_kib": ok(2048)},
        "hugepages": ok([]),
        "ksm": {"run": ok(0), "merge_across_nodes": ok(1), "pages_shared": ok(0), "pages_sharing": ok(0)},
        "arc": dict.fromkeys(("limit", "size", "least", "configured"), ABSENT),
        "shm_kib": ok(gib << 19), "swap": ok([]), "locking": ok([]),
    }


def disk_swap() -> dict:
    return {"device": "/dev/nvme0n1p3", "type": "partition", "size_kib": 8 << 20, "used_kib": 0, "priority": -2,
            "zram": False}


def _sysctls(**changed: str) -> dict:
    tuned = {
        "kernel.numa_balancing": "0", "kernel.nmi_watchdog": "0", "kernel.watchdog": "1",
        "kernel.sched_autogroup_enabled": "0", "kernel.perf_event_paranoid": "4", "kernel.dmesg_restrict": "1",
        "kernel.timer_migration": "1", "vm.swappiness": "10", "vm.dirty_ratio": "10", "vm.dirty_bytes": "0",
        "vm.dirty_background_ratio": "5", "vm.dirty_background_bytes": "0", "vm.zone_reclaim_mode": "0",
        "vm.min_free_kbytes": "67584", "vm.compaction_proactiveness": "20", "vm.max_map_count": "262144",
        "vm.overcommit_memory": "0", "vm.overcommit_ratio": "50", "vm.nr_hugepages": "0", "vm.stat_interval": "1",
        "net.core.rmem_max": "16777216", "net.core.wmem_max": "16777216", "net.core.rmem_default": "212992",
        "net.core.wmem_default": "212992", "net.core.netdev_max_backlog": "1000", "net.core.somaxconn": "4096",
        "net.core.busy_poll": "0", "net.core.busy_read": "0", "net.core.default_qdisc": "fq_codel",
        "net.ipv4.tcp_rmem": "4096\t131072\t6291456", "net.ipv4.tcp_wmem": "4096\t16384\t4194304",
        "net.ipv4.tcp_mem": "12353325\t16471103\t24706650", "net.ipv4.tcp_congestion_control": "cubic",
        "net.ipv4.ip_local_port_range": "32768\t60999",
    }
    return {key: ok(value) for key, value in {**tuned, **changed}.items()}


# Distribution defaults: the kernels of Debian and Ubuntu with sysctl.d as installed.
_STOCK = {"kernel.nmi_watchdog": "1", "kernel.sched_autogroup_enabled": "1", "vm.swappiness": "60",
          "vm.dirty_ratio": "20", "vm.dirty_background_ratio": "10", "net.core.rmem_max": "212992",
          "net.core.wmem_max": "212992"}


_SERVICES = ("tuned", "power-profiles-daemon", "tlp", "auto-cpufreq", "cpufrequtils", "cpupower", "ondemand",
             "irqbalance", "ksmtuned", "numad", "nvidia-persistenced", "saptune", "sapconf", "laptop-mode", "powertop")


def service(name: str, installed: bool = False, **state: bool) -> dict:
    return {"service": name, "installed": installed, "enabled": False, "masked": False, "running": False, **state}


def _managers(*running: str) -> dict:
    """The named services are running, no other is installed; no file sets a sysctl."""
    return {"services": [service(name, name in running, enabled=name in running, running=name in running)
                         for name in _SERVICES],
            "tuned_profile": ABSENT, "tuned_reapplies": ABSENT, "tuned_excludes": [], "unit_links": ok(12),
            "sysctl": {"reader": "systemd-sysctl", "settings": ok([]), "ignored": ok([])}}


def _network(name: str, bdf: str, speed: int, driver: str) -> dict:
    return {"interfaces": [{"name": name, "bdf": bdf, "driver": driver, "operstate": ok("up"), "carrier": ok(1),
                            "speed_mbps": ok(speed), "duplex": ok("full"), "mtu": ok(1500), "numa_node": ok(0)}],
            "backlog": ok({"received": 40000000, "dropped": 0, "squeezed": 12})}


def _kernel(release: str, cmdline: str, *parameters: tuple[str, str | None]) -> dict:
    return {"release": ok(release), "build": ok(f"#1 SMP PREEMPT_DYNAMIC {release}"), "cmdline": ok(cmdline),
            "parameters": [{"name": name, "value": value}
                           for name, value in (("BOOT_IMAGE", f"/vmlinuz-{release}"), *parameters)],
            "unknown_parameters": ok([]), "lockdown": ok("none"), "mounts": ok([]),
            "log": ok({"first_seconds": 0.0, "lines": 4000}), "uptime_seconds": ok(864000.0),
            "earlier_boots": ABSENT}


BOOT = {"firmware": "uefi", "secure_boot": ok(False), "proxmox_boot_tool": False, "pinned": ABSENT,
        "pinned_once": ABSENT, "cmdline_file": ABSENT,
        "grub": {"default": ok("0"), "flavours": [], "top_level": None, "cmdline": ok("quiet"),
                 "file": "/etc/default/grub", "entry": ABSENT}}


def _identity(name: str, kind: str, technology: str | None, proxmox: str | None = None) -> dict:
    return {"hostname": ok(name), "boot_id": ok("6f1c1d0e-5a43-4d6a-9a53-0f6b8a7c2e11"), "kind": kind,
            "technology": technology, "evidence": "written by hand",
            "os": {"id": "debian", "version_id": "13", "name": "Debian GNU/Linux 13 (trixie)"},
            "proxmox": {"installed": bool(proxmox), "version": ok(proxmox) if proxmox else ABSENT}}


# -- NVIDIA ---------------------------------------------------------------------------------------------------

_MODULES = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_peermem", "gdrdrv", "nvidia_fs",
            "nouveau", "ib_core")
_LOADED = ("nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm")


def module(name: str, loaded: bool, version: str) -> dict:
    return {"name": name, "state": "live" if loaded else "absent", "version": ok(version) if loaded else ABSENT,
            "refcount": ok(2) if loaded else ABSENT, "holders": []}


def device_node(path: str, major: int, minor: int) -> dict:
    return {"path": path, "type": "c", "major": major, "minor": minor, "mode": "0666"}


def smi_gpu(bdf: str, minor: int) -> dict:
    """The output of nvidia-smi for an idle RTX PRO 6000 without problems."""
    return {"bdf": bdf, "minor": minor, "memory_mib": 97887, "bar1_mib": 131072, "bar1_used_mib": 1, "pstate": "P8",
            "persistence": "Enabled", "display": "Disabled", "display_server": None, "vbios": "98.02.67.00.0A",
            "device_max_gen": None, "utilization": 0, "processes": 0, "trouble": None,
            "compute_mode": "Default", "mig": "Disabled", "mig_pending": "Disabled", "ecc": "Enabled",
            "ecc_pending": "Enabled", "recovery_action": "None", "power_draw_w": 39.2, "power_limit_w": 600.0,
            "power_default_w": 600.0, "clock_reasons": ["gpu_idle"], "ecc_errors": 0, "ecc_errors_ever": 0,
            "pages_pending": None, "rows_pending": False, "rows_failed": False, "repairs_pending": [],
            "fabric_state": None, "fabric_status": None, "fabric_health": None}


def driver_messages() -> dict:
    """The messages of NVIDIA's modules in a log without errors, on a host without NVSwitches."""
    return {
        "fabric": {"switches": [], "links": ABSENT, "services": [
            {"service": service, "installed": False, "enabled": False, "masked": False, "running": False}
            for service in ("nvidia-fabricmanager", "nvlsm", "nvidia-imex")]},
        "xids": ok([]), "xids_of_earlier_boots": ok([]), "sxids": ok([]), "mismatches": ok([]),
        "reset_required": ok([]), "repeats": ok([])}


def _nvidia(gpus: list[dict], version: str, release: str, flavour: str = "open") -> dict:
    minors = sorted(its["minor"]["value"] for its in gpus)
    return {
        "module": {"state": "live", "version": ok(version), "refcount": ok(300)}, "flavour": flavour,
        "driver_version": ok(version), "library_version": ok(version), "cuda_library_version": ok(version),
        "container_libraries": ok([]), "container_nodes": ok([]),
        "modules": [module(name, name in _LOADED, version) for name in _MODULES],
        "parameters": ok([{"name": "EnableResizableBar", "value": "0"}, {"name": "RegistryDwords", "value": ""},
                          {"name": "EnablePCIERelaxedOrderingMode", "value": "0"}]),
        "modprobe": ok([{"path": "/etc/modprobe.d/gpu.conf", "modified": "2026-10-01T10:00:00Z", "keyword": keyword,
                         "module": name, "text": text} for keyword, name, text in (
                             ("options", "nvidia", "NVreg_EnableResizableBar=0"), ("blacklist", "nouveau", ""))]),
        "initramfs": ok({"path": f"/boot/initrd.img-{release}", "modified": "2026-10-02T10:00:00Z"}),
        "module_parameters": [{"module": "nvidia_uvm", "name": "uvm_disable_hmm", "value": ok("N")},
                              {"module": "nvidia_drm", "name": "modeset", "value": ok("Y")}],
        "proc_gpus": ok([{"bdf": its["bdf"], "model": its["model"], "minor": its["minor"]["value"],
                          "uuid": its["uuid"]["value"], "firmware": version, "excluded": False} for its in gpus]),
        "majors": ok([{"name": "nvidia", "major": 195}, {"name": "nvidiactl", "major": 195},
                      {"name": "nvidia-uvm", "major": 509}]),
        "nodes": ok([device_node(f"/dev/nvidia{minor}", 195, minor) for minor in minors]
                    + [device_node("/dev/nvidiactl", 195, 255), device_node("/dev/nvidia-uvm", 509, 0),
                       device_node("/dev/nvidia-uvm-tools", 509, 1)]),
        "peermem": {"loaded": False, "symbol": ABSENT, "log": []},
        "smi": {"state": "ok", "reason": None, "driver_version": version,
                "gpus": [smi_gpu(its["bdf"], its["minor"]["value"]) for its in gpus]},
        **driver_messages(), "init_failures": ok([]), "hung": ok([]),
        "kernels": [{"release": release, "bootable": True, "built": ok(True)}],
    }


def _no_nvidia() -> dict:
    return {"module": {"state": "absent", "version": ABSENT, "refcount": ABSENT}, "flavour": None,
            "driver_version": ABSENT, "library_version": ABSENT, "cuda_library_version": ABSENT,
            "container_libraries": ok([]), "container_nodes": ok([]),
            "modules": [module(name, False, "") for name in _MODULES],
            "parameters": ABSENT, "modprobe": ABSENT, "initramfs": ABSENT, "module_parameters": [],
            "proc_gpus": ABSENT, "majors": ok([]), "nodes": ok([]),
            "peermem": {"loaded": False, "symbol": ABSENT, "log": []},
            "smi": {"state": "absent", "reason": "nvidia-smi is not installed", "driver_version": None, "gpus": []},
            **driver_messages(), "init_failures": ok([]), "hung": ok([]),
            "kernels": [{"release": "6.18.4-cloud-amd64", "bootable": True, "built": ok(False)}]}


def _guests(containers: list[dict] | None = None, running: int = 0) -> dict:
    return {"status": ok("none" if containers is None else "proxmox"), "containers": ok(containers or []),
            "vms": ok([]), "running": ok(running), "unpinned_running": ok(0),
            "node": None if containers is None else "pve1", "cluster_nodes": [] if containers is None else ["pve1"],
            "ha": ok([]), "mappings": [], "node_makers": [] if containers is None else [
                {"path": "/etc/systemd/system/nvidia-nodes.service", "ordered": True}],
            "device_nodes": [] if containers is None else [
                {"path": "/dev/nvidia-uvm", "type": "c", "major": 509, "minor": 0},
                {"path": "/dev/nvidia-uvm-tools", "type": "c", "major": 509, "minor": 1},
                {"path": "/dev/nvidia0", "type": "c", "major": 195, "minor": 0},
                {"path": "/dev/nvidiactl", "type": "c", "major": 195, "minor": 255}]}


def cluster(**changed: Any) -> dict:
    """A node of a healthy cluster without high availability and without running tasks."""
    return {"quorum": ok("quorate"), "tasks": ok([]), "ha": ok({
        "node": None, "fenced": [], "services": [], "lrm_mode": None, "lrm_state": None}), **changed}


def no_cluster() -> dict:
    return {key: copy.deepcopy(ABSENT) for key in ("quorum", "ha", "tasks")}


def lxc(number: str, devices: list[str], running: bool = True) -> dict:
    return {"id": number, "name": f"serve{number}", "running": running, "lock": None, "onboot": True,
            "unprivileged": True, "template": False, "gpu_devices": devices,
            "devices": [{"key": f"dev{index}", "path": path, "optional": False, "writable": True, "target": path}
                        for index, path in enumerate(devices)],
            "allow": [], "deny": [], "unreadable_rules": [], "trailing_text": [], "other_sections": [],
            "memory_nodes": None, "allows_everything": False, "hook": False, "libraries": [], "memlock": None,
            "shm_size": None, "ignored": [], "cpus": "0-31,64-95", "pinned": True}


def controller(number: int) -> dict:
    return {"controller": f"mc{number}", "name": "F1A_M00h", "size_mib": ok(786432), "correctable": ok(0),
            "uncorrectable": ok(0), "seconds": ok(864000), "modules": []}


def _firmware(vendor: str, product: str) -> dict:
    return {"system_vendor": ok(vendor), "product_name": ok(product), "board_name": ok(product),
            "bios_vendor": ok("American Megatrends Inc."), "bios_version": ok("1203"), "bios_date": ok("03/02/2026")}


# -- machines -------------------------------------------------------------------------------------------------

def epyc() -> dict:
    """Two sockets, 256 CPUs, 1.5 TiB, eight GPUs, Proxmox VE with one pinned container that has all GPUs."""
    gpus, ports = _eight_gpus()
    cpus = "0-255"
    nodes = ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"]
    return {
        "schema": "gpuhost.facts/1", "collected_at": "2026-11-29T18:30:00Z", "source": None, "privileged": True,
        "unread": [], "unparsable": [],
        "identity": _identity("pve1", "bare_metal", None, "9.1.2"),
        "kernel": _kernel("6.17.13-2-pve", "BOOT_IMAGE=/vmlinuz-6.17.13-2-pve ro iommu=pt", ("iommu", "pt")),
        "boot": copy.deepcopy(BOOT),
        "cpu": {
            "vendor": "AuthenticAMD", "family": 26, "model": 2, "stepping": 1,
            "model_name": "AMD EPYC 9575F 64-Core Processor", "microcode": ["0xb00215a"],
            "microcode_cpus": [], "isolated": ok(""), "nohz_full": ok(""), "interrupt_cpus": ok("0-255"), "uncore": [],
            "vulnerabilities": ok([{"name": "spectre_v1", "state": "Mitigation: usercopy/swapgs barriers"}]),
            "logical": 256,
            "online": cpus, "offline": [], "sockets": 2, "cores": 128, "kinds": [],
            "smt": {"control": ok("on"), "active": ok(1)},
            "flags": {"hypervisor": False, "cppc": True, "constant_tsc": True, "nonstop_tsc": True},
            "acpi_cppc": True,
            "clocksource": {"unstable": ok([]), "current": ok("tsc"), "available": ok(["tsc", "hpet", "acpi_pm"])},
            "frequency": {
                "drivers": ["amd-pstate-epp"], "boost": ok(1), "amd_pstate": ok("active"), "intel_pstate": ABSENT,
                "no_turbo": ABSENT, "max_perf_pct": ABSENT, "kernel_has_amd_pstate": ok(True),
                "policies": [policy(number, "amd-pstate-epp", "performance", ["performance", "powersave"],
                                    "performance", 1) for number in (0, 1, 2)]},
            "idle": {"driver": ok("acpi_idle"), "governor": ok("menu"), "latency_request_us": ok(2000000000),
                     "states": [idle_state(0, "POLL", 0, cpus), idle_state(1, "C1", 1, cpus),
                                idle_state(2, "C2", 100, cpus)]},
        },
        "numa": {"nodes": [node(0, "0-63,128-191", [10, 32], 768), node(1, "64-127,192-255", [32, 10], 768)]},
        "memory": _memory(1536), "sysctl": _sysctls(), "gpus": gpus, "ports": ports,
        "persisted": nothing_persisted(), "managers": _managers("irqbalance", "ksmtuned", "nvidia-persistenced"),
        "network": _network("enp65s0f0np0", "0000:41:00.0", 25000, "bnxt_en"),
        "pcie": {"functions": ok(40), "aspm_policy": ok("default"), "nvswitches": []},
        "iommu": {"active": ok(True), "groups": 90, "default_type": ok("identity")},
        "nvidia": {**_nvidia(gpus, "595.58.03", "6.17.13-2-pve"),
                   "container_libraries": ok([{"name": "lxc:101", "versions": ok(["595.58.03"])}]),
                   "container_nodes": ok([{"name": "lxc:101", "nodes": ok(
                       [{"path": path, "type": "c", "major": major, "minor": minor} for path, major, minor in (
                           ("/dev/nvidia-uvm", 509, 0), ("/dev/nvidia-uvm-tools", 509, 1), ("/dev/nvidia0", 195, 0),
                           ("/dev/nvidiactl", 195, 255))])}])},
        "rdma": {"devices": []}, "tunables": {},
        "guests": _guests([lxc("101", nodes)], running=1), "cluster": cluster(),
        "placement": neutral_placement.placement(128, features=neutral_placement.AVX512, guests=(
            neutral_placement.container("101", "0-31,64-95", held=(20, 20)),)),
        "firmware": _firmware("ASUSTeK", "ESC8000A-E13P"),
        "ras": {"controllers": ok([controller(0), controller(1)]),
                "errors": ok({"lines": 0, "uncorrected": 0, "first": []}), "events": ok([])},
    }


def workstation() -> dict:
    """A single-GPU desktop with stock settings: amd_pstate in active mode with powersave, THP always, a swap file."""
    gpus = [merge(gpu("0000:01:00.0", ["0000:00:01.1"], 0, 0), {
        "device": "2684", "class": "030000", "subsystem": "1043:88e2", "model": "NVIDIA GeForce RTX 4090",
        "generation": "ada", "numa_node": ok(-1), "local_cpus": ok("0-31"), "containers": [],
        "memory_mib": ok(24564), "largest_bar": 256 << 20, "iommu_type": ok("DMA-FQ"),
        "pcie": ok({**pcie("legacy_endpoint", link(speed=2.5, max_speed=16.0), 512), "ten_bit_tags": False}),
        "gsp_firmware": ok("580.95.05")})]
    port_above = merge(port("0000:00:01.1", "root_port", 0, "1022", "14db"), {
        "numa_node": ok(-1), "pcie": ok(pcie("root_port", link(speed=2.5), 512, 512)), "acs": ok(acs(redirect=True))})
    facts = epyc()
    facts.update({
        "identity": _identity("desk", "bare_metal", None),
        "kernel": _kernel("6.12.57-amd64", "BOOT_IMAGE=/vmlinuz-6.12.57-amd64 ro quiet", ("quiet", None)),
        "numa": {"nodes": [node(0, "0-31", [10], 64)]}, "memory": _memory(64), "gpus": gpus, "ports": [port_above],
        "sysctl": _sysctls(**{**_STOCK, "kernel.numa_balancing": "0"}),
        "persisted": nothing_persisted(), "managers": _managers(),
        "network": _network("enp5s0", "0000:05:00.0", 2500, "r8169"),
        "iommu": {"active": ok(True), "groups": 30, "default_type": ok("DMA-FQ")},
        "nvidia": _nvidia(gpus, "580.95.05", "6.12.57-amd64"), "guests": _guests(), "cluster": no_cluster(),
        "placement": neutral_placement.placement(16),
        "firmware": _firmware("ASUS", "ProArt X670E"),
    })
    facts["memory"]["thp"]["enabled"] = ok("always")
    facts["cpu"].update({
        "family": 25, "model": 97, "model_name": "AMD Ryzen 9 7950X 16-Core Processor", "logical": 32,
        "online": "0-31", "sockets": 1, "cores": 16})
    facts["cpu"]["frequency"]["policies"] = [
        policy(number, "amd-pstate-epp", "powersave", ["performance", "powersave"], "performance", 1)
        for number in (0, 1)]
    facts["cpu"]["idle"]["states"] = [idle_state(0, "POLL", 0, "0-31"), idle_state(1, "C1", 1, "0-31"),
                                      idle_state(2, "C2", 18, "0-31"), idle_state(3, "C3", 350, "0-31")]
    return facts


def xeon() -> dict:
    """Two Intel sockets with intel_pstate in active mode: the governor is powersave, EPP decides; no boost file."""
    gpus, ports = [], []
    for slot, bus in enumerate((0x17, 0x3d, 0x97, 0xbd)):
        node_of = slot // 2
        root = f"0000:{bus - 1:02x}:01.0"
        gpus.append(merge(gpu(f"0000:{bus:02x}:00.0", [root], node_of, slot), {
            "device": "26b9", "subsystem": "10de:1851", "model": "NVIDIA L40S", "generation": "ada",
            "local_cpus": ok(("0-31,64-95", "32-63,96-127")[node_of]),
            "interrupts": [{"effective": ok(("8", "40")[node_of])}], "containers": [], "memory_mib": ok(46068),
            "largest_bar": 64 * GIB, "pcie": ok(pcie("legacy_endpoint", link(speed=2.5, max_speed=16.0), 4096)),
            "iommu_type": ABSENT, "iommu_group": ABSENT, "gsp_firmware": ok("580.95.05")}))
        ports.append(merge(port(root, "root_port", node_of, "8086", "352a"), {
            "pcie": ok(pcie("root_port", link(speed=2.5, max_speed=32.0), 512, 512))}))
    facts = epyc()
    facts.update({
        "identity": _identity("xeon1", "bare_metal", None),
        "kernel": _kernel("6.8.0-88-generic", "BOOT_IMAGE=/vmlinuz-6.8.0-88-generic ro"),
        "numa": {"nodes": [node(0, "0-31,64-95", [10, 21], 256), node(1, "32-63,96-127", [21, 10], 256)]},
        "memory": _memory(512), "gpus": gpus, "ports": ports,
        "pcie": {"functions": ok(40), "aspm_policy": ok("default"), "nvswitches": []},
        "iommu": {"active": ok(False), "groups": 0, "default_type": ABSENT},
        "nvidia": _nvidia(gpus, "580.95.05", "6.8.0-88-generic"), "guests": _guests(), "cluster": no_cluster(),
        "placement": neutral_placement.placement(64, l3_cores=32, features=neutral_placement.AMX),
        "firmware": _firmware("Supermicro", "SYS-421GE"),
    })
    facts["cpu"].update({
        "vendor": "GenuineIntel", "family": 6, "model": 143, "stepping": 8, "logical": 128, "online": "0-127",
        "model_name": "Intel(R) Xeon(R) Platinum 8462Y+", "sockets": 2, "cores": 64, "acpi_cppc": True,
        "flags": {"hypervisor": False, "cppc": False, "constant_tsc": True, "nonstop_tsc": True}})
    facts["cpu"]["frequency"] = {
        "drivers": ["intel_pstate"], "boost": ABSENT, "amd_pstate": ABSENT, "intel_pstate": ok("active"),
        "no_turbo": ok(0), "max_perf_pct": ok(100), "kernel_has_amd_pstate": ok(True),
        "policies": [policy(number, "intel_pstate", "powersave", ["performance", "powersave"], "performance")
                     for number in (0, 1)]}
    facts["cpu"]["idle"] = {
        "driver": ok("intel_idle"), "governor": ok("menu"), "latency_request_us": ok(2000000000),
        "states": [idle_state(0, "POLL", 0, "0-127"), idle_state(1, "C1", 1, "0-127"),
                   idle_state(2, "C1E", 2, "0-127"), idle_state(3, "C6", 290, "0-127")]}
    return facts


def vm() -> dict:
    """A KVM guest with four CPUs and a virtual display: no cpufreq, no cpuidle, no IOMMU, no NVIDIA."""
    facts = epyc()
    facts.update({
        "identity": _identity("guest", "vm", "kvm"),
        "kernel": _kernel("6.18.4-cloud-amd64", "BOOT_IMAGE=/vmlinuz-6.18.4-cloud-amd64 ro console=ttyS0"),
        "numa": {"nodes": [node(0, "0-3", [10], 24)]}, "memory": _memory(24), "gpus": [], "ports": [],
        "sysctl": _sysctls(**{**_STOCK, "kernel.nmi_watchdog": "0", "net.core.rmem_max": "4194304",
                              "net.core.wmem_max": "4194304"}),
        "iommu": {"active": ok(False), "groups": 0, "default_type": ABSENT}, "nvidia": _no_nvidia(),
        "guests": _guests(), "cluster": no_cluster(), "placement": neutral_placement.placement(4, 1, 4),
        "persisted": nothing_persisted(), "managers": _managers(),
        "network": _network("eth0", "0000:00:03.0", -1, "virtio-pci"),
        "firmware": _firmware("QEMU", "Standard PC (Q35 + ICH9, 2009)"),
    })
    facts["memory"]["thp"]["enabled"] = ok("always")
    facts["cpu"].update({
        "logical": 4, "online": "0-3", "sockets": 1, "cores": 4, "acpi_cppc": False,
        "smt": {"control": ok("notsupported"), "active": ok(0)},
        "flags": {"hypervisor": True, "cppc": False, "constant_tsc": True, "nonstop_tsc": True},
        "clocksource": {"unstable": ok([]), "current": ok("kvm-clock"),
                        "available": ok(["kvm-clock", "tsc", "acpi_pm"])},
        "frequency": {"drivers": [], "boost": ABSENT, "amd_pstate": ABSENT, "intel_pstate": ABSENT,
                      "no_turbo": ABSENT, "max_perf_pct": ABSENT, "kernel_has_amd_pstate": ok(True), "policies": []},
        "idle": {"driver": ok("none"), "governor": ok("menu"), "latency_request_us": ABSENT, "states": []}})
    return facts


def container() -> dict:
    """What root in an unprivileged LXC container sees on the epyc() host with stock settings."""
    facts = epyc()
    facts.update({
        "privileged": True, "identity": _identity("serve101", "container", "lxc"),
        "sysctl": _sysctls(**{**_STOCK, "kernel.numa_balancing": "1"}), "guests": _guests(), "cluster": no_cluster()})
    facts["placement"]["guests"] = ok([])
    for key in ("net.core.rmem_max", "net.core.wmem_max"):
        facts["sysctl"][key] = copy.deepcopy(ABSENT)
    for device in [*facts["gpus"], *facts["ports"]]:
        device["pcie"] = lacking("denied")
        device["acs"] = lacking("denied")
    for its in facts["gpus"]:
        its.update({"containers": [], "users": lacking("denied"), "resizable_bar": lacking("denied")})
    facts["cpu"]["frequency"]["policies"] = [
        policy(number, "acpi-cpufreq", "ondemand", ["performance", "ondemand"], None, 0) for number in (0, 1)]
    facts["cpu"]["frequency"].update({"drivers": ["acpi-cpufreq"], "boost": ok(0), "amd_pstate": ABSENT})
    facts["memory"]["thp"]["enabled"] = ok("never")
    facts["cpu"]["clocksource"]["current"] = ok("hpet")
    return facts
