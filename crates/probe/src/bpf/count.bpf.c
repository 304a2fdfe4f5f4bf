// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* How many stays every CPU has had in each idle state, by their length, and how well experts have forecast them.
 *
 * Nothing is handed out a stay: what reads the numbers once a window costs nothing between. And of many stays only some
 * are timed, so that a CPU which goes idle a hundred thousand times a second is not slowed down for it: in each window
 * the first `TAKEN` count once, then every second counts twice until as many were taken again, then every fourth. The
 * experts forecast those that are timed, and learn from them alone. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "experts.h"
#include "nothing.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	EXIT = -1,       /* what cpu_idle says when a stay ends */
	BINS = 32,       /* two an octave; the last one has all that is longer. `count.rs` says where they begin. */
	TAKEN = 256,
	MOST = 1 << 20,  /* what a stay counts for at most */
};

/* The target residency of each state; NONE_US where there is none. Set before loading. */
const volatile __u32 residencies_us[STATES] = {};

/* The number of the window. Who reads the numbers counts it up. */
__u32 window = 0;

/* What one CPU does. `count.rs` reads `experts` and `stays`, 40 and 160 bytes from the start. */
struct own {
	__u64 start_ns;  /* 0: none has begun that is timed */
	__u64 length_ns; /* of the one that has ended; 0 when the experts have learned it */
	__u32 state;
	__u32 weight;   /* what it counts for */
	__u32 window;
	__u32 taken;    /* in it */
	__u32 step;     /* one stay of so many is timed */
	__u32 left;     /* stays that go by before the next one is */
	struct experts experts;
	__u64 stays[STATES * BINS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct own);
} cpus SEC(".maps");

/* The bin of a length: twice the logarithm of its us, and one more in the upper half of an octave. A us has 1,024 ns
 * here, which saves a division. */
static __always_inline __u32 bin_of(__u64 length_ns)
{
	__u64 us = length_ns >> 10;
	__u32 octave = 0;

	if (us >= 1ULL << (BINS / 2))
		return BINS - 1;
	for (__u32 bits = 8; bits; bits >>= 1) {
		if (us >> (octave + bits))
			octave += bits;
	}
	return octave ? 2 * octave + ((us >> (octave - 1)) & 1) : 0;
}

static __always_inline void begin(struct own *own, __u32 state)
{
	if (own->window != window) {
		own->window = window;
		own->taken = own->left = 0;
		own->step = 1;
	}
	if (own->length_ns) {
		learn(&own->experts, own->length_ns / 1000, own->weight, residencies_us);
		own->length_ns = 0;
	}
	if (own->left) {
		own->left--;
		return;
	}
	own->left = own->step - 1;
	own->weight = own->step;
	if (++own->taken % TAKEN == 0 && own->step < MOST)
		own->step *= 2;
	own->state = state;
	own->start_ns = bpf_ktime_get_ns();
	forecast(&own->experts, own->start_ns / 1000);
}

static __always_inline void end(struct own *own)
{
	__u64 length_ns = bpf_ktime_get_ns() - own->start_ns;
	__u32 index = own->state * BINS + bin_of(length_ns);

	own->start_ns = 0;
	own->length_ns = length_ns;
	if (index < STATES * BINS)
		own->stays[index] += own->weight;
}

/* The tracepoint's arguments are state and CPU. */
SEC("tp_btf/cpu_idle")
int on_idle(__u64 *arguments)
{
	__u32 state = arguments[0], zero = 0;
	struct own *own = bpf_map_lookup_elem(&cpus, &zero);

	if (!own)
		return 0;
	if (state != (__u32)EXIT)
		begin(own, state);
	else if (own->start_ns)
		end(own);
	return 0;
}

/* The tracepoint's arguments: NAPI, packets found, budget. */
SEC("tp_btf/napi_poll")
int on_poll(__u64 *arguments)
{
	__u32 zero = 0;
	struct own *own;

	if ((__s32)arguments[1] > 0 && (own = bpf_map_lookup_elem(&cpus, &zero)))
		own->experts.polls++;
	return 0;
}

NOTHING_AT("tp_btf/cpu_idle")
