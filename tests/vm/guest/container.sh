#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A real LXC container that is given a GPU as on a Proxmox VE host: by lines in /etc/pve/lxc/ID.conf, whose lxc.*
# lines go to LXC as they are. usage: container start ID UVM_MAJOR | stop ID | open ID PATH
#   start ID UVM_MAJOR  with rules for char major 195 and for UVM_MAJOR
#   open ID PATH        open the device node in the container, say what came of it
set -eu
command=$1
id=$2
folder=/var/lib/lxc/$id

configure() {
    mkdir -p /etc/pve/lxc /etc/pve/qemu-server
    cat > "/etc/pve/lxc/$id.conf" <<END
arch: amd64
hostname: ct$id
memory: 256
ostype: debian
rootfs: local:$id/vm-$id-disk-0.raw,size=1G
lxc.cgroup2.devices.allow: c 195:* rwm
lxc.cgroup2.devices.allow: c $1:* rwm
lxc.mount.entry: /dev/nvidia0 dev/nvidia0 none bind,create=file
lxc.mount.entry: /dev/nvidia-uvm dev/nvidia-uvm none bind,create=file
END
    {
        cat <<END
lxc.rootfs.path = dir:$folder/rootfs
lxc.init.cmd = /bin/sleep 86400
lxc.net.0.type = empty
lxc.apparmor.profile = unconfined
lxc.mount.auto = proc:mixed sys:mixed
lxc.cgroup2.devices.deny = a
lxc.cgroup2.devices.allow = c 1:3 rwm
END
        sed -n 's/^\(lxc[^:]*\): /\1 = /p' "/etc/pve/lxc/$id.conf"
    } > "$folder/config"
}

case $command in
    start)
        mkdir -p "$folder/rootfs/bin" "$folder/rootfs/dev" "$folder/rootfs/proc" "$folder/rootfs/sys"
        cp /usr/bin/busybox "$folder/rootfs/bin/"
        for name in sh sleep; do ln -sf busybox "$folder/rootfs/bin/$name"; done
        configure "$3"
        lxc-start -n "$id"
        ;;
    stop) lxc-stop -n "$id" -k ;;
    open) lxc-attach -n "$id" -- /bin/sh -c ": < $3" 2>&1 && echo opened ;;
    *) exit 2 ;;
esac
