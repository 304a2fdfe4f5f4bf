/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* The experts of crates/idle's Yawn, its faults mended, on one CPU: each forecasts how long a stay will be, is scored
 * when that is known, and loses weight by what it was wrong. tests/experts.rs holds them against those. */
#pragma once

#include <linux/types.h>

enum {
	RESIDENCY, /* as long as the last stays, by a moving average */
	NETWORK,   /* until the next poll that finds packets, by their mean gap; scored where there was one */
	EXPERTS,
	TOGETHER = EXPERTS, /* the mean of both by their weights */
	FORECASTS,
	STATES = 10, /* as many as Linux allows (CPUIDLE_STATE_MAX) */
};

enum {
	ONE = 1 << 16, /* all weights together */
	LEAST_WEIGHT = ONE / 200,
	MOST_LOSS_US = 999,
	LEARNING_RATE = 3959, /* 2.36e-4 per us, in units of 2^-24 */
	GAPS_US = 500000,     /* for so long polls are counted */
	MOST_GAP_US = 10000,  /* the network expert abstains beyond */
	NONE_US = ~0U,
};

/* A scored forecast counts for what its stay does. `count.rs` reads these, and the weights. */
struct score {
	__u64 forecasts;
	__u64 hits; /* the deepest state that pays for it is the one for the stay */
	__u64 loss_us;
};

struct experts {
	struct score scores[FORECASTS];
	__u32 weights[EXPERTS]; /* 0 before the first forecast */
	__u32 forecasts_us[FORECASTS];
	__u32 mean_us;
	__u32 gap_us;           /* 0: unknown, or too long */
	__u32 polls;            /* that found packets */
	__u32 polls_of_stay;    /* when the stay began */
	__u32 polls_of_gaps;    /* when counting of gaps did */
	__u64 gaps_began_us;
};

/* A stay begins. */
static inline void forecast(struct experts *experts, __u64 now_us)
{
	__u64 counted_us = now_us - experts->gaps_began_us, sum = 0, weights = 0;

	if (counted_us >= GAPS_US) {
		__u32 polls = experts->polls - experts->polls_of_gaps;
		__u64 gap_us = polls ? counted_us / polls : NONE_US;

		experts->gap_us = gap_us <= MOST_GAP_US ? gap_us : 0;
		experts->gaps_began_us = now_us;
		experts->polls_of_gaps = experts->polls;
	}
	if (!experts->weights[0]) {
		for (int i = 0; i < EXPERTS; i++)
			experts->weights[i] = ONE / EXPERTS;
	}
	experts->forecasts_us[RESIDENCY] = experts->mean_us;
	experts->forecasts_us[NETWORK] = experts->gap_us ? experts->gap_us : (__u32)NONE_US;
	for (int i = 0; i < EXPERTS; i++) {
		if (experts->forecasts_us[i] != (__u32)NONE_US) {
			sum += (__u64)experts->weights[i] * experts->forecasts_us[i];
			weights += experts->weights[i];
		}
	}
	experts->forecasts_us[TOGETHER] = weights ? sum / weights : (__u32)NONE_US;
	experts->polls_of_stay = experts->polls;
}

static inline __u32 loss_us(__u32 forecast_us, __u32 length_us)
{
	__u32 apart_us = forecast_us > length_us ? forecast_us - length_us : length_us - forecast_us;

	return apart_us < MOST_LOSS_US ? apart_us : MOST_LOSS_US;
}

/* A weight after a loss: times exp(-eta loss), by its series. */
static inline __u32 decayed(__u32 weight, __u32 lost_us)
{
	__u64 x = (__u64)LEARNING_RATE * lost_us; /* units of 2^-24 */
	__u64 square = (x * x) >> 24, cube = (square * x) >> 24;

	return (weight * ((1 << 24) - x + square / 2 - cube / 6)) >> 24;
}

/* How many states pay for a length. */
static inline __u32 paying(const volatile __u32 *residencies_us, __u32 length_us)
{
	__u32 count = 0;

	for (int i = 0; i < STATES; i++)
		count += residencies_us[i] <= length_us;
	return count;
}

/* The stay of the last forecast has ended, and the next one begins: now it is known whether packets came. It counts for
 * so many; of the machine's states `residencies_us` has the target residencies, and NONE_US where there is none. */
static inline void learn(struct experts *experts, __u32 length_us, __u32 counts, const volatile __u32 *residencies_us)
{
	__u32 fitting = paying(residencies_us, length_us), before = 0, after = 0, sum = 0, greatest = 0;

	for (int i = 0; i < FORECASTS; i++) {
		__u32 forecast_us = experts->forecasts_us[i], lost_us = loss_us(forecast_us, length_us);

		if (i == NETWORK && experts->polls == experts->polls_of_stay)
			experts->forecasts_us[i] = forecast_us = NONE_US;
		if (forecast_us == (__u32)NONE_US)
			continue;
		experts->scores[i].forecasts += counts;
		experts->scores[i].loss_us += (__u64)counts * lost_us;
		if (paying(residencies_us, forecast_us) == fitting)
			experts->scores[i].hits += counts;
		if (i < EXPERTS) {
			before += experts->weights[i];
			experts->weights[i] = decayed(experts->weights[i], lost_us);
			after += experts->weights[i];
		}
	}
	/* Weights move among those that were scored alone. */
	for (int i = 0; i < EXPERTS; i++) {
		if (experts->forecasts_us[i] != (__u32)NONE_US && after) {
			__u32 share = (__u64)experts->weights[i] * before / after;

			experts->weights[i] = share > LEAST_WEIGHT ? share : LEAST_WEIGHT;
		}
		sum += experts->weights[i];
		if (experts->weights[i] >= experts->weights[greatest])
			greatest = i;
	}
	/* What rounding and the floor gave or took, the greatest weight makes up for. */
	experts->weights[greatest] += ONE - sum;
	experts->mean_us = (18 * (__u64)experts->mean_us + 2 * (__u64)length_us) / 20;
}
