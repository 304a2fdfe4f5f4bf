//! What a simulated window of time showed.

use crate::engine::{Accounts, Tally};
use crate::power::Energy;
use crate::profile::Profile;
use crate::run::Applied;

/// One idle state in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct IdleStateUse {
    /// Name of the state.
    pub name: String,
    /// Part of the same cores' time spent in it (0 to 1).
    pub residency: f64,
    /// The same of each core: what the states of a core leave, it operated.
    pub core_residency: Vec<f64>,
    /// Entries per second, all cores.
    pub entries_per_s: f64,
}

/// The measurement. Latencies are what clients see (vantage: client); `None` when no request
/// completed.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Mean package power.
    pub power_w: f64,
    /// Package energy of the window, by part.
    pub energy: Energy,
    /// Latency at these quantiles (0 to 1).
    pub latency_us: Vec<(f64, Option<f64>)>,
    /// Mean latency.
    pub mean_us: Option<f64>,
    /// Share of time in which the cores that serve, or could if they had a queue, are not idle (0 to 1).
    pub utilization: f64,
    /// Interrupts of all vectors.
    pub interrupts_per_s: f64,
    /// Requests answered per second.
    pub qps: f64,
    /// Length of the window.
    pub duration_s: f64,
    /// Requests answered.
    pub completed: u64,
    /// Requests dropped at full queues.
    pub dropped: u64,
    /// Use of every idle state.
    pub idle_states: Vec<IdleStateUse>,
    /// rx-usecs in effect: as rounded by the driver, or the mean of what moderation chose.
    pub rx_usecs: f64,
    /// Mean frequency while busy.
    pub freq_mhz: f64,
    /// Retired instructions (estimated).
    pub instructions: f64,
    /// Packets received per second, bare acknowledgements included.
    pub packets_per_s: f64,
    /// Wake-ups of application threads per second.
    pub thread_wakes_per_s: f64,
}

/// Quantiles reported.
pub const QUANTILES: [f64; 6] = [0.05, 0.5, 0.9, 0.95, 0.99, 0.999];

impl Measurement {
    pub(crate) fn new(profile: &Profile, run: &Applied, tally: &Tally, accounts: &Accounts) -> Self {
        let Accounts { window: time, cpu_windows, energy, busy_mhz_us, .. } = accounts;
        let duration_s = run.duration_us * 1e-6;
        let core_us = run.duration_us * (profile.serving_cores() + profile.parked_cores) as f64;
        let per_s = |count: u64| count as f64 / duration_s;
        let states = &profile.machine.idle_states;
        let idle_states = states
            .iter()
            .zip(&time.idle)
            .enumerate()
            .map(|(index, (state, idle))| IdleStateUse {
                name: state.name.clone(),
                residency: idle.total_us() / core_us,
                core_residency: cpu_windows.iter().map(|cpu| cpu.idle[index].total_us() / run.duration_us).collect(),
                entries_per_s: per_s(idle.entries),
            })
            .collect();
        let idle_periods: u64 = time.idle.iter().map(|idle| idle.entries).sum();
        let app = &profile.app;
        // Every round trip receives the message once and sends it once.
        let message_kib = 2.0 * tally.completed as f64 * run.message_bytes / 1024.0;
        let interval_us = tally.interval_us / tally.interrupts.max(1) as f64;
        let fastest_mhz = profile.machine.freq_mhz[profile.machine.freq_mhz.len() - 1];
        Self {
            power_w: energy.total_j() / duration_s,
            energy: *energy,
            latency_us: QUANTILES.map(|q| (q, tally.latency.quantile_us(q))).to_vec(),
            mean_us: tally.latency.mean_us(),
            utilization: time.busy_us / core_us,
            interrupts_per_s: per_s(tally.interrupts),
            qps: per_s(tally.completed),
            duration_s,
            completed: tally.completed,
            dropped: tally.dropped,
            idle_states,
            rx_usecs: run.rx_usecs.unwrap_or(interval_us / profile.machine.nic.rx_usecs_tick_factor),
            freq_mhz: match run.freq_step {
                Some(step) if run.cap_w.is_none() && profile.machine.turbo_mhz.is_empty() => {
                    profile.machine.freq_mhz[step]
                }
                _ if time.busy_us > 0.0 => busy_mhz_us / time.busy_us,
                _ => fastest_mhz,
            },
            instructions: 1e3
                * (tally.completed as f64 * app.request_kinstructions
                    + tally.interrupts as f64 * app.interrupt_kinstructions
                    + idle_periods as f64 * app.idle_kinstructions
                    + profile.exchange.as_ref().map_or(0.0, |e| {
                        message_kib * e.kinstructions_per_kib + tally.packets as f64 * e.packet_kinstructions
                    })),
            packets_per_s: per_s(tally.packets),
            thread_wakes_per_s: per_s(tally.thread_wakes),
        }
    }

    /// Latency at one of [`QUANTILES`].
    pub fn quantile_us(&self, quantile: f64) -> Option<f64> {
        self.latency_us.iter().find(|(q, _)| *q == quantile).and_then(|&(_, us)| us)
    }
}
