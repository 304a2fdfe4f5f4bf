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
 * Looking at the clock would be most of what a stay costs. The kernel looks at it anyway, to count how long each CPU is
 * idle: when it found nothing to do, and the sum of all the times until it was interrupted or found something. With these
 * two a stay's begin and length are known when the next one begins, and nothing is done where it ends.
 *
 * What a governor is told is read where the kernel keeps it: the distance to the next timer in menu's own data, the next
 * tick and the alarm that is set in those of the clock. */
#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
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
	__u64 length_ns;  /* 0 while it is not known */
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
	__s64 entry_ns; /* when the kernel found the CPU idle, before the last stay's begin */
	__s64 slept_ns; /* its sum at the last stay's begin */
	__u64 tick;     /* where its tick_sched is, if it was found; 0 before the first stay */
	__u64 self;     /* where this is */
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
extern void *bpf_rdonly_cast(const void *, __u32) __ksym __weak; /* Linux 6.2 */
/* What the tick's timer runs: the first one since Linux 6.9. */
extern const void tick_nohz_handler __ksym __weak;
extern const void tick_sched_timer __ksym __weak;

/* From a CPU's numbers to its tick_sched, in bytes; the same for all CPUs. 0 until it is found. */
__s64 apart = 0;

static __always_inline struct own *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

/* As a number, which a pointer becomes in memory only. */
static __always_inline __u64 address_of(struct own *own)
{
	*(struct own *volatile *)&own->self = own;
	return *(volatile __u64 *)&own->self;
}

/* What a governor is told, from the kernel's own data. */
static __always_inline void look(struct stay *stay, const struct tick_sched *tick, __s64 alarm)
{
	__s64 tick_ns = tick->last_tick - stay->start_ns; /* where the tick has stopped; what it leaves behind passes */

	stay->alarm_ns = alarm - stay->start_ns;
	stay->tick_ns = tick_ns > 0 ? tick_ns : (__s64)(tick->sched_timer.node.expires - stay->start_ns);
}

/* The stay that is under way, or was the last. */
static __always_inline struct stay *latest(struct own *own)
{
	return &own->stays[own->kept % HANDED];
}

/* The stay before is complete if its length is known. The tracepoint's arguments are state and CPU. */
static __always_inline struct stay *begin(struct own *own, __u64 start_ns, const __u64 *arguments)
{
	struct task_struct *idle = bpf_get_current_task_btf();
	__u64 switches = idle->nvcsw + idle->nivcsw;
	struct stay *stay;

	if (latest(own)->length_ns && ++own->kept == HANDED) {
		if (bpf_ringbuf_output(&records, own->stays, sizeof(own->stays), BPF_RB_NO_WAKEUP))
			own->lost += HANDED;
		own->kept = 0;
	}
	stay = latest(own);
	stay->start_ns = start_ns;
	stay->length_ns = 0;
	stay->timer_ns = stay->tick_ns = stay->alarm_ns = UNKNOWN_NS;
	stay->arrived_ns = own->arrived_ns;
	stay->arrivals = own->arrivals;
	stay->cpu = arguments[1];
	stay->state = arguments[0];
	stay->resumed = switches == own->switches;
	stay->network = false;
	own->switches = switches;
	own->arrivals = 0;
	return stay;
}

/* A stay begins, and how long the one before was follows from what the kernel has counted. Where its state ended by itself,
 * as one that polls does, the kernel goes on counting, and the clock tells. */
static __always_inline struct stay *begin_as_counted(struct own *own, const struct tick_sched *tick, const __u64 *arguments)
{
	__s64 entry_ns = tick->idle_entrytime, slept_ns = tick->idle_sleeptime + tick->iowait_sleeptime;
	__s64 start_ns = entry_ns;
	struct stay *before = latest(own);

	if (entry_ns == own->entry_ns) {
		start_ns = bpf_ktime_get_ns();
		slept_ns += start_ns - entry_ns;
	}
	/* The sum begins anew where a CPU went and came back. */
	if (before->start_ns)
		before->length_ns = slept_ns > own->slept_ns ? slept_ns - own->slept_ns : 0;
	own->entry_ns = entry_ns;
	own->slept_ns = slept_ns;
	return begin(own, start_ns, arguments);
}

/* The stay that has begun, or NULL, timed by looking at the clock at both of its ends. */
static __always_inline struct stay *turn_by_clock(struct own *own, const __u64 *arguments)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct stay *stay = latest(own);

	if ((__u32)arguments[0] != (__u32)EXIT)
		return begin(own, now_ns, arguments);
	if (stay->start_ns && !stay->length_ns)
		stay->length_ns = now_ns - stay->start_ns;
	return NULL;
}

/* Whether this kernel counts where others do. */
static __always_inline bool counts(void)
{
	return bpf_core_field_exists(struct tick_sched, idle_sleeptime);
}

static __always_inline struct stay *turn(struct own *own, const struct tick_sched *tick, const __u64 *arguments)
{
	return counts() ? begin_as_counted(own, tick, arguments) : turn_by_clock(own, arguments);
}

/* Whose stay begins, or where it matters, ends. */
static __always_inline struct own *turning(const __u64 *arguments)
{
	return counts() && (__u32)arguments[0] == (__u32)EXIT ? NULL : this_cpu();
}

/* One of three is attached: this one where the kernel tells where it keeps its data. */
SEC("tp_btf/cpu_idle")
int on_idle(__u64 *arguments)
{
	struct own *own = turning(arguments);
	const struct tick_device *device;
	const struct tick_sched *tick;
	struct stay *stay;

	if (!own)
		return 0;
	device = bpf_this_cpu_ptr(&tick_cpu_device);
	tick = bpf_this_cpu_ptr(&tick_cpu_sched);
	stay = turn(own, tick, arguments);
	if (!stay)
		return 0;
	if (by_menu)
		stay->timer_ns = ((const struct menu_device *)bpf_this_cpu_ptr(&menu_devices))->next_timer_ns;
	look(stay, tick, device->evtdev->next_event);
	return 0;
}

/* This one where the ticks were found. The alarm is that of the timers of high resolution, of which the tick is one. */
SEC("tp_btf/cpu_idle")
int on_idle_found(__u64 *arguments)
{
	struct own *own = turning(arguments);
	const struct tick_sched *tick;
	struct stay *stay;

	if (!own || !bpf_rdonly_cast)
		return 0;
	if (!own->tick)
		own->tick = address_of(own) + apart;
	tick = bpf_rdonly_cast((const void *)own->tick, bpf_core_type_id_kernel(struct tick_sched));
	stay = turn(own, tick, arguments);
	if (stay)
		look(stay, tick, tick->sched_timer.base->cpu_base->expires_next);
	return 0;
}

/* And this one elsewhere. */
SEC("tp_btf/cpu_idle")
int on_idle_alone(__u64 *arguments)
{
	struct own *own = this_cpu();

	if (own)
		turn_by_clock(own, arguments);
	return 0;
}

/* Finds where the ticks are, with the first one. The tracepoint's arguments are the timer and the time. */
SEC("tp_btf/hrtimer_expire_entry")
int on_tick(__u64 *arguments)
{
	const struct hrtimer *timer = (const struct hrtimer *)arguments[0];
	const void *function = timer->function;
	struct own *own = this_cpu();

	if (own && function && (function == &tick_nohz_handler || function == &tick_sched_timer))
		apart = (__u64)timer - (__u64)own - bpf_core_field_offset(struct tick_sched, sched_timer);
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
	if (stay->start_ns && bpf_get_current_pid_tgid() == 0)
		stay->network = true;
	return 0;
}

NOTHING_AT("tp_btf/cpu_idle")
