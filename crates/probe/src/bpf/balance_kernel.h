/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* What the wake balancer uses of the kernel's sched_ext (kernel document scheduler/sched-ext); see kernel.h. */
#pragma once

#include <stdbool.h>
#include <linux/types.h>

/* Names of queues: the one of the CPU that was selected, and of another. */
#define SCX_DSQ_LOCAL ((1ULL << 63) | 2)
#define SCX_DSQ_LOCAL_ON ((1ULL << 63) | (1ULL << 62))
/* Wakes a CPU, if it is idle; and ends what it runs. */
#define SCX_KICK_IDLE 1
#define SCX_KICK_PREEMPT 2

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cpumask {};

struct task_struct {
	/* Where it may run. Not const, as the kernel has it: clang 14 would describe the type as a name only, and libbpf
	 * then finds that the functions below are not the kernel's. */
	struct cpumask *cpus_ptr;
};

enum scx_exit_kind {
	SCX_EXIT_NONE,
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	const char *reason;
};

#pragma clang attribute pop

/* The members of a scheduler that the balancer has. libbpf finds them in the kernel's by their names. */
struct sched_ext_ops {
	int (*select_cpu)(struct task_struct *task, int previous, __u64 wake_flags);
	void (*enqueue)(struct task_struct *task, __u64 flags);
	void (*dispatch)(int cpu, struct task_struct *previous);
	void (*running)(struct task_struct *task);
	void (*stopping)(struct task_struct *task, bool runnable);
	void (*tick)(struct task_struct *task);
	int (*init_task)(struct task_struct *task, void *arguments);
	int (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	__u32 timeout_ms;
	char name[128];
};

extern int scx_bpf_create_dsq(__u64 queue, int node) __ksym;
extern void scx_bpf_dsq_insert(struct task_struct *task, __u64 queue, __u64 slice_ns, __u64 flags) __ksym;
extern bool scx_bpf_dsq_move_to_local(__u64 queue) __ksym;
extern int scx_bpf_dsq_nr_queued(__u64 queue) __ksym;
extern void scx_bpf_kick_cpu(int cpu, __u64 flags) __ksym;
extern int scx_bpf_pick_idle_cpu(const struct cpumask *allowed, __u64 flags) __ksym;
extern int scx_bpf_select_cpu_dfl(struct task_struct *task, int previous, __u64 wake_flags, bool *is_idle) __ksym;
extern bool scx_bpf_test_and_clear_cpu_idle(int cpu) __ksym;
extern bool bpf_cpumask_test_cpu(__u32 cpu, const struct cpumask *cpumask) __ksym;
