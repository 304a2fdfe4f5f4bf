/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The few kernel structures that the recorder of interrupts reads; see kernel.h. */
#pragma once

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net_device {
	int ifindex;
	possible_net_t nd_net;
};

struct napi_struct {
	struct net_device *dev;
	unsigned int napi_id;
};

struct sk_buff {
	struct net_device *dev;
	unsigned int len;   /* from data on */
	__u16 mac_header;   /* where the link's header begins, from head on */
	unsigned int end;   /* where struct skb_shared_info stands, from head on */
	unsigned char *head;
	unsigned char *data;
};

struct skb_shared_info {
	unsigned short gso_size;
	unsigned short gso_segs; /* packets that the device makes of it */
};

#pragma clang attribute pop
