# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Persisted values against TuneD, installed from Debian's archive into guests that systemd runs, and real reboots.

A part of `make soak` (GPUHOST_VM_FULL=1): an emulated processor needs minutes to install it.
"""
from __future__ import annotations

import os
import subprocess
from types import SimpleNamespace

import pytest

pytestmark = [pytest.mark.vm, pytest.mark.skipif(
    os.environ.get("GPUHOST_VM_FULL") != "1", reason="a part of make soak: GPUHOST_VM_FULL=1 asks for it")]
SYSTEMD = True
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
WANTED = {"sysctl": {"vm.swappiness": 10}, "sysfs": {THP: "madvise"}}
PROFILE = "/etc/tuned/site/tuned.conf"
INSTALL = """
printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d
export DEBIAN_FRONTEND=noninteractive
dpkg -i /root/packages/*.deb > /root/dpkg.log 2>&1 || { tail -20 /root/dpkg.log; exit 1; }
mkdir -p /etc/tuned/site /etc/tuned/profiles
ln -s ../site /etc/tuned/profiles/site
printf '[vm]\\ntransparent_hugepages=always\\n[sysctl]\\nvm.swappiness=35\\n' > /etc/tuned/site/tuned.conf
echo site > /etc/tuned/active_profile
echo manual > /etc/tuned/profile_mode
ls -l /etc/systemd/system/multi-user.target.wants/tuned.service
sync
"""
# The profile is applied again, as whoever changes it does: then TuneD is the last to write.
SETTLED = """
for second in $(seq 180); do
    [ -s /run/gpuhost/boot.json ] && grep -q "profile 'site' applied" /var/log/tuned/tuned.log && break
    sleep 1
done
: > /var/log/tuned/tuned.log
systemctl restart tuned.service
for second in $(seq 180); do
    grep -q "profile 'site' applied" /var/log/tuned/tuned.log && break
    sleep 1
done
cat /proc/sys/vm/swappiness
cat /sys/kernel/mm/transparent_hugepage/enabled
"""
NO_REAPPLY = """
sed -i 's/^reapply_sysctl *=.*/reapply_sysctl = 0/' /etc/tuned/tuned-main.conf
: > /var/log/tuned/tuned.log
sync
"""


@pytest.fixture(scope="module")
def tuned(guests, tmp_path_factory):
    """The packages of each guest's release that TuneD needs there, brought into it and installed."""
    from testbed.apt import Archive
    from testbed.releases import RELEASES

    for release, guest in guests.items():
        folder = tmp_path_factory.mktemp(release)
        archive = Archive(RELEASES[release])
        archive.update()
        archive.download_with_dependencies(["tuned", "dbus"], guest.run("cat /var/lib/dpkg/status"), folder)
        with subprocess.Popen(["tar", "-C", str(folder), "-c", "."], stdout=subprocess.PIPE) as packed:
            subprocess.run(guest.ssh_command("mkdir -p /root/packages && tar -C /root/packages -x"),
                           stdin=packed.stdout, check=True, timeout=300)
        guest.run(INSTALL, timeout=900)


@pytest.fixture(scope="module")
def story(play, guests, in_every_guest, request):
    told = SimpleNamespace()

    def reboot():
        for guest in guests.values():
            guest.reboot_by_itself()

    told.persisted = play("persist.yml", gpuhost_values=WANTED)
    request.getfixturevalue("tuned")
    told.refused = play("persist.yml", gpuhost_values={**WANTED, "sysctl": {"vm.swappiness": 11}})
    reboot()
    told.with_reapply = in_every_guest(SETTLED)
    told.verified = play("verify.yml")
    in_every_guest(NO_REAPPLY)
    reboot()
    told.without_reapply = in_every_guest(SETTLED)
    told.verified_again = play("verify.yml")
    return told


def found(run, release):
    return {line["address"]: (line["state"], line["by"]) for line in run.one(release, action="verify")["persisted"]}


def test_a_profile_that_would_win_is_named_before_anything_is_written(story, release):
    story.persisted.succeeded()
    message = story.refused.one(release, action="persisted")["msg"]
    assert f"sysfs:{THP}: {PROFILE} line 2 sets transparent_hugepages = always, wanted madvise" in message
    assert "vm.swappiness" not in message


def test_sysctl_d_wins_over_the_profile_and_its_sysfs_wins_over_ours(story, release):
    assert story.with_reapply[release].splitlines() == ["10", "[always] madvise never"]
    assert found(story.verified, release) == {
        "sysctl:vm.swappiness": ("applied", None), f"sysfs:{THP}": ("overruled", f"{PROFILE}, line 2")}


def test_without_reapply_sysctl_the_profile_wins(story, release):
    assert story.without_reapply[release].splitlines()[0] == "35"
    assert found(story.verified_again, release)["sysctl:vm.swappiness"] == ("overruled", f"{PROFILE}, line 4")
