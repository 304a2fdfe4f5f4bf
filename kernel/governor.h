/* SPDX-License-Identifier: GPL-2.0-only */
/* BayOp's governor, which governor/src/lib.rs has: the two change together. Nothing here sleeps or takes a lock. */
#ifndef BAYOP_GOVERNOR_H
#define BAYOP_GOVERNOR_H

#include <linux/types.h>

/* What is made in memory of the caller's, which keeps it where it is, begins at a multiple of this. */
#define BAYOP_ALIGN 8

/* No timer. */
#define BAYOP_NEVER U32_MAX

struct bayop_state {
	u32 exit_latency_us;
	u32 target_residency_us;
	u32 power; /* in 1/1024 of a polling core's */
};

struct bayop_choice {
	u32 state;
	u32 wake_after_us; /* a timer after which it wants to be asked again, or BAYOP_NEVER */
	bool keeps_tick;
};

/* What ended a stay. */
enum bayop_waker {
	BAYOP_EVENT, /* a device or another core */
	BAYOP_TIMER, /* the one that bayop_select() was told of */
	BAYOP_TICK,  /* and the core goes on idling */
	BAYOP_OWN,   /* the timer of the choice, and the core goes on idling */
};

/* What all cores share: false if the states are no table (more than 10, latency or residency falls, power rises). */
size_t bayop_machine_bytes(void);
bool bayop_machine_init(void *machine, const struct bayop_state *states, u32 count);

/* One core. The price of latency is in 1/1024 us of a polling core for each us. */
size_t bayop_core_bytes(void);
void bayop_core_init(void *core, const void *machine, u32 price);
struct bayop_choice bayop_select(void *core, u64 now_us, u32 timer_us, u32 tick_us, u32 max_latency_us);
void bayop_arrivals(void *core, u64 at_us, u32 count);
void bayop_reflect(void *core, u32 length_us, enum bayop_waker waker);

#endif
