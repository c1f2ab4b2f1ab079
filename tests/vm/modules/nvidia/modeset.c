// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * Test hardware: a stand-in for nvidia_modeset.ko, the third name at char major 195.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include "testhw_nvidia.h"

#define MODESET_MINOR	254

static const struct file_operations fops = { .owner = THIS_MODULE };

static int __init modeset_init(void)
{
	if (testhw_nvidia_users() < 0)
		return -ENODEV;
	return __register_chrdev(TESTHW_NVIDIA_MAJOR, MODESET_MINOR, 1, "nvidia-modeset", &fops);
}

static void __exit modeset_exit(void)
{
	__unregister_chrdev(TESTHW_NVIDIA_MAJOR, MODESET_MINOR, 1, "nvidia-modeset");
}

module_init(modeset_init);
module_exit(modeset_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(TESTHW_NVIDIA_VERSION);
MODULE_DESCRIPTION("Test hardware: a stand-in for NVIDIA's modeset module");
