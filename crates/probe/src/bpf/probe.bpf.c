// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/* Latency of the requests of one TCP port, seen on the server.
 *
 * A request is what a client wrote at once: the segments up to one with PSH, which Linux sets on the last segment of
 * every write. It starts when its first segment reaches the socket, or with `on_receive` attached, when the client's
 * kernel sent it. It is answered by the first segment that leaves the socket after the application has read all of it
 * (tcp_sock.copied_seq); so pipelined requests, and several that are read and answered together, are each counted.
 *
 *   device ──► tc ingress ──► IP ──► cgroup_skb ingress ──► socket ──► application ──► cgroup_skb egress
 *              on_receive            on_request                                        on_response
 *              departure             start                                             answered
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set before loading. */
const volatile __u16 port = 0;            /* of the server, host byte order */
const volatile __u32 netns = 0;           /* inode number of its network namespace */
const volatile bool from_departure = false; /* on_receive is attached: start where the client sent */

enum {
	PASS = 1,          /* what a cgroup_skb program returns to let a packet go on */
	SUB_BITS = 5,      /* 32 buckets for each power of two: 3 % wide */
	BUCKETS = 1024,    /* up to 2^36 ns, 69 s */
	PIPELINE = 16,     /* requests of one connection that may wait at the same time */
	DEPARTURES = 8192, /* packets between tc ingress and their socket */
};

/* Counters of one CPU since the start. `counters.rs` reads them in this order. */
struct counters {
	__u64 buckets[BUCKETS]; /* of answered requests, by latency in ns; crates/core/src/histogram.rs has the bounds */
	__u64 sum_ns;
	__u64 packets;   /* that arrived, acknowledgements included */
	__u64 crowded;   /* requests not counted because PIPELINE of their connection were waiting */
	__u64 undated;   /* requests not counted because their departure is unknown */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counters SEC(".maps");

struct request {
	__u64 start_ns;
	__u32 end; /* sequence number after its last byte */
};

/* One connection. `on_request` alone moves `head`, `on_response` alone `tail`: they may run at the same time. */
struct connection {
	__u32 head;
	__u32 tail;
	__u32 received; /* sequence number after the last byte that arrived */
	__u32 sent;     /* ... and that left */
	bool arriving;  /* the newest request is not complete yet */
	bool receiving; /* `received` holds */
	bool sending;   /* `sent` holds */
	struct request waiting[PIPELINE];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

/* When the packets between tc ingress and their socket were sent. Nothing that the network stack keeps of a packet gets
 * from the one to the other, so they are looked up by what the packet says of itself. Overwriting is all the clean-up
 * that is needed: the tag tells a packet from another one in its slot. */
struct departure {
	__u64 tag;
	__u64 time_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DEPARTURES);
	__type(key, __u32);
	__type(value, struct departure);
} departures SEC(".maps");

struct segment {
	__u32 seq;
	__u32 end;
	__u16 source; /* ports in network byte order */
	__u16 dest;
	bool pushed;
};

/* Sequence numbers wrap around (RFC 9293 section 3.4). */
static __always_inline bool after(__u32 a, __u32 b)
{
	return (__s32)(a - b) > 0;
}

/* Reads the headers at `offset`; false when the packet holds no TCP data. */
static __always_inline bool read_segment(struct __sk_buff *skb, __u32 offset, struct segment *segment)
{
	struct {
		struct iphdr ip;
		struct tcphdr tcp;
	} __attribute__((packed)) head; /* an IPv4 header without options, or the shorter half of an IPv6 packet's headers */
	__u32 at = offset + sizeof(head.ip);

	if (bpf_skb_load_bytes(skb, offset, &head, sizeof(head)))
		return false;
	if (head.ip.version == 4) {
		if (head.ip.protocol != IPPROTO_TCP)
			return false;
		if (head.ip.ihl != 5) {
			at = offset + head.ip.ihl * 4;
			if (bpf_skb_load_bytes(skb, at, &head.tcp, sizeof(head.tcp)))
				return false;
		}
	} else {
		struct ipv6hdr *ip = (struct ipv6hdr *)&head;

		if (ip->version != 6 || ip->nexthdr != IPPROTO_TCP)
			return false;
		at = offset + sizeof(*ip);
		if (bpf_skb_load_bytes(skb, at, &head.tcp, sizeof(head.tcp)))
			return false;
	}
	__s32 length = (__s32)(skb->len - at) - head.tcp.doff * 4;

	if (length <= 0)
		return false;
	segment->seq = bpf_ntohl(head.tcp.seq);
	segment->end = segment->seq + length;
	segment->source = head.tcp.source;
	segment->dest = head.tcp.dest;
	segment->pushed = head.tcp.psh;
	return true;
}

/* The server's socket that a packet belongs to, or NULL. */
static __always_inline struct bpf_sock *server_socket(struct __sk_buff *skb, struct tcp_sock **tcp)
{
	struct bpf_sock *sk = skb->sk;

	if (!sk || sk->src_port != port)
		return NULL;
	sk = bpf_sk_fullsock(sk);
	if (!sk)
		return NULL;
	*tcp = bpf_skc_to_tcp_sock(sk);
	if (!*tcp || (*tcp)->inet_conn.icsk_inet.sk.__sk_common.skc_net.net->ns.inum != netns)
		return NULL;
	return sk;
}

static __always_inline struct counters *own_counters(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&counters, &zero);
}

static __always_inline __u64 departure_tag(const struct segment *segment)
{
	return (__u64)segment->seq << 16 | segment->source;
}

static __always_inline struct departure *departure_slot(__u64 tag)
{
	__u32 slot = tag * 0x9e3779b97f4a7c15ull >> 51; /* Fibonacci hashing: the 13 upper bits */

	return bpf_map_lookup_elem(&departures, &slot);
}

/* As in crates/core/src/histogram.rs: 32 buckets of one ns, then 32 for each power of two. */
static __always_inline __u32 bucket_of(__u64 ns)
{
	__u32 shift = 0;

#pragma unroll
	for (int step = 32; step > 0; step /= 2) {
		if (ns >> (SUB_BITS + step)) {
			ns >>= step;
			shift += step;
		}
	}
	/* `ns` is in 0..63 now, and below 32 only when nothing was shifted. */
	__u32 bucket = (shift << SUB_BITS) + ns;

	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

SEC("cgroup_skb/ingress")
int on_request(struct __sk_buff *skb)
{
	struct tcp_sock *tcp;
	struct bpf_sock *sk = server_socket(skb, &tcp);
	struct counters *own = own_counters();
	struct segment segment;

	if (!sk || !own)
		return PASS;
	own->packets++;
	if (!read_segment(skb, 0, &segment))
		return PASS;
	struct connection *connection = bpf_sk_storage_get(&connections, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	if (!connection || (connection->receiving && !after(segment.end, connection->received)))
		return PASS; /* no memory, or sent again */
	bool continues = connection->arriving;
	__u32 head = connection->head;

	connection->received = segment.end;
	connection->receiving = true;
	if (continues) {
		connection->waiting[(head - 1) % PIPELINE].end = segment.end;
		connection->arriving = !segment.pushed;
		return PASS;
	}
	if (head - connection->tail >= PIPELINE) {
		own->crowded++;
		return PASS;
	}
	__u64 start_ns = bpf_ktime_get_ns();

	if (from_departure) {
		__u64 tag = departure_tag(&segment);
		struct departure *departure = departure_slot(tag);

		if (!departure || departure->tag != tag) {
			own->undated++;
			return PASS;
		}
		start_ns = departure->time_ns;
	}
	connection->waiting[head % PIPELINE].start_ns = start_ns;
	connection->waiting[head % PIPELINE].end = segment.end;
	connection->arriving = !segment.pushed;
	barrier();
	connection->head = head + 1;
	return PASS;
}

SEC("cgroup_skb/egress")
int on_response(struct __sk_buff *skb)
{
	struct bpf_sock *sk = skb->sk;
	struct segment segment;

	if (!sk || sk->src_port != port)
		return PASS;
	sk = bpf_sk_fullsock(sk);
	if (!sk)
		return PASS;
	/* Only a socket of the right namespace has one. */
	struct connection *connection = bpf_sk_storage_get(&connections, sk, NULL, 0);

	if (!connection || connection->head == connection->tail || !read_segment(skb, 0, &segment))
		return PASS;
	if (connection->sending && !after(segment.end, connection->sent))
		return PASS; /* sent again */
	connection->sent = segment.end;
	connection->sending = true;
	struct tcp_sock *tcp = bpf_skc_to_tcp_sock(sk);
	struct counters *own = own_counters();

	if (!tcp || !own)
		return PASS;
	__u64 now_ns = bpf_ktime_get_ns();
	__u32 read = tcp->copied_seq;

	for (int i = 0; i < PIPELINE && connection->tail != connection->head; i++) {
		struct request *request = &connection->waiting[connection->tail % PIPELINE];

		if (after(request->end, read))
			break;
		__s64 latency_ns = now_ns - request->start_ns;

		if (latency_ns < 0)
			latency_ns = 0; /* two CPUs' clocks may differ by a few ns */
		own->buckets[bucket_of(latency_ns) % BUCKETS]++;
		own->sum_ns += latency_ns;
		connection->tail++;
	}
	return PASS;
}

/* Notes when a packet was sent. Until it is delivered, its timestamp is that of its departure, on CLOCK_MONOTONIC, where
 * sender and receiver share a kernel: Linux's net/core/skbuff.h, skb_clear_delivery_time(). */
SEC("tcx/ingress")
int on_receive(struct __sk_buff *skb)
{
	struct segment segment;

	if (skb->tstamp_type != BPF_SKB_TSTAMP_DELIVERY_MONO || !read_segment(skb, ETH_HLEN, &segment) ||
	    segment.dest != bpf_htons(port))
		return TC_ACT_UNSPEC;
	__u64 tag = departure_tag(&segment);
	struct departure *departure = departure_slot(tag);

	if (departure) {
		departure->time_ns = skb->tstamp;
		barrier();
		departure->tag = tag;
	}
	return TC_ACT_UNSPEC;
}
