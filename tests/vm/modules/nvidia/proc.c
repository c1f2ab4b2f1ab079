// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * /proc/driver/nvidia in the layout of the open driver of the 580 series.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include "testhw_nvidia.h"

static struct proc_dir_entry *folder, *gpus;

static int show_version(struct seq_file *file, void *unused)
{
	seq_puts(file, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  " TESTHW_NVIDIA_VERSION
		 "  Release Build  (test hardware)\n");
	seq_puts(file, "GCC version:  gcc " __VERSION__ "\n");
	return 0;
}

static int show_params(struct seq_file *file, void *unused)
{
	seq_puts(file, "ResmanDebugLevel: 4294967295\nModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\n"
		 "DeviceFileMode: 438\nEnableMSI: 1\nEnablePCIERelaxedOrderingMode: 0\nEnableResizableBar: 0\n"
		 "DynamicPowerManagement: 3\nEnableGpuFirmware: 18\nRegistryDwords: \"\"\n");
	return 0;
}

static int show_information(struct seq_file *file, void *unused)
{
	struct testhw_gpu *gpu = file->private;
	int minor = gpu - testhw_gpus;

	seq_puts(file, "Model: \t\t NVIDIA RTX PRO 6000 Blackwell Server Edition\n");
	seq_printf(file, "IRQ:   \t\t %d\n", gpu->irq);
	seq_printf(file, "GPU UUID: \t GPU-7e57a4d0-0000-4000-8000-%012x\n", minor);
	seq_puts(file, "Video BIOS: \t 98.02.67.00.0a\nBus Type: \t PCIe\nDMA Size: \t 47 bits\n");
	seq_puts(file, "DMA Mask: \t 0x7fffffffffff\n");
	seq_printf(file, "Bus Location: \t %s\n", pci_name(gpu->dev));
	seq_printf(file, "Device Minor: \t %d\n", minor);
	seq_puts(file, "GPU Firmware: \t " TESTHW_NVIDIA_VERSION "\nGPU Excluded:\t No\n");
	return 0;
}

void testhw_proc_add(int minor)
{
	struct testhw_gpu *gpu = &testhw_gpus[minor];
	struct proc_dir_entry *entry = proc_mkdir(pci_name(gpu->dev), gpus);

	if (entry)
		proc_create_single_data("information", 0444, entry, show_information, gpu);
}

void testhw_proc_remove(int minor)
{
	remove_proc_subtree(pci_name(testhw_gpus[minor].dev), gpus);
}

int testhw_proc_init(void)
{
	folder = proc_mkdir("driver/nvidia", NULL);
	if (!folder)
		return -ENOMEM;
	proc_create_single("version", 0444, folder, show_version);
	proc_create_single("params", 0444, folder, show_params);
	gpus = proc_mkdir("gpus", folder);
	if (gpus)
		return 0;
	testhw_proc_exit();
	return -ENOMEM;
}

void testhw_proc_exit(void)
{
	remove_proc_subtree("driver/nvidia", NULL);
}
