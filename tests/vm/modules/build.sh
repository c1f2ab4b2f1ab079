#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (c) 2026, gpuhost.tuning contributors
#
# usage: build.sh KERNEL_HEADERS OUT
# Builds the test hardware into OUT/modules, and the builds of one module that exclude each other into OUT/variants.
set -eu
headers=$1
out=$2
sources=$(dirname "$(readlink -f "$0")")
work=$out/build
mkdir -p "$work"

# build FOLDER AS INTO [VARIABLE=VALUE...]: FOLDER's modules, from a copy named AS, go to OUT/INTO
build() {
    copy=$work/$2
    into=$out/$3
    cp -r "$sources/$1" "$copy"
    shift 3
    make --silent --jobs="$(nproc)" -C "$headers" M="$copy" modules CONFIG_DEBUG_INFO_BTF_MODULES= TESTHW_SOURCES="$sources" "$@"
    mkdir -p "$into"
    for module in "$copy"/*.ko; do
        strip --strip-debug -o "$into/${module##*/}" "$module"
    done
}

build pci pci modules
build cpu cpu modules
build nvidia nvidia modules
build ib_core ib_core-inbox variants/ib_core-inbox
build ib_core ib_core-ofed variants/ib_core-ofed TESTHW_PEER_MEMORY=y
build ib_core ib_core-rebuilt variants/ib_core-rebuilt TESTHW_PEER_MEMORY=y TESTHW_REBUILT=y
build nvidia_peermem nvidia_peermem-stub variants/nvidia_peermem-stub
build nvidia_peermem nvidia_peermem-ofed variants/nvidia_peermem-ofed TESTHW_PEER_MEMORY=y \
    KBUILD_EXTRA_SYMBOLS="$work/nvidia/Module.symvers $work/ib_core-ofed/Module.symvers"
rm -r "$work"
