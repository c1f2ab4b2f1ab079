# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._host.host import Host
from ansible_collections.gpuhost.tuning.plugins.module_utils._kernel.modules import (
    canonical_name,
    parse_built_in,
    parse_modules,
    read_loaded,
    read_module,
    read_modules,
)

from hosts.modules import plant_built_in, plant_module


def test_dash_and_underscore_are_one_name(tree, host):
    """A-27: /proc/modules says nvidia_peermem whatever the user typed."""
    plant_module(tree, "nvidia_peermem", version="570.133.20")
    assert canonical_name(" nvidia-peermem\n") == "nvidia_peermem"
    module = read_module(host, "nvidia-peermem")
    assert (module["name"], module["state"]) == ("nvidia_peermem", "live")


def test_live_module_with_holders(tree, host):
    """A-31: the holders are named."""
    plant_module(tree, "nvidia", version="570.133.20", refcount=10, holders=("nvidia_uvm", "nvidia_modeset"))
    assert read_module(host, "nvidia") == {
        "name": "nvidia", "state": "live", "version": ("ok", "570.133.20", None), "refcount": ("ok", 10, None),
        "holders": ["nvidia_modeset", "nvidia_uvm"]}


def test_users_without_a_holder(tree, host):
    """A-31: fifteen references and no module that holds it: processes, nvidia-persistenced for one."""
    plant_module(tree, "nvidia", refcount=15)
    module = read_module(host, "nvidia")
    assert module["refcount"].value == 15
    assert module["holders"] == []
    assert module["version"].status == "absent"


@pytest.mark.parametrize("state", ["coming", "going"])
def test_module_on_its_way_is_not_live(tree, host, state):
    plant_module(tree, "nvidia", state=state, refcount=-1)
    assert read_module(host, "nvidia")["state"] == state
    assert read_module(host, "nvidia")["refcount"].value == -1


def test_absent_module(tree, host):
    plant_module(tree, "nvidia")
    module = read_module(host, "nvidia_peermem")
    assert (module["state"], module["version"].status, module["refcount"].status) == ("absent", "absent", "absent")
    assert module["holders"] == []


def test_built_in_by_the_list_of_the_running_kernel(tree, host):
    plant_built_in(tree, "kernel/drivers/infiniband/core/ib_core.ko", "kernel/drivers/char/ipmi/ipmi-msghandler.ko")
    assert read_module(host, "ib_core")["state"] == "built_in"
    assert read_module(host, "ipmi-msghandler")["state"] == "built_in"
    assert read_module(host, "ib_uverbs")["state"] == "absent"


def test_built_in_by_its_folder_without_initstate(tree, host):
    tree.file("/sys/module/tcp_cubic/parameters/beta", 717).file("/sys/module/ib_core/version", "1.0")
    assert read_module(host, "tcp_cubic")["state"] == "built_in"
    module = read_module(host, "ib_core")
    assert (module["state"], module["version"].value, module["refcount"].status) == ("built_in", "1.0", "absent")


def test_kernel_without_loadable_modules_has_no_list(tree, host):
    tree.folder("/sys/module")
    assert read_loaded(host).status == "absent"
    assert read_module(host, "nvidia")["state"] == "absent"


def test_list_alone_will_do(tree, host):
    tree.file("/proc/modules",
              "nvidia_uvm 2088960 4 - Live 0x0000000000000000 (POE)\n"
              "nvidia 14811136 10 nvidia_uvm,nvidia_modeset, Live 0x0000000000000000 (POE)\n"
              "nvidia_fs 303104 0 - Loading 0x0000000000000000 (OE+)\n")
    uvm, core, storage = read_modules(host, ["nvidia_uvm", "nvidia", "nvidia-fs"])
    assert (uvm["state"], uvm["refcount"].value, uvm["holders"]) == ("live", 4, [])
    assert (core["refcount"].value, core["holders"]) == (10, ["nvidia_modeset", "nvidia_uvm"])
    assert storage["state"] == "coming"


def test_odd_lines_of_the_list():
    found = parse_modules("\nshort 1 2\nno_unload 4096 - - Live 0x0\nkept 4096 1 [permanent], Live 0x0\n"
                          "odd 4096 1 - Resting 0x0\nnonsense 4096 --5 - Live 0x0\n")
    assert sorted(found) == ["kept", "no_unload", "nonsense"]
    assert found["nonsense"].refcount is None
    assert found["no_unload"].refcount is None
    assert found["kept"] == ("live", 1, [])


def test_odd_lines_of_the_built_in_list():
    assert parse_built_in("kernel/fs/ext4/ext4.ko\n\nnot a module\n  kernel/lib/crc-t10dif.ko  \n") == {
        "ext4", "crc_t10dif"}


def test_this_machine_answers():
    """Whatever kernel runs the tests: a module that nobody has is absent, and nothing raises."""
    host = Host()
    assert read_module(host, "no_such_module_at_all")["state"] == "absent"
    assert all(module["state"] in ("live", "coming", "going", "built_in", "absent")
               for module in read_modules(host, host.list("/sys/module")))
