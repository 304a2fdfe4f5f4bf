/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
#pragma once

/* A program that does nothing, at a tracepoint where another one runs: what the kernel measures of it is what measuring
 * takes (cost.rs). Loaded only where that is asked. */
#define NOTHING_AT(tracepoint) \
	SEC(tracepoint) \
	int on_nothing(__u64 *arguments __attribute__((unused))) \
	{ \
		return 0; \
	}
