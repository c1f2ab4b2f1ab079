// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * Test hardware: makes kernel.nmi_watchdog take 0 and 1 in a virtual machine without a performance monitoring unit,
 * by telling kernel/watchdog.c that a detector was found. No NMI is ever raised.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sysctl.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define AVAILABLE	"watchdog_hardlockup_available"
#define WANTED		"watchdog_hardlockup_user_enabled"
#define SYSCTL		"watchdog_hardlockup_sysctl"
typedef bool available_t;
#else
#define AVAILABLE	"nmi_watchdog_available"
#define WANTED		"nmi_watchdog_user_enabled"
#define SYSCTL		NULL	/* the file is writable anyway */
typedef int available_t;
#endif

static available_t *available;
static struct ctl_table *entry;

static int __init testhw_nmi_watchdog_init(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	unsigned long (*lookup)(const char *name);
	int *wanted, error = register_kprobe(&probe);

	if (error)
		return error;
	lookup = (void *)probe.addr;
	unregister_kprobe(&probe);
	available = (void *)lookup(AVAILABLE);
	wanted = (void *)lookup(WANTED);
	if (!available || !wanted)
		return -ENOENT;
	if (SYSCTL) {
		entry = (void *)lookup(SYSCTL);
		if (!entry)
			return -ENOENT;
		entry->mode |= 0200;
	}
	*available = true;
	*wanted = 1;
	return 0;
}

static void __exit testhw_nmi_watchdog_exit(void)
{
	*available = false;
	if (entry)
		entry->mode &= ~0200;
}

module_init(testhw_nmi_watchdog_init);
module_exit(testhw_nmi_watchdog_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test hardware: a hard lockup detector that takes 0 and 1");
