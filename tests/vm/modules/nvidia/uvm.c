// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * Test hardware: a stand-in for nvidia_uvm.ko. What matters is its char major, the first free dynamic one.
 */
#include <linux/cdev.h>
#include <linux/fs.h>
#include <linux/module.h>
#include "testhw_nvidia.h"

static dev_t numbers;
static struct cdev cdev;
static const struct file_operations fops = { .owner = THIS_MODULE };

static int __init uvm_init(void)
{
	int error;

	if (testhw_nvidia_users() < 0)
		return -ENODEV;
	error = alloc_chrdev_region(&numbers, 0, 2, "nvidia-uvm");
	if (error)
		return error;
	cdev_init(&cdev, &fops);
	error = cdev_add(&cdev, numbers, 2);
	if (error)
		unregister_chrdev_region(numbers, 2);
	return error;
}

static void __exit uvm_exit(void)
{
	cdev_del(&cdev);
	unregister_chrdev_region(numbers, 2);
}

module_init(uvm_init);
module_exit(uvm_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(TESTHW_NVIDIA_VERSION);
MODULE_DESCRIPTION("Test hardware: a stand-in for NVIDIA's uvm module");
