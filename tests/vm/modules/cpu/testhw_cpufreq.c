// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * Test hardware: a cpufreq driver without a clock behind it. The kernel's governors, limits and boost are the real ones.
 * By default it is a driver with a frequency table and the name acpi-cpufreq; with `epp=1` one that sets policies
 * and energy preferences, and the name amd-pstate-epp.
 */
#include <linux/cpufreq.h>
#include <linux/module.h>
#include <linux/pm_qos.h>
#include <linux/slab.h>

static bool epp;
module_param(epp, bool, 0444);
MODULE_PARM_DESC(epp, "be amd-pstate-epp instead of acpi-cpufreq");

static bool refuse_boost;
module_param(refuse_boost, bool, 0644);
MODULE_PARM_DESC(refuse_boost, "writes to boost fail");

static struct cpufreq_frequency_table table[] = {
	{ .frequency = 1500000 },
	{ .frequency = 2200000 },
	{ .frequency = 3000000 },
	{ .frequency = 3700000, .flags = CPUFREQ_BOOST_FREQ },
	{ .frequency = CPUFREQ_TABLE_END },
};

static const char * const preferences[] = {
	"default", "performance", "balance_performance", "balance_power", "power"
};
#define PERFORMANCE	1

struct state {
	unsigned int now;		/* kHz */
	int preference;
};
static DEFINE_PER_CPU(struct state, states);

static int init_policy(struct cpufreq_policy *policy)
{
	per_cpu(states, policy->cpu) = (struct state){ .now = table[0].frequency };
	policy->cpuinfo.min_freq = 1500000;
	policy->cpuinfo.max_freq = 3700000;
	policy->min = policy->cpuinfo.min_freq;
	policy->max = policy->cpuinfo.max_freq;
	policy->cur = table[0].frequency;
	policy->cpuinfo.transition_latency = 10000;
	if (epp)
		policy->policy = CPUFREQ_POLICY_POWERSAVE;
	else
		policy->freq_table = table;
	return 0;
}

static int target_index(struct cpufreq_policy *policy, unsigned int index)
{
	per_cpu(states, policy->cpu).now = table[index].frequency;
	return 0;
}

static unsigned int get_frequency(unsigned int cpu)
{
	return per_cpu(states, cpu).now;
}

/* As cpufreq_boost_set_sw() in drivers/cpufreq/cpufreq.c: the policy's own upper limit is lost. */
static int set_boost(struct cpufreq_policy *policy, int on)
{
	unsigned int highest = on ? 3700000 : 3000000;
	int changed;

	if (refuse_boost)
		return -EIO;
	policy->cpuinfo.max_freq = highest;
	policy->max = highest;
	changed = freq_qos_update_request(policy->max_freq_req, highest);
	return changed < 0 ? changed : 0;
}

static struct cpufreq_driver table_driver = {
	.name = "acpi-cpufreq",
	.init = init_policy,
	.verify = cpufreq_generic_frequency_table_verify,
	.target_index = target_index,
	.get = get_frequency,
	.attr = cpufreq_generic_attr,
	.boost_enabled = true,
	.set_boost = set_boost,
};

static int verify_limits(struct cpufreq_policy_data *policy)
{
	cpufreq_verify_within_cpu_limits(policy);
	return 0;
}

static int set_policy(struct cpufreq_policy *policy)
{
	bool fast = policy->policy == CPUFREQ_POLICY_PERFORMANCE;

	per_cpu(states, policy->cpu).now = fast ? policy->max : policy->min;
	if (fast)
		per_cpu(states, policy->cpu).preference = PERFORMANCE;
	return 0;
}

static ssize_t show_energy_performance_preference(struct cpufreq_policy *policy, char *text)
{
	return sysfs_emit(text, "%s\n", preferences[per_cpu(states, policy->cpu).preference]);
}

static ssize_t store_energy_performance_preference(struct cpufreq_policy *policy, const char *text, size_t count)
{
	int wanted = sysfs_match_string(preferences, text);

	if (wanted < 0)
		return -EINVAL;
	if (wanted != PERFORMANCE && policy->policy == CPUFREQ_POLICY_PERFORMANCE)
		return -EBUSY;		/* as amd_pstate_set_energy_pref_index() */
	per_cpu(states, policy->cpu).preference = wanted;
	return count;
}

static ssize_t show_energy_performance_available_preferences(struct cpufreq_policy *policy, char *text)
{
	int i, length = 0;

	for (i = 0; i < ARRAY_SIZE(preferences); i++)
		length += sysfs_emit_at(text, length, "%s ", preferences[i]);
	return length + sysfs_emit_at(text, length, "\n");
}

cpufreq_freq_attr_rw(energy_performance_preference);
cpufreq_freq_attr_ro(energy_performance_available_preferences);
static struct freq_attr *epp_attributes[] = {
	&energy_performance_preference, &energy_performance_available_preferences, NULL
};

static struct cpufreq_driver epp_driver = {
	.name = "amd-pstate-epp",
	.init = init_policy,
	.verify = verify_limits,
	.setpolicy = set_policy,
	.get = get_frequency,
	.attr = epp_attributes,
};

static int __init testhw_cpufreq_init(void)
{
	return cpufreq_register_driver(epp ? &epp_driver : &table_driver);
}

static void __exit testhw_cpufreq_exit(void)
{
	cpufreq_unregister_driver(epp ? &epp_driver : &table_driver);
}

module_init(testhw_cpufreq_init);
module_exit(testhw_cpufreq_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Test hardware: a cpufreq driver");
