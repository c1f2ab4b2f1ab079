// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * Test hardware: a stand-in for ib_core.ko with one adapter, in three builds.
 *	inbox	as in the mainline kernel: no peer memory
 *	ofed	with the peer memory symbols that nvidia_peermem was built against
 *	rebuilt	the same symbols with other versions, as after an update of the RDMA stack alone
 */
#include <linux/device.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/version.h>
#include "peer_memory.h"

#ifdef TESTHW_PEER_MEMORY
void *ib_register_peer_memory_client(const struct testhw_peer_client *client)
{
	return (void *)client;
}
EXPORT_SYMBOL(ib_register_peer_memory_client);

void ib_unregister_peer_memory_client(void *handle)
{
}
EXPORT_SYMBOL(ib_unregister_peer_memory_client);
#endif

static struct class *class;
static struct device *adapter;

static ssize_t node_type_show(struct device *dev, struct device_attribute *attr, char *text)
{
	return sysfs_emit(text, "1: CA\n");
}
static DEVICE_ATTR_RO(node_type);

static struct class *create_class(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	return class_create("infiniband");
#else
	return class_create(THIS_MODULE, "infiniband");
#endif
}

static int __init ib_core_init(void)
{
	struct pci_dev *nic = pci_get_device(PCI_VENDOR_ID_MELLANOX, PCI_ANY_ID, NULL);
	int error;

	class = create_class();
	if (IS_ERR(class)) {
		pci_dev_put(nic);
		return PTR_ERR(class);
	}
	adapter = device_create(class, nic ? &nic->dev : NULL, 0, NULL, "mlx5_0");
	pci_dev_put(nic);
	error = IS_ERR(adapter) ? PTR_ERR(adapter) : device_create_file(adapter, &dev_attr_node_type);
	if (error)
		class_destroy(class);
	return error;
}

static void __exit ib_core_exit(void)
{
	device_remove_file(adapter, &dev_attr_node_type);
	device_unregister(adapter);
	class_destroy(class);
}

module_init(ib_core_init);
module_exit(ib_core_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test hardware: a stand-in for the InfiniBand core with one adapter");
