// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * Test hardware: a driver with the name vfio-pci that takes a device by driver_override and does nothing with it.
 */
#include <linux/module.h>
#include <linux/pci.h>

static const struct pci_device_id ids[] = { { PCI_DRIVER_OVERRIDE_DEVICE_VFIO(PCI_ANY_ID, PCI_ANY_ID) }, { } };

static int probe(struct pci_dev *dev, const struct pci_device_id *id)
{
	return 0;
}

static struct pci_driver vfio_pci = { .name = "vfio-pci", .id_table = ids, .probe = probe };
module_pci_driver(vfio_pci);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test hardware: a driver named vfio-pci");
