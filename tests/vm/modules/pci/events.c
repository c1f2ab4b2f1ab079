// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * What can befall a function, by order from user space:
 *
 *	echo '0001:04:00.0 gone' > /sys/module/testhw_pci/parameters/event
 *	echo '0001:04:00.0 nonfatal' > /sys/module/testhw_pci/parameters/on_write
 *
 * The second waits for the next write to the function's Device Control register.
 */
#include <linux/aer.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/version.h>
#include "testhw_pci.h"

static const char * const names[TESTHW_EVENTS] = {
	[TESTHW_NOTHING] = "nothing",	[TESTHW_GONE] = "gone",		[TESTHW_BACK] = "back",
	[TESTHW_HARDWIRE] = "hardwire",	[TESTHW_RESET] = "reset",	[TESTHW_NARROW] = "narrow",
	[TESTHW_SLOW] = "slow",		[TESTHW_FULL] = "full",
	[TESTHW_CORRECTABLE] = "correctable",
	[TESTHW_NONFATAL] = "nonfatal",	[TESTHW_FATAL] = "fatal",
};

typedef void (*print_aer_t)(struct pci_dev *dev, int severity, struct aer_capability_regs *regs);
static print_aer_t print_aer;
static struct workqueue_struct *queue;

/* The kernel counts an error where it prints it, in the function that firmware-first reporting uses. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
MODULE_IMPORT_NS(CXL);

static int find_print_aer(void)
{
	print_aer = pci_print_aer;
	return 0;
}
#else
static int find_print_aer(void)
{
	struct kprobe probe = { .symbol_name = "cper_print_aer" };
	int error = register_kprobe(&probe);

	if (error)
		return error;
	print_aer = (print_aer_t)probe.addr;
	unregister_kprobe(&probe);
	return 0;
}
#endif

struct report {
	struct work_struct work;
	int domain, severity;
	struct testhw_function *fn;
};

static void count_error(struct work_struct *work)
{
	struct report *report = container_of(work, struct report, work);
	const struct testhw_seat *seat = report->fn->seat;
	struct aer_capability_regs regs = {
		.cor_status = report->severity == AER_CORRECTABLE ? PCI_ERR_COR_BAD_TLP : 0,
		.uncor_status = report->severity == AER_CORRECTABLE ? 0 : PCI_ERR_UNC_COMP_TIME,
	};
	struct pci_dev *dev = pci_get_domain_bus_and_slot(report->domain, seat->bus,
							  PCI_DEVFN(seat->slot, seat->func));

	if (dev)
		print_aer(dev, report->severity, &regs);
	pci_dev_put(dev);
	kfree(report);
}

/* Called below the lock of configuration accesses too, so the rest is left to a worker. */
static void report_error(int domain, struct testhw_function *fn, int severity)
{
	struct report *report = kzalloc(sizeof(*report), GFP_ATOMIC);

	if (!report)
		return;
	INIT_WORK(&report->work, count_error);
	report->domain = domain;
	report->severity = severity;
	report->fn = fn;
	queue_work(queue, &report->work);
}

static void change_link(struct testhw_function *fn, u16 mask, u16 value)
{
	for (; fn; fn = fn->above) {
		u16 now = testhw_get16(fn, TESTHW_LNKSTA);

		testhw_set16(fn, TESTHW_LNKSTA, (now & ~mask) | value, 0);
		if (fn->seat->kind == TESTHW_ROOT_PORT || fn->seat->kind == TESTHW_DOWNSTREAM)
			break;
	}
}

void testhw_happen(int domain, struct testhw_function *fn, enum testhw_event event)
{
	pr_info("testhw_pci: %04x:%02x:%02x.%u %s\n", domain, fn->seat->bus, fn->seat->slot, fn->seat->func,
		names[event]);
	switch (event) {
	case TESTHW_GONE:
	case TESTHW_BACK:
		fn->gone = event == TESTHW_GONE;
		break;
	case TESTHW_HARDWIRE:
		put_unaligned_le16(0x0fff, fn->writable + TESTHW_DEVCTL);
		break;
	case TESTHW_RESET:
		memcpy(fn->config + TESTHW_DEVCTL, fn->power_on + TESTHW_DEVCTL, 2);
		break;
	case TESTHW_NARROW:
		change_link(fn, PCI_EXP_LNKSTA_NLW, PCI_EXP_LNKSTA_NLW_X8);
		break;
	case TESTHW_SLOW:
		change_link(fn, PCI_EXP_LNKSTA_CLS, PCI_EXP_LNKSTA_CLS_2_5GB);
		break;
	case TESTHW_FULL:
		change_link(fn, PCI_EXP_LNKSTA_NLW | PCI_EXP_LNKSTA_CLS,
			    PCI_EXP_LNKSTA_CLS_32_0GB | 16 << PCI_EXP_LNKSTA_NLW_SHIFT);
		break;
	case TESTHW_CORRECTABLE:
		report_error(domain, fn, AER_CORRECTABLE);
		break;
	case TESTHW_NONFATAL:
		report_error(domain, fn, AER_NONFATAL);
		break;
	case TESTHW_FATAL:
		report_error(domain, fn, AER_FATAL);
		break;
	default:
		break;
	}
}

static int set_event(const char *text, const struct kernel_param *param)
{
	bool later = param->arg;
	unsigned int domain, bus, slot, func;
	struct testhw_function *fn;
	char name[16];
	int event;

	if (sscanf(text, "%x:%x:%x.%u %15s", &domain, &bus, &slot, &func, name) != 5)
		return -EINVAL;
	fn = testhw_find(domain, bus, PCI_DEVFN(slot, func));
	event = match_string(names, TESTHW_EVENTS, name);
	if (!fn)
		return -ENODEV;
	if (event < 0)
		return -EINVAL;
	if (later)
		fn->on_write = event;
	else
		testhw_happen(domain, fn, event);
	return 0;
}

static const struct kernel_param_ops event_ops = { .set = set_event };
module_param_cb(event, &event_ops, NULL, 0200);
MODULE_PARM_DESC(event, "BDF EVENT: happens now");
module_param_cb(on_write, &event_ops, (void *)1, 0200);
MODULE_PARM_DESC(on_write, "BDF EVENT: happens at the next write to Device Control");

int testhw_events_init(void)
{
	int error = find_print_aer();

	if (error)
		return error;
	queue = alloc_workqueue("testhw_pci", 0, 0);
	return queue ? 0 : -ENOMEM;
}

void testhw_events_exit(void)
{
	if (queue)
		destroy_workqueue(queue);
}
