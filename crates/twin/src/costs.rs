//! Times of every activity at one frequency, tabulated once per P-state.

use crate::profile::limits::{MAX_POLL_BUDGET, MAX_QUEUE};
use crate::profile::{Dispatch, Profile};

/// Microseconds of every activity at one P-state.
#[derive(Clone, Debug)]
pub struct Costs {
    /// One interrupt, or one look at the queue that finds something.
    pub interrupt_us: f64,
    /// All packets of a poll that found `n`.
    pub packets_us: [f64; MAX_POLL_BUDGET + 1],
    /// Cleaning up after one transmission.
    pub tx_clean_us: f64,
    /// Waking the application thread; a polling core runs it anyway.
    pub thread_wake_us: f64,
    /// Serving one request with `n` in the queue, this one included.
    pub service_us: Vec<f64>,
    /// After each response.
    pub after_response_us: f64,
    /// Entering idle.
    pub idle_entry_us: f64,
    /// Leaving idle (contained in other costs).
    pub idle_exit_us: f64,
    /// Limit of the idle-loop cost for long idle periods.
    pub idle_loop_us: f64,
    /// Reading or writing a byte; zero without a closed loop.
    pub copy_us_per_byte: f64,
}

impl Costs {
    /// Costs of `profile` at each of its P-states.
    ///
    /// `busy_share` says how busy the other threads of a core are, which slows it.
    pub fn table(profile: &Profile, busy_share: f64) -> Vec<Self> {
        let slowdown = 1.0 + busy_share * (profile.machine.busy_sibling_factor - 1.0);
        profile.machine.freq_mhz.iter().map(|&freq_mhz| Self::new(profile, freq_mhz, slowdown)).collect()
    }

    /// Costs of `profile` at `freq_mhz`, when everything takes `slowdown` times as long.
    fn new(profile: &Profile, freq_mhz: f64, slowdown: f64) -> Self {
        let (os, app) = (&profile.os, &profile.app);
        let ghz = freq_mhz / 1000.0;
        let longer = slowdown * os.cost_factor;
        let cycles_us = |kcycles: f64| longer * (kcycles / ghz);
        let kernel_us = |kcycles: f64| longer * (kcycles / ghz + kcycles * os.memory_us_per_kcycle);
        let connections_per_core = (app.connections as f64 / profile.serving_cores() as f64).max(1.0);
        let service_us = |waiting: f64| {
            cycles_us(app.request_kcycles)
                + longer * app.request_us
                + kernel_us(app.lone_request_kcycles) / (1.0 + app.wakeup_batching * waiting)
                + kernel_us(app.per_connection_kcycles) / (1.0 + waiting / connections_per_core)
        };
        let longest_queue = match os.dispatch {
            Dispatch::Steered if app.shared_queue => 1, // requests wait elsewhere
            Dispatch::Steered => app.queue_limit.clamp(1, MAX_QUEUE),
            Dispatch::RunToCompletion | Dispatch::Polling => MAX_POLL_BUDGET,
        };
        Self {
            interrupt_us: kernel_us(if os.polls() { os.poll_kcycles } else { os.interrupt_kcycles }),
            packets_us: std::array::from_fn(|n| {
                let others = n.saturating_sub(1) as f64;
                let lone = kernel_us(os.lone_packet_kcycles) / (1.0 + os.packet_batching * others);
                n as f64 * (kernel_us(os.packet_kcycles) + lone)
            }),
            tx_clean_us: kernel_us(os.tx_clean_kcycles),
            thread_wake_us: if os.polls() { 0.0 } else { kernel_us(os.thread_wake_kcycles) },
            service_us: (0..=longest_queue).map(|n| service_us(n.saturating_sub(1) as f64)).collect(),
            after_response_us: cycles_us(app.after_response_kcycles) + longer * app.after_response_us,
            idle_entry_us: kernel_us(os.idle_entry_kcycles),
            idle_exit_us: kernel_us(os.idle_exit_kcycles),
            idle_loop_us: cycles_us(os.idle_loop_kcycles) + longer * os.idle_loop_us,
            copy_us_per_byte: profile.exchange.as_ref().map_or(0.0, |e| kernel_us(e.copy_kcycles_per_kib)) / 1024.0,
        }
    }
}
