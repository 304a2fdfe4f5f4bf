/* SPDX-License-Identifier: GPL-2.0-only */
/* What a governor needs of the kernel and the kernel exports to nobody. */
#ifndef BAYOP_SYMBOLS_H
#define BAYOP_SYMBOLS_H

#include <linux/cpuidle.h>
#include <linux/ktime.h>
#include <linux/mutex.h>

struct bayop_symbols {
	int (*register_governor)(struct cpuidle_governor *governor);
	int (*switch_governor)(struct cpuidle_governor *governor); /* under `lock` */
	s64 (*latency_req_ns)(unsigned int cpu);
	ktime_t (*sleep_length)(ktime_t *until_tick);
	bool (*got_tick)(void); /* and forgets it */
	struct mutex *lock;
	struct cpuidle_governor **current_governor;
};

/* Finds them: 0, or the error that ends loading. */
int bayop_find_symbols(struct bayop_symbols *symbols);

#endif
