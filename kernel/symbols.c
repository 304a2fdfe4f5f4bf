// SPDX-License-Identifier: GPL-2.0-only
#include <linux/kernel.h>
#include <linux/kprobes.h>

#include "symbols.h"

typedef unsigned long (*lookup_t)(const char *name);

/* kallsyms_lookup_name() knows every symbol, and a kprobe knows where that is. */
static lookup_t find_lookup(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	lookup_t lookup;

	if (register_kprobe(&probe) < 0)
		return NULL;
	lookup = (lookup_t)probe.addr;
	unregister_kprobe(&probe);
	return lookup;
}

int bayop_find_symbols(struct bayop_symbols *symbols)
{
	lookup_t lookup = find_lookup();
	const struct {
		const char *name;
		void *at;
	} wanted[] = {
		{ "cpuidle_register_governor", &symbols->register_governor },
		{ "cpuidle_switch_governor", &symbols->switch_governor },
		{ "cpuidle_governor_latency_req", &symbols->latency_req_ns },
		{ "tick_nohz_get_sleep_length", &symbols->sleep_length },
		{ "tick_nohz_idle_got_tick", &symbols->got_tick },
		{ "cpuidle_lock", &symbols->lock },
		{ "cpuidle_curr_governor", &symbols->current_governor },
	};
	size_t i;

	if (!lookup) {
		pr_err("bayop_idle: the kernel must have kprobes (CONFIG_KPROBES)\n");
		return -EOPNOTSUPP;
	}
	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		unsigned long address = lookup(wanted[i].name);

		if (!address) {
			pr_err("bayop_idle: the kernel must show %s (CONFIG_KALLSYMS_ALL)\n", wanted[i].name);
			return -EOPNOTSUPP;
		}
		*(unsigned long *)wanted[i].at = address;
	}
	return 0;
}
