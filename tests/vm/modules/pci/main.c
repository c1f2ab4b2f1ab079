// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * Test hardware: one PCI host bridge a domain, one domain a NUMA node. The kernel enumerates it as any other.
 */
#include <linux/ioport.h>
#include <linux/module.h>
#include <linux/vmalloc.h>
#include "testhw_pci.h"

#define HIGH_WINDOW	(128ULL << 30)	/* 64-bit prefetchable BARs */
#define LOW_WINDOW	(1ULL << 29)	/* 32-bit BARs */
#define LOW_BUS_ADDRESS	0xc0000000ULL	/* below 4 GiB on the bus, anywhere for the CPU */

struct host_bridge {
	struct pci_sysdata sysdata;	/* arch/x86 finds domain and node here */
	struct pci_bus *bus;
	struct resource busn, high, low;
	struct testhw_function *functions;
};

static struct host_bridge *bridges[TESTHW_DOMAINS];

static struct testhw_function *find_in(struct host_bridge *bridge, unsigned int bus, unsigned int devfn)
{
	unsigned int i;

	for (i = 0; i < testhw_seat_count; i++) {
		const struct testhw_seat *seat = &testhw_seats[i];

		if (seat->bus == bus && PCI_DEVFN(seat->slot, seat->func) == devfn)
			return &bridge->functions[i];
	}
	return NULL;
}

struct testhw_function *testhw_find(int domain, unsigned int bus, unsigned int devfn)
{
	unsigned int nr = domain - TESTHW_FIRST_DOMAIN;

	return nr < TESTHW_DOMAINS && bridges[nr] ? find_in(bridges[nr], bus, devfn) : NULL;
}

static struct host_bridge *bridge_of(struct pci_bus *bus)
{
	return container_of((struct pci_sysdata *)bus->sysdata, struct host_bridge, sysdata);
}

static int read_config(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *value)
{
	struct testhw_function *fn = find_in(bridge_of(bus), bus->number, devfn);

	*value = ~0;
	if (!fn)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (!fn->gone) {
		__le32 raw = 0;

		memcpy(&raw, fn->config + where, size);
		*value = le32_to_cpu(raw);
	}
	return PCIBIOS_SUCCESSFUL;
}

static void store(struct testhw_function *fn, int at, u8 byte)
{
	u8 now = fn->config[at], writable = fn->writable[at];

	fn->config[at] = ((now & ~writable) | (byte & writable)) & ~(byte & fn->clears[at]);
}

/* Bit 15 of Device Control is no setting: in an endpoint it starts a function level reset. */
static void device_control_written(int domain, struct testhw_function *fn, u16 written)
{
	enum testhw_event event = fn->on_write;

	if (written & PCI_EXP_DEVCTL_BCR_FLR && fn->seat->kind >= TESTHW_GPU) {
		pr_warn("testhw_pci: %04x:%02x:%02x.%u function level reset\n", domain, fn->seat->bus,
			fn->seat->slot, fn->seat->func);
		memcpy(fn->config, fn->power_on, sizeof(fn->config));
	}
	fn->on_write = TESTHW_NOTHING;
	if (event != TESTHW_NOTHING)
		testhw_happen(domain, fn, event);
}

static int write_config(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 value)
{
	struct host_bridge *bridge = bridge_of(bus);
	struct testhw_function *fn = find_in(bridge, bus->number, devfn);
	int i;

	if (!fn)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (fn->gone)
		return PCIBIOS_SUCCESSFUL;
	for (i = 0; i < size; i++)
		store(fn, where + i, value >> (8 * i));
	if (where <= TESTHW_DEVCTL && where + size >= TESTHW_DEVCTL + 2)
		device_control_written(bridge->sysdata.domain, fn, value >> (8 * (TESTHW_DEVCTL - where)));
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops config_ops = { .read = read_config, .write = write_config };

static int build_functions(struct host_bridge *bridge)
{
	unsigned int i, j;

	bridge->functions = vzalloc(array_size(testhw_seat_count, sizeof(struct testhw_function)));
	if (!bridge->functions)
		return -ENOMEM;
	for (i = 0; i < testhw_seat_count; i++) {
		struct testhw_function *fn = &bridge->functions[i];

		fn->seat = &testhw_seats[i];
		for (j = 0; j < testhw_seat_count; j++)
			if (testhw_seats[j].secondary && testhw_seats[j].secondary == fn->seat->bus)
				fn->above = &bridge->functions[j];
		testhw_build_config(fn);
	}
	return 0;
}

/* Nothing answers in these windows; they make the addresses of BARs real to the kernel. */
static int claim_windows(struct host_bridge *bridge)
{
	int error;

	bridge->busn = (struct resource){ .name = "testhw_pci", .start = 0, .end = 7, .flags = IORESOURCE_BUS };
	bridge->high = (struct resource){ .name = "testhw_pci prefetchable",
					  .flags = IORESOURCE_MEM | IORESOURCE_PREFETCH | IORESOURCE_MEM_64 };
	bridge->low = (struct resource){ .name = "testhw_pci", .flags = IORESOURCE_MEM };
	error = allocate_resource(&iomem_resource, &bridge->high, HIGH_WINDOW, HIGH_WINDOW, -1, HIGH_WINDOW,
				  NULL, NULL);
	if (error)
		return error;
	error = allocate_resource(&iomem_resource, &bridge->low, LOW_WINDOW, 1ULL << 32, -1, LOW_WINDOW, NULL, NULL);
	if (error)
		release_resource(&bridge->high);
	return error;
}

static int add_bridge(struct host_bridge *bridge, int nr)
{
	LIST_HEAD(windows);
	int error = build_functions(bridge);

	if (!error)
		error = claim_windows(bridge);
	if (error)
		return error;
	bridge->sysdata.domain = TESTHW_FIRST_DOMAIN + nr;
	bridge->sysdata.node = node_online(nr) ? nr : NUMA_NO_NODE;
	pci_add_resource(&windows, &bridge->busn);
	pci_add_resource(&windows, &bridge->high);
	pci_add_resource_offset(&windows, &bridge->low, bridge->low.start - LOW_BUS_ADDRESS);
	bridge->bus = pci_create_root_bus(NULL, 0, &config_ops, &bridge->sysdata, &windows);
	if (!bridge->bus) {
		pci_free_resource_list(&windows);
		release_resource(&bridge->high);
		release_resource(&bridge->low);
		return -ENODEV;
	}
	pci_lock_rescan_remove();
	pci_scan_child_bus(bridge->bus);
	pci_assign_unassigned_bus_resources(bridge->bus);
	pci_bus_add_devices(bridge->bus);
	pci_unlock_rescan_remove();
	return 0;
}

static void remove_bridge(struct host_bridge *bridge)
{
	if (bridge->bus) {
		pci_lock_rescan_remove();
		pci_stop_root_bus(bridge->bus);
		pci_remove_root_bus(bridge->bus);
		pci_unlock_rescan_remove();
		release_resource(&bridge->high);
		release_resource(&bridge->low);
	}
	vfree(bridge->functions);
	kfree(bridge);
}

static void testhw_pci_exit(void)
{
	int nr;

	testhw_events_exit();
	for (nr = 0; nr < TESTHW_DOMAINS; nr++) {
		if (bridges[nr])
			remove_bridge(bridges[nr]);
		bridges[nr] = NULL;
	}
}

static int __init testhw_pci_init(void)
{
	int nr, error = testhw_events_init();

	for (nr = 0; nr < TESTHW_DOMAINS && !error; nr++) {
		bridges[nr] = kzalloc(sizeof(struct host_bridge), GFP_KERNEL);
		error = bridges[nr] ? add_bridge(bridges[nr], nr) : -ENOMEM;
	}
	if (error)
		testhw_pci_exit();
	return error;
}

module_init(testhw_pci_init);
module_exit(testhw_pci_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test hardware: PCI domains with display-class functions in memory");
