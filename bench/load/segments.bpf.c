// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* When the data of a client's TCP connections passes through its kernel: an event for every segment that leaves or
 * arrives. `truth.py` loads this, and makes requests and replies of the segments. */
#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set before loading: the server's port in host byte order. */
const volatile __u16 port = 0;

enum {
	PASS = 1,           /* what a cgroup_skb program returns to let a packet go on */
	EVENTS = 1 << 22,   /* in each direction; later ones are counted only */
};

struct event {
	__u64 time_ns;  /* CLOCK_MONOTONIC */
	__u32 seq;      /* of the first byte */
	__u32 bytes;    /* over loopback 64 KiB and more in one segment */
	__u64 port;     /* the client's end of the connection */
};

struct log {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, EVENTS);
	__type(key, __u32);
	__type(value, struct event);
};

struct log sent SEC(".maps");
struct log received SEC(".maps");
__u64 sent_count, received_count;

static __always_inline int record(struct __sk_buff *skb, void *log, __u64 *count)
{
	struct bpf_sock *sk = skb->sk;
	struct {
		struct iphdr ip; /* without options */
		struct tcphdr tcp;
	} __attribute__((packed)) head;

	if (!sk || sk->dst_port != bpf_htons(port) || bpf_skb_load_bytes(skb, 0, &head, sizeof(head)))
		return PASS;
	__s32 bytes = (__s32)(skb->len - sizeof(head.ip)) - head.tcp.doff * 4;

	if (head.ip.protocol != IPPROTO_TCP || bytes <= 0)
		return PASS;
	__u32 index = __sync_fetch_and_add(count, 1);
	struct event *event = bpf_map_lookup_elem(log, &index);

	if (event) {
		event->time_ns = bpf_ktime_get_ns();
		event->seq = bpf_ntohl(head.tcp.seq);
		event->port = sk->src_port;
		event->bytes = bytes;
	}
	return PASS;
}

SEC("cgroup_skb/egress")
int on_send(struct __sk_buff *skb)
{
	return record(skb, &sent, &sent_count);
}

SEC("cgroup_skb/ingress")
int on_receive(struct __sk_buff *skb)
{
	return record(skb, &received, &received_count);
}
