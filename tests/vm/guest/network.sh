#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Network and sshd of a guest, whatever its first process is.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

modprobe virtio_pci 2>/dev/null     # built in on some kernels
modprobe virtio_net
ip link set lo up
until ip link set eth0 up 2>/dev/null; do sleep 0.1; done
ip address add 10.0.2.15/24 dev eth0
ip route add default via 10.0.2.2

mkdir -p /run/sshd
/usr/sbin/sshd
echo "guest ready: $(uname -r)" > /dev/console
