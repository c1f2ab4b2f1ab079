// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * Test hardware: a stand-in for gdrdrv.ko. It loads and unloads, and takes the next free dynamic char major: loaded
 * before nvidia_uvm it moves the major of that one. `testhw_hold` keeps a reference that no other module explains.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include "testhw_nvidia.h"

static int major;
static bool held;
static const struct file_operations fops = { .owner = THIS_MODULE };

static int set_hold(const char *text, const struct kernel_param *param)
{
	bool wanted;
	int error = kstrtobool(text, &wanted);

	if (error || wanted == held)
		return error;
	if (wanted)
		__module_get(THIS_MODULE);
	else
		module_put(THIS_MODULE);
	held = wanted;
	return 0;
}

static const struct kernel_param_ops hold_ops = { .set = set_hold };
module_param_cb(testhw_hold, &hold_ops, NULL, 0200);

static int __init gdrdrv_init(void)
{
	if (testhw_nvidia_users() < 0)
		return -ENODEV;
	major = register_chrdev(0, "gdrdrv", &fops);
	return major < 0 ? major : 0;
}

static void __exit gdrdrv_exit(void)
{
	unregister_chrdev(major, "gdrdrv");
}

module_init(gdrdrv_init);
module_exit(gdrdrv_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION("2.5.1");
MODULE_DESCRIPTION("Test hardware: a stand-in for NVIDIA's gdrdrv module");
