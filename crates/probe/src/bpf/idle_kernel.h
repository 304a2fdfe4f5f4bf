/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The few kernel structures that the recorder of idle periods reads; see kernel.h. */
#pragma once

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
	unsigned long nvcsw; /* switches away from the task, voluntary ones and others */
	unsigned long nivcsw;
};

struct menu_device {
	__u64 next_timer_ns;
};

struct clock_event_device {
	__s64 next_event;
};

struct tick_device {
	struct clock_event_device *evtdev;
};

struct timerqueue_node {
	__s64 expires;
};

struct hrtimer_cpu_base {
	__s64 expires_next; /* of its timers, the first */
};

struct hrtimer_clock_base {
	struct hrtimer_cpu_base *cpu_base;
};

struct hrtimer {
	struct timerqueue_node node;
	const void *function;
	struct hrtimer_clock_base *base;
};

struct tick_sched {
	struct hrtimer sched_timer; /* the tick */
	__s64 last_tick;            /* when it would have been, had it not stopped */
	__s64 idle_entrytime;       /* when the CPU found nothing to do, or was last interrupted since */
	__s64 idle_sleeptime;       /* idle until interrupted or there was something to do, in all ... */
	__s64 iowait_sleeptime;     /* ... and while tasks waited for a device */
};

#pragma clang attribute pop
