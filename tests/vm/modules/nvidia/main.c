// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * Test hardware: a stand-in for nvidia.ko. It takes NVIDIA's display functions, gives each a minor and an interrupt,
 * owns char major 195 and shows /proc/driver/nvidia. It computes nothing.
 */
#include <linux/cdev.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include "testhw_nvidia.h"

#define CONTROL_MINOR	255

struct testhw_gpu testhw_gpus[TESTHW_NVIDIA_GPUS];
static dev_t caps;
static struct cdev caps_cdev;

int testhw_nvidia_users(void)
{
	return module_refcount(THIS_MODULE);
}
EXPORT_SYMBOL(testhw_nvidia_users);

static irqreturn_t handle(int irq, void *data)
{
	return IRQ_NONE;
}

static int free_minor(void)
{
	int minor;

	for (minor = 0; minor < TESTHW_NVIDIA_GPUS; minor++)
		if (!testhw_gpus[minor].dev)
			return minor;
	return -ENOSPC;
}

static int probe(struct pci_dev *dev, const struct pci_device_id *id)
{
	int minor = free_minor(), error;

	if (minor < 0)
		return minor;
	error = pcim_enable_device(dev);
	if (error)
		return error;
	error = pci_alloc_irq_vectors(dev, 1, 1, PCI_IRQ_MSI);
	if (error < 0)
		return error;
	error = request_irq(pci_irq_vector(dev, 0), handle, 0, "nvidia", &testhw_gpus[minor]);
	if (error) {
		pci_free_irq_vectors(dev);
		return error;
	}
	testhw_gpus[minor] = (struct testhw_gpu){ .dev = dev, .irq = pci_irq_vector(dev, 0) };
	pci_set_drvdata(dev, &testhw_gpus[minor]);
	testhw_proc_add(minor);
	pm_runtime_put_noidle(&dev->dev);	/* `auto` in power/control suspends the idle device */
	return 0;
}

static void remove(struct pci_dev *dev)
{
	struct testhw_gpu *gpu = pci_get_drvdata(dev);

	pm_runtime_get_noresume(&dev->dev);
	testhw_proc_remove(gpu - testhw_gpus);
	free_irq(gpu->irq, gpu);
	pci_free_irq_vectors(dev);
	gpu->dev = NULL;
}

static int sleep_or_wake(struct device *dev)
{
	return 0;
}

static const struct dev_pm_ops pm_ops = { SET_RUNTIME_PM_OPS(sleep_or_wake, sleep_or_wake, NULL) };
static const struct pci_device_id ids[] = {
	{ PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID, PCI_ANY_ID, PCI_ANY_ID, PCI_BASE_CLASS_DISPLAY << 16, 0xff0000 },
	{ }
};
MODULE_DEVICE_TABLE(pci, ids);
static struct pci_driver driver = {
	.name = "nvidia", .id_table = ids, .probe = probe, .remove = remove, .driver.pm = &pm_ops,
};

static const struct file_operations fops = { .owner = THIS_MODULE };

/* An Xid line as the driver writes it: `echo '0001:04:00.0 79' > /sys/module/nvidia/parameters/testhw_xid`. */
static int set_xid(const char *text, const struct kernel_param *param)
{
	unsigned int domain, bus, slot, xid;

	if (sscanf(text, "%x:%x:%x.0 %u", &domain, &bus, &slot, &xid) != 4)
		return -EINVAL;
	pr_err("NVRM: Xid (PCI:%04x:%02x:%02x): %u, pid='<unknown>', name=<unknown>, test hardware\n",
	       domain, bus, slot, xid);
	return 0;
}

static const struct kernel_param_ops xid_ops = { .set = set_xid };
module_param_cb(testhw_xid, &xid_ops, NULL, 0200);

static int __init register_majors(void)
{
	int error = __register_chrdev(TESTHW_NVIDIA_MAJOR, 0, 248, "nvidia", &fops);

	if (error < 0)
		return error;
	error = __register_chrdev(TESTHW_NVIDIA_MAJOR, CONTROL_MINOR, 1, "nvidiactl", &fops);
	if (error < 0)
		goto gpus;
	error = alloc_chrdev_region(&caps, 0, 64, "nvidia-caps");
	if (error)
		goto control;
	cdev_init(&caps_cdev, &fops);
	error = cdev_add(&caps_cdev, caps, 64);
	if (!error)
		return 0;
	unregister_chrdev_region(caps, 64);
control:
	__unregister_chrdev(TESTHW_NVIDIA_MAJOR, CONTROL_MINOR, 1, "nvidiactl");
gpus:
	__unregister_chrdev(TESTHW_NVIDIA_MAJOR, 0, 248, "nvidia");
	return error;
}

static void unregister_majors(void)
{
	cdev_del(&caps_cdev);
	unregister_chrdev_region(caps, 64);
	__unregister_chrdev(TESTHW_NVIDIA_MAJOR, CONTROL_MINOR, 1, "nvidiactl");
	__unregister_chrdev(TESTHW_NVIDIA_MAJOR, 0, 248, "nvidia");
}

static int __init nvidia_init(void)
{
	int error = register_majors();

	if (error)
		return error;
	error = testhw_proc_init();
	if (error)
		goto majors;
	error = pci_register_driver(&driver);
	if (!error)
		return 0;
	testhw_proc_exit();
majors:
	unregister_majors();
	return error;
}

static void __exit nvidia_exit(void)
{
	pci_unregister_driver(&driver);
	testhw_proc_exit();
	unregister_majors();
}

module_init(nvidia_init);
module_exit(nvidia_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(TESTHW_NVIDIA_VERSION);
MODULE_DESCRIPTION("Test hardware: a stand-in for NVIDIA's kernel module");
