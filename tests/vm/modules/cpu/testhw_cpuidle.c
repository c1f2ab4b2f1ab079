// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * Test hardware: a cpuidle driver with the states of an AMD EPYC. Every state halts the virtual CPU alike.
 * The driver names no owner, so that it can be unloaded while the CPUs use it.
 */
#include <linux/cpuidle.h>
#include <linux/module.h>

static int enter_idle(struct cpuidle_device *dev, struct cpuidle_driver *driver, int index)
{
	raw_safe_halt();
	raw_local_irq_disable();
	return index;
}

static struct cpuidle_driver driver = {
	.name = "acpi_idle",
	.state_count = 4,
	.states = {
		[1] = { .name = "C1", .desc = "ACPI FFH MWAIT 0x0", .exit_latency = 1, .target_residency = 2,
			.enter = enter_idle },
		[2] = { .name = "C2", .desc = "ACPI IOPORT 0x814", .exit_latency = 18, .target_residency = 36,
			.enter = enter_idle },
		[3] = { .name = "C3", .desc = "ACPI IOPORT 0x815", .exit_latency = 350, .target_residency = 700,
			.enter = enter_idle },
	},
};

static int __init testhw_cpuidle_init(void)
{
	cpuidle_poll_state_init(&driver);
	return cpuidle_register(&driver, NULL);
}

static void __exit testhw_cpuidle_exit(void)
{
	cpuidle_unregister(&driver);
}

module_init(testhw_cpuidle_init);
module_exit(testhw_cpuidle_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test hardware: a cpuidle driver");
