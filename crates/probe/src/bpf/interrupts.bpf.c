// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* One record for each interrupt of a NIC.
 *
 *   irq_handler_entry ──► softirq_raise ──► irq_handler_exit ──► softirq_entry ──► napi_poll ... ──► softirq_exit
 *   the queue's last       it has           hard_ns              the polls of      packets           soft_ns
 *   record is complete:    scheduled                             that interrupt
 *   a new one begins       a poll
 *
 * What it brought (packets received, polls, time) is added while the record is the queue's newest. What came before it
 * (packets sent, idle time, counters) is of its CPU, since the CPU's interrupt before. A device without interrupts of its
 * own has a record for each poll, which is complete at once. */
#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "interrupts_kernel.h"
#include "nothing.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set before loading. */
const volatile __u32 device = 0;     /* the index of the NIC, */
const volatile __u32 netns = 0;      /* in the network namespace with this inode number */
const volatile bool by_poll = false; /* it has no interrupts of its own */
const volatile __u32 counters = 0;   /* how many of perf's counters each CPU has, */
const volatile __u32 cpus_possible = 1; /* of so many CPUs, */
const volatile __u32 states = 0;     /* and how many idle states */

/* Set when all programs are attached: what some of them saw before is half a story. */
bool recording = false;

enum {
	EXIT = -1,          /* what cpu_idle says when a CPU wakes */
	NET_RX = 3,         /* linux/interrupt.h, NET_RX_SOFTIRQ */
	STATES = 10,        /* linux/cpuidle.h, CPUIDLE_STATE_MAX */
	MOST_COUNTERS = 4,
	MOST_QUEUES = 256,
	MOST_IRQS = 8192,
	BUFFER = 16 << 20,  /* bytes of records that nobody has read yet */
};

/* `interrupt.rs` tells its readers where each field stands. */
struct record {
	__u64 time_ns; /* when the handler, or the poll, began */
	__u64 rx_bytes;
	__u64 tx_bytes;
	__u64 soft_ns; /* in the softirq of its polls, hard interrupts meanwhile included */
	__u32 rx_packets;
	__u32 tx_packets;
	__u32 polls;
	__u32 budget;  /* packets that these polls might have taken */
	__u32 napi_id; /* of the last poll */
	__u32 cpu;
	__u32 freq_khz;
	__u32 irq;
	__u32 hard_ns;
	__u32 unused;
	/* What its CPU has counted since the CPU's record before, and then ns in each idle state. What the machine has none of
	 * ends the record early: writing its bytes takes longer than all else that is done for a poll. */
	__u64 amounts[MOST_COUNTERS + STATES];
};
_Static_assert(__builtin_offsetof(struct record, amounts) == 72, "interrupt.rs has the places");

/* What one CPU does. `interrupts/kernel.rs` reads its first four numbers, and writes `freq_khz` once. */
struct own {
	__u64 lost; /* records that found no room */
	__u64 rx_packets;
	__u64 tx_packets;
	__u64 uncounted; /* records without a counter that could not be read */
	__u32 freq_khz;
	__u32 handling; /* the queue whose handler runs, from 1; 0 for none */
	__u32 raised;   /* the queue that scheduled a poll last */
	__u32 served;   /* the queue whose polls run, or ran last */
	__u64 rx_bytes;
	__u64 tx_bytes;
	__u64 entered_ns; /* when the handler began */
	__u64 soft_ns;    /* when the softirq began; 0 outside */
	__u64 poll_ns;    /* when the poll began, within the softirq */
	__u64 idle_ns[STATES];
	__u64 counted[MOST_COUNTERS]; /* so far */
	__u64 slept_ns; /* when the CPU became idle; 0 while it is not */
	__u32 state;    /* in which it is idle */
	bool polled;    /* the softirq has polled our device */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct own);
} cpus SEC(".maps");

/* The queue of each interrupt, from 1; 0 for other devices'. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_IRQS);
	__type(key, __u32);
	__type(value, __u32);
} queues SEC(".maps");

/* The newest record of each queue. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_QUEUES + 1);
	__type(key, __u32);
	__type(value, struct record);
} newest SEC(".maps");

/* The counters of all CPUs, one after the other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, BUFFER);
} records SEC(".maps");

static __always_inline struct own *this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

/* How many amounts a record has, */
static __always_inline __u32 amounts(void)
{
	return counters + states;
}

/* and how many bytes it has with them. */
static __always_inline __u64 bytes(void)
{
	return offsetof(struct record, amounts) + amounts() * sizeof(__u64);
}

/* The newest record of a queue, or NULL without any. */
static __always_inline struct record *newest_of(__u32 queue)
{
	return queue ? bpf_map_lookup_elem(&newest, &queue) : NULL;
}

static __always_inline bool is_watched(const struct net_device *dev)
{
	return dev && (__u32)dev->ifindex == device && dev->nd_net.net->ns.inum == netns;
}

/* The CPU is no longer idle. A halted one runs the handler first, and says only then that it has woken. */
static __always_inline void wake(struct own *own, __u64 now_ns)
{
	if (own->slept_ns && own->state < STATES && now_ns > own->slept_ns)
		own->idle_ns[own->state] += now_ns - own->slept_ns;
	own->slept_ns = 0;
}

/* Adds how far the counters of its CPU have come. */
static __always_inline void count(struct record *record, struct own *own)
{
	struct bpf_perf_event_value now = {};
	bool unread = false;

	for (__u32 counter = 0; counter < MOST_COUNTERS; counter++) {
		__u32 index = counter * cpus_possible + record->cpu;

		if (counter >= counters)
			break;
		record->amounts[counter] = 0;
		if (bpf_perf_event_read_value(&events, index, &now, sizeof(now))) {
			unread = true;
			continue;
		}
		record->amounts[counter] = now.counter - own->counted[counter];
		own->counted[counter] = now.counter;
	}
	own->uncounted += unread;
}

/* A new record with what its CPU did since the last one. */
static __always_inline void begin(struct record *record, struct own *own, __u64 now_ns, __u32 irq)
{
	wake(own, now_ns);
	record->time_ns = now_ns;
	for (__u32 state = 0; state < STATES; state++) {
		if (state >= states)
			break;
		record->amounts[counters + state] = own->idle_ns[state];
		own->idle_ns[state] = 0;
	}
	record->tx_packets = own->tx_packets;
	record->tx_bytes = own->tx_bytes;
	own->tx_packets = own->tx_bytes = 0;
	record->rx_packets = record->rx_bytes = 0;
	record->hard_ns = record->soft_ns = 0;
	record->polls = record->budget = record->napi_id = 0;
	record->irq = irq;
	record->cpu = bpf_get_smp_processor_id();
	record->freq_khz = own->freq_khz;
	record->unused = 0;
	count(record, own);
}

/* A poll has ended: its packets are the record's. */
static __always_inline void add_poll(struct record *record, struct own *own, const struct napi_struct *napi, __u32 budget)
{
	record->rx_packets += own->rx_packets;
	record->rx_bytes += own->rx_bytes;
	own->rx_packets = own->rx_bytes = 0;
	record->polls++;
	record->budget += budget;
	record->napi_id = napi->napi_id;
}

static __always_inline int receive(const struct sk_buff *packet)
{
	struct own *own = this_cpu();

	if (!own || !recording || !is_watched(packet->dev))
		return 0;
	own->rx_packets++;
	/* The link's header is no longer part of it. */
	own->rx_bytes += packet->len + (packet->data - packet->head - packet->mac_header);
	return 0;
}

/* All of a driver's packets pass one of these four, before GRO joins them. */
SEC("tp_btf/napi_gro_receive_entry")
int on_gro_receive(__u64 *arguments)
{
	return receive((const struct sk_buff *)arguments[0]);
}

SEC("tp_btf/napi_gro_frags_entry")
int on_gro_frags(__u64 *arguments)
{
	return receive((const struct sk_buff *)arguments[0]);
}

SEC("tp_btf/netif_receive_skb_entry")
int on_receive(__u64 *arguments)
{
	return receive((const struct sk_buff *)arguments[0]);
}

SEC("tp_btf/netif_receive_skb_list_entry")
int on_receive_list(__u64 *arguments)
{
	return receive((const struct sk_buff *)arguments[0]);
}

/* The driver is given a packet, of which it may make several. */
SEC("tp_btf/net_dev_start_xmit")
int on_send(__u64 *arguments)
{
	const struct sk_buff *packet = (const struct sk_buff *)arguments[0];
	const struct net_device *dev = (const struct net_device *)arguments[1];
	struct own *own = this_cpu();
	const struct skb_shared_info *shared;
	__u16 segments;

	if (!own || !recording || !is_watched(dev))
		return 0;
	shared = (const struct skb_shared_info *)(packet->head + packet->end);
	segments = BPF_CORE_READ(shared, gso_size) ? BPF_CORE_READ(shared, gso_segs) : 1;
	own->tx_packets += segments ? segments : 1;
	own->tx_bytes += packet->len;
	return 0;
}

/* The tracepoint's arguments are state and CPU. */
SEC("tp_btf/cpu_idle")
int on_idle(__u64 *arguments)
{
	__u32 state = arguments[0];
	__u64 now_ns = bpf_ktime_get_ns();
	struct own *own = this_cpu();

	if (!own || !recording)
		return 0;
	if (state == (__u32)EXIT) {
		wake(own, now_ns);
	} else {
		own->slept_ns = now_ns;
		own->state = state;
	}
	return 0;
}

/* The tracepoint's arguments are frequency and CPU, which is not always this one. */
SEC("tp_btf/cpu_frequency")
int on_frequency(__u64 *arguments)
{
	__u32 zero = 0;
	struct own *own = bpf_map_lookup_percpu_elem(&cpus, &zero, arguments[1]);

	if (own)
		own->freq_khz = arguments[0];
	return 0;
}

SEC("tp_btf/softirq_entry")
int on_softirq(__u64 *arguments)
{
	struct own *own;

	if ((__u32)arguments[0] != NET_RX)
		return 0;
	own = this_cpu();
	if (own) {
		own->soft_ns = own->poll_ns = bpf_ktime_get_ns();
		own->served = own->raised;
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int on_softirq_end(__u64 *arguments)
{
	struct own *own;
	struct record *record;

	if ((__u32)arguments[0] != NET_RX)
		return 0;
	own = this_cpu();
	if (!own)
		return 0;
	if (own->polled && own->soft_ns) {
		record = newest_of(own->served);
		if (record)
			record->soft_ns += bpf_ktime_get_ns() - own->soft_ns;
	}
	own->polled = false;
	own->soft_ns = 0;
	return 0;
}

/* The poll was all of it: the device has no interrupts. */
static __always_inline void record_poll(struct own *own, const struct napi_struct *napi, __u32 budget)
{
	__u64 now_ns = bpf_ktime_get_ns();
	__u64 began_ns = own->soft_ns ? own->poll_ns : now_ns; /* a thread of the kernel polls outside of the softirq */
	struct record *record = bpf_ringbuf_reserve(&records, bytes(), 0);

	own->poll_ns = now_ns;
	if (!record) {
		own->lost++;
		return;
	}
	begin(record, own, began_ns, 0);
	add_poll(record, own, napi, budget);
	record->soft_ns = now_ns - began_ns;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* The tracepoint's arguments: NAPI, packets found, budget. */
SEC("tp_btf/napi_poll")
int on_poll(__u64 *arguments)
{
	const struct napi_struct *napi = (const struct napi_struct *)arguments[0];
	struct own *own = this_cpu();
	struct record *record;

	if (!own || !recording)
		return 0;
	if (!is_watched(napi->dev)) {
		if (by_poll)
			own->poll_ns = bpf_ktime_get_ns();
		return 0;
	}
	if (by_poll) {
		record_poll(own, napi, arguments[2]);
		return 0;
	}
	own->polled = true;
	record = newest_of(own->served);
	if (record)
		add_poll(record, own, napi, arguments[2]);
	return 0;
}

SEC("tp_btf/softirq_raise")
int on_raise(__u64 *arguments)
{
	struct own *own;

	if ((__u32)arguments[0] != NET_RX)
		return 0;
	own = this_cpu();
	if (own && own->handling)
		own->raised = own->handling;
	return 0;
}

/* Arguments of this and the next: interrupt, its action. */
SEC("tp_btf/irq_handler_exit")
int on_interrupt_end(__u64 *arguments __attribute__((unused)))
{
	struct own *own = this_cpu();
	struct record *record;

	if (!own || !own->handling)
		return 0;
	record = newest_of(own->handling);
	if (record)
		record->hard_ns += bpf_ktime_get_ns() - own->entered_ns;
	own->handling = 0;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int on_interrupt(__u64 *arguments)
{
	__u64 now_ns = bpf_ktime_get_ns();
	__u32 irq = arguments[0];
	__u32 *queue = bpf_map_lookup_elem(&queues, &irq);
	struct record *record, *complete;
	struct own *own;

	if (!queue || !recording)
		return 0;
	record = newest_of(*queue);
	own = this_cpu();
	if (!record || !own)
		return 0;
	if (record->time_ns) {
		complete = bpf_ringbuf_reserve(&records, bytes(), 0);
		if (complete) {
			__builtin_memcpy(complete, record, offsetof(struct record, amounts));
			for (__u32 amount = 0; amount < MOST_COUNTERS + STATES; amount++) {
				if (amount >= amounts())
					break;
				complete->amounts[amount] = record->amounts[amount];
			}
			bpf_ringbuf_submit(complete, BPF_RB_NO_WAKEUP);
		} else {
			own->lost++;
		}
	}
	begin(record, own, now_ns, irq);
	own->handling = *queue;
	own->entered_ns = now_ns;
	return 0;
}

NOTHING_AT("tp_btf/napi_poll")
