// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* The stays of every CPU in idle states.
 *
 *   idle loop ──► cpu_idle(state) ──► cpu_idle(exit) ──► napi_poll ──► ... ──► cpu_idle(state)
 *                 a stay begins       it ends            its waker,            it is complete
 *                                                        arrivals
 *
 * A CPU keeps its complete stays and hands them out by `HANDED`: the lock of the buffer that it shares with the others, and
 * what a record there takes beside its bytes, cost several times what a stay does.
 *
 * What a governor is told is read where the kernel keeps it: the distance to the next timer in menu's own data, the next
 * tick and the alarm that is set in those of the clock. */
#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "idle_kernel.h"
#include "nothing.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set before loading: menu chooses the states, so that its data are of now. */
const volatile bool by_menu = false;

enum {
	EXIT = -1,             /* what cpu_idle says when a stay ends */
	UNKNOWN_NS = -1,       /* no distance */
	HANDED = 64,           /* stays that a CPU hands out at once */
	BUFFER = 4 << 20,      /* bytes that nobody has read yet */
};

/* One stay. `stay.rs` reads it in this order. */
struct stay {
	__u64 start_ns;
	__u64 length_ns;  /* 0 while it lasts */
	__s64 timer_ns;   /* until the next timer when it began, the tick aside; UNKNOWN_NS */
	__s64 tick_ns;    /* until the next tick; UNKNOWN_NS */
	__s64 alarm_ns;   /* until the interrupt that the CPU's timer is programmed for; UNKNOWN_NS */
	__u64 arrived_ns; /* the last poll before it that found packets; 0 for none yet */
	__u32 arrivals;   /* such polls since the stay before */
	__u16 cpu;
	__s8 state;       /* as the kernel numbers them */
	__u8 resumed : 1; /* nothing has run since the stay before */
	__u8 network : 1; /* an interrupt of the network ended it */
};

/* What one CPU does. `record/kernel.rs` reads `lost`, and the stays that were not handed out. */
struct own {
	__u64 lost;     /* stays that found no room */
	__u32 kept;     /* complete stays; the one after them is under way */
	__u32 arrivals;
	__u64 arrived_ns;
	__u64 switches; /* away from the idle task, at the last stay's begin */
	struct stay stays[HANDED];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct own);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, BUFFER);
} records SEC(".maps");

extern const struct menu_device menu_devices __ksym;
extern const struct tick_device tick_cpu_device __ksym;
extern const struct tick_sched tick_cpu_sched __ksym;

static __always_inline struct own *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

/* What a governor is told, from the kernel's own data. */
static __always_inline void look(struct stay *stay)
{
	const struct tick_device *device = bpf_this_cpu_ptr(&tick_cpu_device);
	const struct tick_sched *tick = bpf_this_cpu_ptr(&tick_cpu_sched);
	__s64 tick_ns = tick->last_tick - stay->start_ns; /* where the tick has stopped; what it leaves behind passes */

	if (by_menu)
		stay->timer_ns = ((const struct menu_device *)bpf_this_cpu_ptr(&menu_devices))->next_timer_ns;
	stay->alarm_ns = device->evtdev->next_event - stay->start_ns;
	stay->tick_ns = tick_ns > 0 ? tick_ns : (__s64)(tick->sched_timer.node.expires - stay->start_ns);
}

/* The stay that is under way, or was the last. */
static __always_inline struct stay *latest(struct own *own)
{
	return &own->stays[own->kept % HANDED];
}

static __always_inline struct stay *begin(struct own *own, __u64 now_ns, __u32 state, __u32 cpu)
{
	struct task_struct *idle = bpf_get_current_task_btf();
	__u64 switches = idle->nvcsw + idle->nivcsw;
	struct stay *stay = latest(own);

	stay->start_ns = now_ns;
	stay->length_ns = 0;
	stay->timer_ns = stay->tick_ns = stay->alarm_ns = UNKNOWN_NS;
	stay->arrived_ns = own->arrived_ns;
	stay->arrivals = own->arrivals;
	stay->cpu = cpu;
	stay->state = state;
	stay->resumed = switches == own->switches;
	stay->network = false;
	own->switches = switches;
	own->arrivals = 0;
	return stay;
}

/* The stay that has begun, or NULL. The tracepoint's arguments are state and CPU. */
static __always_inline struct stay *turn(const __u64 *arguments)
{
	__u32 state = arguments[0];
	struct own *own = this_cpu();
	__u64 now_ns = bpf_ktime_get_ns();
	struct stay *stay;

	if (!own)
		return NULL;
	stay = latest(own);
	if (state == (__u32)EXIT) {
		if (stay->start_ns && !stay->length_ns)
			stay->length_ns = now_ns - stay->start_ns;
		return NULL;
	}
	if (stay->length_ns && ++own->kept == HANDED) {
		if (bpf_ringbuf_output(&records, own->stays, sizeof(own->stays), BPF_RB_NO_WAKEUP))
			own->lost += HANDED;
		own->kept = 0;
	}
	return begin(own, now_ns, state, arguments[1]);
}

/* One of the two is loaded: the other where the kernel does not tell where it keeps its data. */
SEC("tp_btf/cpu_idle")
int on_idle(__u64 *arguments)
{
	struct stay *stay = turn(arguments);

	if (stay)
		look(stay);
	return 0;
}

SEC("tp_btf/cpu_idle")
int on_idle_alone(__u64 *arguments)
{
	turn(arguments);
	return 0;
}

/* The tracepoint's arguments: NAPI, packets found, budget. */
SEC("tp_btf/napi_poll")
int on_poll(__u64 *arguments)
{
	struct own *own = this_cpu();
	struct stay *stay;

	if (!own || (__s32)arguments[1] <= 0)
		return 0;
	own->arrivals++;
	own->arrived_ns = bpf_ktime_get_ns();
	stay = latest(own);
	/* On top of the idle task: nothing but this interrupt has run since the CPU woke up. */
	if (stay->length_ns && bpf_get_current_pid_tgid() == 0)
		stay->network = true;
	return 0;
}

NOTHING_AT("tp_btf/cpu_idle")
