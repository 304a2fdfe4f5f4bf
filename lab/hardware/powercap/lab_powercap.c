// SPDX-License-Identifier: GPL-2.0
/*
 * Modelled power zones behind the kernel's powercap interface.
 *
 * Registers the control type intel-rapl with the zones of a server:
 *
 *	intel-rapl:0	package-0	uncore and core; has two constraints
 *	intel-rapl:0:0	core		part of package-0
 *	intel-rapl:0:1	dram		a child of package-0 that is not part of it
 *	intel-rapl:1	psys		package-0, dram and the board
 *
 * Energy follows how long each CPU was busy and at which frequency (struct
 * cpu_power below), so that it answers to load, to cpufreq and to the
 * constraints. Interface: Documentation/power/powercap/powercap.rst and
 * Documentation/ABI/testing/sysfs-class-powercap of the kernel.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpufreq.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/powercap.h>
#include <linux/workqueue.h>

/* The power law; lab/README.md states it and lab/power_law.py computes it. */
#define UNCORE_UW		9000000ULL
#define DRAM_UW			3000000ULL
#define BOARD_UW		4000000ULL
#define BUSY_DRAM_UW		500000ULL	/* per busy CPU */
#define BUSY_CORE_UW		1500000ULL	/* per busy CPU */
#define BUSY_CORE_NW_PER_MHZ2	2500		/* per busy CPU: 2.5 W/GHz^2 */

#define FALLBACK_FREQ_KHZ	2900000		/* what firmware sets, while no cpufreq driver is loaded */
#define SAMPLE_PERIOD_MS	10
#define PJ_PER_UJ		1000000ULL

static ulong max_energy_range_uj = 262143328850UL;
module_param(max_energy_range_uj, ulong, 0444);
MODULE_PARM_DESC(max_energy_range_uj, "energy counters wrap to 0 at this value (default: as on a Xeon)");

static ulong start_energy_uj;
module_param(start_energy_uj, ulong, 0444);
MODULE_PARM_DESC(start_energy_uj, "what energy counters start at, below max_energy_range_uj (default: 0)");

enum domain_id { PACKAGE, CORE, DRAM, PSYS, NR_DOMAINS };

/**
 * struct domain - one power zone and its energy counter
 * @zone:	what powercap knows of it
 * @energy_uj:	counter, below max_energy_range_uj
 * @carry_pj:	energy that is not yet a whole microjoule
 */
struct domain {
	struct powercap_zone zone;
	u64 energy_uj;
	u64 carry_pj;
};

/**
 * struct constraint - a limit on the power of package-0
 * @name:	as real RAPL names it
 * @max_uw:	highest limit that is accepted
 * @limit_uw:	power is held at or below this
 * @window_us:	kept and read back; the cap acts within a sampling period
 */
struct constraint {
	const char *name;
	u64 max_uw;
	u64 limit_uw;
	u64 window_us;
};

#define MIN_LIMIT_UW	10000000ULL
#define MIN_WINDOW_US	1000ULL
#define MAX_WINDOW_US	40000000ULL

static struct constraint constraints[] = {
	{ .name = "long_term", .max_uw = 60000000, .limit_uw = 60000000, .window_us = 999424 },
	{ .name = "short_term", .max_uw = 75000000, .limit_uw = 75000000, .window_us = 2440 },
};

/* Guards everything below, the counters of the domains and the constraints. */
static DEFINE_MUTEX(model_lock);
static struct domain domains[NR_DOMAINS];
static bool capping = true;
static u64 sampled_us;
static DEFINE_PER_CPU(u64, sampled_busy_us);

static struct powercap_control_type *control_type;

/**
 * cpu_busy_us() - time that a CPU spent not idle since boot
 * @cpu:	the CPU
 *
 * The complement of what /proc/stat shows as idle and iowait.
 */
static u64 cpu_busy_us(unsigned int cpu)
{
	u64 wall_us, idle_us = get_cpu_idle_time(cpu, &wall_us, 0);

	return wall_us - idle_us;
}

static u64 cpu_power_uw(unsigned int cpu)
{
	u64 freq_mhz = (cpufreq_quick_get(cpu) ?: FALLBACK_FREQ_KHZ) / 1000;

	return BUSY_CORE_UW + div_u64(BUSY_CORE_NW_PER_MHZ2 * freq_mhz * freq_mhz, 1000);
}

static u64 limit_uw(void)
{
	u64 limit = U64_MAX;
	int i;

	for (i = 0; capping && i < ARRAY_SIZE(constraints); i++)
		limit = min(limit, constraints[i].limit_uw);
	return limit;
}

static void add_energy(enum domain_id id, u64 energy_pj)
{
	struct domain *domain = &domains[id];
	u64 sum_uj = domain->energy_uj + div64_u64_rem(domain->carry_pj + energy_pj, PJ_PER_UJ, &domain->carry_pj);

	div64_u64_rem(sum_uj, max_energy_range_uj, &domain->energy_uj);
}

/**
 * sample() - account for the energy since the last call
 *
 * Exact as long as no frequency and no limit changed in between: whoever
 * changes a limit samples first. 1 uW * 1 us = 1 pJ.
 */
static void sample(void)
{
	u64 now_us = ktime_to_us(ktime_get());
	u64 span_us = now_us - sampled_us;
	u64 uncore_pj = UNCORE_UW * span_us;
	u64 dram_pj = DRAM_UW * span_us;
	u64 core_pj = 0, limit;
	unsigned int cpu;

	for_each_online_cpu(cpu) {
		u64 *last_us = per_cpu_ptr(&sampled_busy_us, cpu);
		u64 busy_us = cpu_busy_us(cpu);

		/* The kernel's idle clock may step back by a tick: such a CPU was not busy. */
		if (busy_us > *last_us) {
			core_pj += (busy_us - *last_us) * cpu_power_uw(cpu);
			dram_pj += (busy_us - *last_us) * BUSY_DRAM_UW;
		}
		*last_us = busy_us;
	}

	limit = limit_uw();
	if (limit != U64_MAX)
		core_pj = min(core_pj, (limit - UNCORE_UW) * span_us);

	add_energy(CORE, core_pj);
	add_energy(PACKAGE, uncore_pj + core_pj);
	add_energy(DRAM, dram_pj);
	add_energy(PSYS, uncore_pj + core_pj + dram_pj + BOARD_UW * span_us);
	sampled_us = now_us;
}

/*
 * Bounds the time over which a cap averages, and for which energy may be
 * accounted at the wrong frequency. No cpufreq notifier tells about the change:
 * a driver that switches fast (acpi-cpufreq under schedutil) excludes them.
 */
static void sample_periodically(struct work_struct *work)
{
	mutex_lock(&model_lock);
	sample();
	mutex_unlock(&model_lock);
	schedule_delayed_work(to_delayed_work(work), msecs_to_jiffies(SAMPLE_PERIOD_MS));
}

static DECLARE_DELAYED_WORK(sampler, sample_periodically);

static int get_energy_uj(struct powercap_zone *zone, u64 *energy_uj)
{
	mutex_lock(&model_lock);
	sample();
	*energy_uj = container_of(zone, struct domain, zone)->energy_uj;
	mutex_unlock(&model_lock);
	return 0;
}

static int get_max_energy_range_uj(struct powercap_zone *zone, u64 *range_uj)
{
	*range_uj = max_energy_range_uj;
	return 0;
}

static int set_enable(struct powercap_zone *zone, bool enable)
{
	mutex_lock(&model_lock);
	sample();
	capping = enable;
	mutex_unlock(&model_lock);
	return 0;
}

static int get_enable(struct powercap_zone *zone, bool *enable)
{
	*enable = capping;
	return 0;
}

/* The domains are static: there is nothing to free. */
static int release(struct powercap_zone *zone)
{
	return 0;
}

static const struct powercap_zone_ops measured_zone = {
	.get_energy_uj = get_energy_uj,
	.get_max_energy_range_uj = get_max_energy_range_uj,
	.release = release,
};

static const struct powercap_zone_ops limited_zone = {
	.get_energy_uj = get_energy_uj,
	.get_max_energy_range_uj = get_max_energy_range_uj,
	.set_enable = set_enable,
	.get_enable = get_enable,
	.release = release,
};

static int set_power_limit_uw(struct powercap_zone *zone, int id, u64 limit)
{
	if (limit < MIN_LIMIT_UW || limit > constraints[id].max_uw)
		return -EINVAL;
	mutex_lock(&model_lock);
	sample();
	constraints[id].limit_uw = limit;
	mutex_unlock(&model_lock);
	return 0;
}

static int get_power_limit_uw(struct powercap_zone *zone, int id, u64 *limit)
{
	*limit = constraints[id].limit_uw;
	return 0;
}

static int get_max_power_uw(struct powercap_zone *zone, int id, u64 *max_uw)
{
	*max_uw = constraints[id].max_uw;
	return 0;
}

static int get_min_power_uw(struct powercap_zone *zone, int id, u64 *min_uw)
{
	*min_uw = MIN_LIMIT_UW;
	return 0;
}

static int set_time_window_us(struct powercap_zone *zone, int id, u64 window_us)
{
	if (window_us < MIN_WINDOW_US || window_us > MAX_WINDOW_US)
		return -EINVAL;
	constraints[id].window_us = window_us;
	return 0;
}

static int get_time_window_us(struct powercap_zone *zone, int id, u64 *window_us)
{
	*window_us = constraints[id].window_us;
	return 0;
}

static int get_max_time_window_us(struct powercap_zone *zone, int id, u64 *window_us)
{
	*window_us = MAX_WINDOW_US;
	return 0;
}

static int get_min_time_window_us(struct powercap_zone *zone, int id, u64 *window_us)
{
	*window_us = MIN_WINDOW_US;
	return 0;
}

static const char *get_name(struct powercap_zone *zone, int id)
{
	return constraints[id].name;
}

static const struct powercap_zone_constraint_ops constraint_ops = {
	.set_power_limit_uw = set_power_limit_uw,
	.get_power_limit_uw = get_power_limit_uw,
	.get_max_power_uw = get_max_power_uw,
	.get_min_power_uw = get_min_power_uw,
	.set_time_window_us = set_time_window_us,
	.get_time_window_us = get_time_window_us,
	.get_max_time_window_us = get_max_time_window_us,
	.get_min_time_window_us = get_min_time_window_us,
	.get_name = get_name,
};

static const struct {
	const char *name;
	bool in_package;
	bool limited;
} layout[NR_DOMAINS] = {
	[PACKAGE] = { "package-0", false, true },
	[CORE] = { "core", true, false },
	[DRAM] = { "dram", true, false },
	[PSYS] = { "psys", false, false },
};

static void unregister_domains(int count)
{
	while (count--)
		powercap_unregister_zone(control_type, &domains[count].zone);
	powercap_unregister_control_type(control_type);
}

static int register_domains(void)
{
	int id;

	control_type = powercap_register_control_type(NULL, "intel-rapl", NULL);
	if (IS_ERR(control_type))
		return PTR_ERR(control_type);

	for (id = 0; id < NR_DOMAINS; id++) {
		struct powercap_zone *parent = layout[id].in_package ? &domains[PACKAGE].zone : NULL;
		struct powercap_zone *zone =
			powercap_register_zone(&domains[id].zone, control_type, layout[id].name, parent,
					       layout[id].limited ? &limited_zone : &measured_zone,
					       layout[id].limited ? ARRAY_SIZE(constraints) : 0, &constraint_ops);

		if (IS_ERR(zone)) {
			unregister_domains(id);
			return PTR_ERR(zone);
		}
	}
	return 0;
}

static int __init lab_powercap_init(void)
{
	enum domain_id id;
	unsigned int cpu;
	int err;

	if (!max_energy_range_uj) {
		pr_err("max_energy_range_uj must be above 0\n");
		return -EINVAL;
	}
	if (start_energy_uj >= max_energy_range_uj) {
		pr_err("start_energy_uj must be below max_energy_range_uj\n");
		return -EINVAL;
	}
	for (id = 0; id < NR_DOMAINS; id++)
		domains[id].energy_uj = start_energy_uj;

	sampled_us = ktime_to_us(ktime_get());
	for_each_online_cpu(cpu)
		*per_cpu_ptr(&sampled_busy_us, cpu) = cpu_busy_us(cpu);

	err = register_domains();
	if (err)
		return err;
	schedule_delayed_work(&sampler, 0);
	return 0;
}

static void __exit lab_powercap_exit(void)
{
	cancel_delayed_work_sync(&sampler);
	unregister_domains(NR_DOMAINS);
}

module_init(lab_powercap_init);
module_exit(lab_powercap_exit);
MODULE_DESCRIPTION("Modelled power zones for BayOp's lab");
MODULE_AUTHOR("The BayOp authors");
MODULE_LICENSE("GPL");
