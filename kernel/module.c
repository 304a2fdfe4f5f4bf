// SPDX-License-Identifier: GPL-2.0-only
/*
 * BayOp's idle governor in an unmodified kernel. EXPERIMENTAL.
 *
 * Each core has a governor of its own, which only that core asks, with interrupts off: when it goes idle, and first
 * about the stay before. What it wants to be woken by is an hrtimer of the core. Packets are counted where NAPI finds
 * them.
 */
#include <linux/cpuidle.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <asm/cpufeature.h>
#include <trace/events/napi.h>

#include "governor.h"
#include "symbols.h"

static unsigned int power[CPUIDLE_STATE_MAX];
static int powers;
module_param_array(power, uint, &powers, 0444);
MODULE_PARM_DESC(power, "of each idle state, in thousandths of a polling core's; must be given");

static unsigned int price = 300;
module_param(price, uint, 0444);
MODULE_PARM_DESC(price, "of 1 us of latency, in thousandths of 1 us of a polling core (300)");

struct core {
	struct hrtimer timer;
	bool fired;
	/* The stay that it has not heard of. */
	bool has_slept;
	u32 slept_us;
	enum bayop_waker waker;
	s64 sleep_ns; /* until the timer that would have ended it */
	/* Polls that found packets since it was asked, and when the last one did. */
	u32 arrivals;
	u64 arrived_us;
};

static DEFINE_PER_CPU(struct core, cores);
static void __percpu *governors;
static void *machine;
static struct bayop_symbols kernel;
static struct cpuidle_governor *previous;

#define MOST_PRICE 16000U

static u64 now_us(void)
{
	return local_clock() / NSEC_PER_USEC;
}

static u32 whole_us(s64 ns)
{
	return clamp_t(s64, ns / NSEC_PER_USEC, 0, U32_MAX);
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	container_of(timer, struct core, timer)->fired = true;
	return HRTIMER_NORESTART;
}

static void on_poll(void *data, struct napi_struct *napi, int work, int budget)
{
	if (work > 0) {
		this_cpu_inc(cores.arrivals);
		this_cpu_write(cores.arrived_us, now_us());
	}
}

static bool is_disabled(const struct cpuidle_device *dev, int state)
{
	return dev->states_usage[state].disable;
}

/* The deepest state that may be entered at most: no governor goes beyond it. */
static int deepest(const struct cpuidle_driver *drv, const struct cpuidle_device *dev, s64 latency_ns)
{
	int state;

	for (state = drv->state_count - 1; state > 0; state--)
		if (!is_disabled(dev, state) && drv->states[state].exit_latency_ns <= latency_ns)
			break;
	return state;
}

static int bayop_enable(struct cpuidle_driver *drv, struct cpuidle_device *dev)
{
	struct core *core = per_cpu_ptr(&cores, dev->cpu);

	if (drv->state_count != powers)
		return -EINVAL;
	*core = (struct core){};
	hrtimer_init(&core->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	core->timer.function = on_timer;
	bayop_core_init(per_cpu_ptr(governors, dev->cpu), machine, price * 1024 / 1000);
	return 0;
}

static void bayop_disable(struct cpuidle_driver *drv, struct cpuidle_device *dev)
{
	hrtimer_cancel(&per_cpu_ptr(&cores, dev->cpu)->timer);
}

static int bayop_select_state(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)
{
	struct core *core = this_cpu_ptr(&cores);
	void *governor = this_cpu_ptr(governors);
	int state = deepest(drv, dev, kernel.latency_req_ns(dev->cpu));
	struct bayop_choice choice;
	ktime_t until_tick;

	if (core->has_slept) {
		bayop_reflect(governor, core->slept_us, core->waker);
		core->has_slept = false;
	}
	if (core->arrivals) {
		bayop_arrivals(governor, core->arrived_us, core->arrivals);
		core->arrivals = 0;
	}
	core->sleep_ns = kernel.sleep_length(&until_tick);
	choice = bayop_select(governor, now_us(), whole_us(core->sleep_ns), whole_us(until_tick),
			      drv->states[state].exit_latency);
	for (state = min_t(int, choice.state, state); state > 0 && is_disabled(dev, state);)
		state--;
	core->fired = false;
	if (choice.wake_after_us != BAYOP_NEVER)
		hrtimer_start(&core->timer, ns_to_ktime((u64)choice.wake_after_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_PINNED_HARD);
	*stop_tick = !choice.keeps_tick;
	return state;
}

/* In the way of whatever woke the core: the governor hears of it when there is time. */
static void bayop_reflect_stay(struct cpuidle_device *dev, int index)
{
	struct core *core = this_cpu_ptr(&cores);
	bool ticked = kernel.got_tick();

	hrtimer_try_to_cancel(&core->timer);
	dev->last_state_idx = index;
	core->has_slept = true;
	core->slept_us = whole_us(dev->last_residency_ns);
	if (dev->last_residency_ns >= core->sleep_ns)
		core->waker = BAYOP_TIMER;
	else if (!need_resched() && core->fired)
		core->waker = BAYOP_OWN;
	else if (!need_resched() && ticked)
		core->waker = BAYOP_TICK;
	else
		core->waker = BAYOP_EVENT;
}

static struct cpuidle_governor governor = {
	.name = "bayop",
	.rating = 0, /* it is taken when somebody asks for it */
	.enable = bayop_enable,
	.disable = bayop_disable,
	.select = bayop_select_state,
	.reflect = bayop_reflect_stay,
};

/* What all cores share, from the driver's table and the powers that were told. */
static int make_machine(void)
{
	struct bayop_state states[CPUIDLE_STATE_MAX];
	struct cpuidle_driver *drv = cpuidle_get_driver();
	int i;

	if (!drv || drv->state_count != powers) {
		pr_err("bayop_idle: power= must have a number for each of the %d idle states\n",
		       drv ? drv->state_count : 0);
		return -EINVAL;
	}
	for (i = 0; i < powers; i++)
		states[i] = (struct bayop_state){
			.exit_latency_us = drv->states[i].exit_latency,
			.target_residency_us = drv->states[i].target_residency,
			.power = min_t(u64, power[i] * 1024ULL / 1000, U32_MAX),
		};
	machine = kzalloc(bayop_machine_bytes(), GFP_KERNEL);
	if (!machine)
		return -ENOMEM;
	if (bayop_machine_init(machine, states, powers))
		return 0;
	pr_err("bayop_idle: from state to state latency and residency must not fall, nor power= rise, from 1000 on\n");
	return -EINVAL;
}

static void unregister(void)
{
	mutex_lock(kernel.lock);
	/* It takes the governor from every core, and waits until none is in it. */
	if (*kernel.current_governor == &governor)
		kernel.switch_governor(previous);
	list_del(&governor.governor_list);
	mutex_unlock(kernel.lock);
}

static void stop_counting(void)
{
	unregister_trace_napi_poll(on_poll, NULL);
	tracepoint_synchronize_unregister();
}

static int __init bayop_init(void)
{
	int error;

	/* What the kernel does not export, such a processor lets nobody else call. */
	if (cpu_feature_enabled(X86_FEATURE_IBT)) {
		pr_err("bayop_idle: the processor must not track indirect branches (boot with ibt=off)\n");
		return -EOPNOTSUPP;
	}
	if (price > MOST_PRICE) {
		pr_err("bayop_idle: price= must be at most %u\n", MOST_PRICE);
		return -EINVAL;
	}
	error = bayop_find_symbols(&kernel);
	if (error)
		return error;
	previous = *kernel.current_governor;
	if (!previous)
		return -ENODEV;
	error = make_machine();
	if (error)
		goto free;
	error = -ENOMEM;
	governors = __alloc_percpu(bayop_core_bytes(), BAYOP_ALIGN);
	if (!governors)
		goto free;
	error = register_trace_napi_poll(on_poll, NULL);
	if (error)
		goto free;
	error = kernel.register_governor(&governor);
	if (error)
		goto stop;
	return 0;
stop:
	stop_counting();
free:
	free_percpu(governors);
	kfree(machine);
	return error;
}

static void __exit bayop_exit(void)
{
	unregister();
	stop_counting();
	free_percpu(governors);
	kfree(machine);
}

module_init(bayop_init);
module_exit(bayop_exit);
MODULE_LICENSE("GPL");
MODULE_AUTHOR("The BayOp authors");
MODULE_DESCRIPTION("Idle governor: least expected cost over the distribution of idle periods");
