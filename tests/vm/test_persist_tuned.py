# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Persisted values against TuneD, which is installed from Debian's packages in guests that systemd runs.

First values are persisted, then TuneD comes with a profile that sets some of them otherwise; the guests are rebooted
with TuneD's default configuration, and once more with reapply_sysctl = 0. A part of make soak (GPUHOST_VM_FULL=1).
"""
from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

pytestmark = [pytest.mark.vm, pytest.mark.skipif(
    os.environ.get("GPUHOST_VM_FULL") != "1", reason="a part of make soak: GPUHOST_VM_FULL=1 asks for it")]
SYSTEMD = True
THP = "/sys/kernel/mm/transparent_hugepage/enabled"
DEFRAG = "/sys/kernel/mm/transparent_hugepage/defrag"
WANTED = {"sysctl": {"vm.swappiness": 10, "net.core.rmem_max": 16777216}, "sysfs": {THP: "madvise", DEFRAG: "madvise"}}
# vm.swappiness is wanted anew, so that there would be something to write.
WANTED_NOW = {**WANTED, "sysctl": {**WANTED["sysctl"], "vm.swappiness": 11}}
THEIRS = [f"sysfs:{THP}", f"sysfs:{DEFRAG}"]
# TuneD 2.20 of Debian 12 looks for profiles in /etc/tuned, 2.25 of Debian 13 in /etc/tuned/profiles.
PROFILES = {"debian12": "/etc/tuned/site/tuned.conf", "debian13": "/etc/tuned/profiles/site/tuned.conf"}
# Services are not started by the packages but by the next boot. apt orders the packages: gawk pre-depends on others.
INSTALL_SECONDS = 1200      # an emulated processor on a busy machine
INSTALL = """
printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d
export DEBIAN_FRONTEND=noninteractive
apt-get --assume-yes --no-install-recommends -o Dpkg::Options::=--force-unsafe-io install /root/packages/*.deb \
    > /root/apt.log 2>&1 || { tail -20 /root/apt.log; exit 1; }
rm -r /root/packages
mkdir /etc/systemd/system/tuned.service.d       # an emulated processor may need more than the 90 seconds of systemd
printf '[Service]\\nTimeoutStartSec=600\\n' > /etc/systemd/system/tuned.service.d/slow.conf
profile=/etc/tuned/profiles/site
grep -q bookworm /etc/os-release && profile=/etc/tuned/site
mkdir -p $profile
cat > $profile/tuned.conf <<'END'
[main]
summary=A profile of this site

[vm]
transparent_hugepages=always

[sysfs]
/sys/kernel/mm/transparent_hugepage/defrag=never

[sysctl]
vm.swappiness=35
END
echo site > /etc/tuned/active_profile
echo manual > /etc/tuned/profile_mode
sync
"""
FILES = "find /etc/sysctl.d /etc/systemd /etc/udev /usr/local/lib /var/lib/gpuhost -type f -exec sha256sum {} +"
TELL = f"cat /proc/sys/vm/swappiness /proc/sys/net/core/rmem_max {THP} {DEFRAG}"
# Without attributes to set there is no gpuhost-boot.service.
BOOTED = f"""
for second in $(seq 240); do
    {{ [ -s /run/gpuhost/boot.json ] || [ ! -e /etc/systemd/system/gpuhost-boot.service ]; }} &&
        grep -q "profile 'site' applied" /var/log/tuned/tuned.log && break
    sleep 1
done
systemctl is-active tuned.service
{TELL}
"""
# As whoever changes a profile does: afterwards TuneD is the last that has written.
APPLIED_AGAIN = f"""
: > /var/log/tuned/tuned.log
tuned-adm profile site
grep -q "profile 'site' applied" /var/log/tuned/tuned.log && {TELL}
"""
NO_REAPPLY = """
sed -i 's/^reapply_sysctl *=.*/reapply_sysctl = 0/' /etc/tuned/tuned-main.conf
: > /var/log/tuned/tuned.log
sync
"""


@pytest.fixture(scope="module")
def install_tuned(guests, in_every_guest, tmp_path_factory):
    """Brings each release's package tuned, with what it depends on, into the guests and installs it there."""
    from testbed.apt import Archive
    from testbed.releases import RELEASES

    def install():
        for release, guest in guests.items():
            archive = Archive(RELEASES[release])
            archive.update()
            status = guest.run("cat /var/lib/dpkg/status")
            guest.copy(archive.download_with_dependencies(["tuned"], status, tmp_path_factory.mktemp(release)),
                       "/root/packages")
        in_every_guest(INSTALL, timeout=INSTALL_SECONDS)
    return install


@pytest.fixture(scope="module")
def story(play, reboot, in_every_guest, install_tuned):
    told = SimpleNamespace()

    told.persisted = play("persist.yml", gpuhost_values=WANTED)
    install_tuned()
    files = in_every_guest(FILES)
    told.refused = play("persist.yml", gpuhost_values=WANTED_NOW)
    told.untouched = in_every_guest(FILES) == files
    reboot()
    told.booted = in_every_guest(BOOTED)
    told.applied_again = in_every_guest(APPLIED_AGAIN)
    told.verified = play("verify.yml")
    told.overridden = play("persist.yml", gpuhost_values=WANTED_NOW, gpuhost_persist_override=THEIRS)
    in_every_guest(NO_REAPPLY)
    reboot()
    told.without_reapply = in_every_guest(BOOTED)
    told.verified_again = play("verify.yml")
    return told


def found(run, release):
    return {line["address"]: (line["state"], line["found"], line["by"])
            for line in run.one(release, action="verify")["persisted"]}


def test_a_profile_that_would_win_is_named_before_anything_is_written(story, release):
    story.persisted.succeeded()
    story.refused.failed()
    message = story.refused.one(release, action="persisted")["msg"]
    profile = PROFILES[release]
    assert f"sysfs:{THP}: {profile} line 5 sets transparent_hugepages = always, wanted madvise" in message
    assert f"sysfs:{DEFRAG}: {profile} line 8 sets {DEFRAG} = never, wanted madvise" in message
    assert "vm.swappiness" not in message       # TuneD sets the files of /etc/sysctl.d again
    assert story.untouched


def test_sysctl_d_wins_over_the_profile_at_boot(story, release):
    active, swappiness, rmem, *_sysfs = story.booted[release].splitlines()
    assert (active, swappiness, rmem) == ("active", "10", "16777216")


def test_the_profile_wins_in_sysfs_whenever_it_is_applied(story, release):
    assert story.applied_again[release].splitlines() == [
        "10", "16777216", "[always] madvise never", "always defer defer+madvise madvise [never]"]


def test_verify_names_the_profile_that_came_later(story, release):
    profile = PROFILES[release]
    assert found(story.verified, release) == {
        "sysctl:vm.swappiness": ("applied", "10", None), "sysctl:net.core.rmem_max": ("applied", "16777216", None),
        f"sysfs:{THP}": ("overruled", "always", f"{profile}, line 5"),
        f"sysfs:{DEFRAG}": ("overruled", "never", f"{profile}, line 8")}


def test_the_rest_is_written_where_what_wins_is_left_out(story, release):
    story.overridden.succeeded()
    left_out = story.overridden.one(release, action="persisted")["ledger"]["left_out"]
    assert [one["address"] for one in left_out] == THEIRS


def test_without_reapply_sysctl_the_profile_wins(story, release):
    active, swappiness, rmem, *_sysfs = story.without_reapply[release].splitlines()
    assert (active, swappiness, rmem) == ("active", "35", "16777216")
    assert found(story.verified_again, release) == {
        "sysctl:vm.swappiness": ("overruled", "35", f"{PROFILES[release]}, line 11"),
        "sysctl:net.core.rmem_max": ("applied", "16777216", None)}
