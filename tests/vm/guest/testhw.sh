#!/bin/sh
# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Gives this guest the test hardware. usage: testhw COMMAND
#   healthy                 eight GPUs with their driver, cpufreq, cpuidle: a host in good order
#   flawed                  healthy, then 0001:06:00.0 runs at x8, 0002:01:00.0 has a fixed MaxReadReq,
#                           0002:05:00.0 is passed through
#   event BDF EVENT         gone back hardwire reset narrow slow full correctable nonfatal fatal
#   on-write BDF EVENT      the same, at the next write to the function's Device Control
#   passthrough BDF         binds the function to the driver named vfio-pci
#   rdma inbox|ofed|rebuilt loads that build of ib_core, with one adapter
#   peermem stub|ofed       chooses the build of nvidia_peermem that modprobe finds
#   nodes                   /dev/nvidia*, as nvidia-modprobe makes them
#   off                     unloads everything
set -eu
modules=/usr/lib/modules/$(uname -r)/testhw
variants=/usr/lib/testhw
parameters=/sys/module/testhw_pci/parameters

major() {
    while read -r number name; do
        [ "$name" = "$1" ] && echo "$number" && return
    done < /proc/devices
}

node() {
    rm -f "$1"
    mknod -m "${4:-666}" "$1" c "$2" "$3"
}

nodes() {
    for file in /proc/driver/nvidia/gpus/*/information; do
        while read -r word next value; do
            [ "$word $next" = "Device Minor:" ] && node "/dev/nvidia$value" 195 "$value"
        done < "$file"
    done
    node /dev/nvidiactl 195 255
    node /dev/nvidia-modeset 195 254
    node /dev/nvidia-uvm "$(major nvidia-uvm)" 0
    node /dev/nvidia-uvm-tools "$(major nvidia-uvm)" 1
    mkdir -p /dev/nvidia-caps
    node /dev/nvidia-caps/nvidia-cap1 "$(major nvidia-caps)" 1 400
    node /dev/nvidia-caps/nvidia-cap2 "$(major nvidia-caps)" 2 444
}

healthy() {
    modprobe -a testhw_pci testhw_cpufreq testhw_cpuidle nvidia nvidia_modeset nvidia_uvm
    nodes
}

passthrough() {
    device=/sys/bus/pci/devices/$1
    modprobe testhw_vfio_pci
    echo vfio-pci > "$device/driver_override"
    [ ! -e "$device/driver" ] || echo "$1" > "$device/driver/unbind"
    echo "$1" > /sys/bus/pci/drivers_probe
}

flawed() {
    healthy
    echo "0001:06:00.0 narrow" > $parameters/event
    echo "0002:01:00.0 hardwire" > $parameters/event
    passthrough 0002:05:00.0
}

variant() {
    cp "$variants/$1-$2/$1.ko" "$modules/"
    depmod
}

off() {
    for module in nvidia_peermem gdrdrv nvidia_uvm nvidia_modeset nvidia ib_core testhw_vfio_pci testhw_pci \
            testhw_cpufreq testhw_cpuidle testhw_nmi_watchdog; do
        [ ! -e "/sys/module/$module" ] || rmmod "$module"
    done
    rm -rf /dev/nvidia*
}

command=${1:-}
[ $# -eq 0 ] || shift
case $command in
    healthy | flawed | nodes | off) $command ;;
    event) echo "$1 $2" > $parameters/event ;;
    on-write) echo "$1 $2" > $parameters/on_write ;;
    passthrough) passthrough "$1" ;;
    rdma) variant ib_core "$1" && modprobe ib_core ;;
    peermem) variant nvidia_peermem "$1" ;;
    *) sed -n '/^# Gives/,/^#   off/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
