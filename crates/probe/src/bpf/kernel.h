/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The few kernel structures that the probe reads. CO-RE takes the offsets from the running kernel's BTF, so a structure
 * names only the fields that are used and the path to them. */
#pragma once

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	possible_net_t skc_net;
};

struct sock {
	struct sock_common __sk_common;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 copied_seq; /* the first byte that the application has not read yet */
};

#pragma clang attribute pop
