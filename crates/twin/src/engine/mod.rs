//! The discrete-event engine: a window of simulated time, split where policies look.
//!
//! [`steered`] models operating systems that hand requests from the interrupted core to an
//! application thread on another core; [`run_to_completion`] models those that serve them in
//! the interrupt handler or on cores that poll. Both are built from a [`vector`] (receive queue and throttle), a
//! [`sleeper`] (idle states) and a [`tally`] (what is counted). [`exchange`] models a closed loop:
//! two machines and one message.

mod exchange;
mod queue;
mod run_to_completion;
mod server;
mod sleeper;
mod steered;
mod tally;
mod vector;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::balance;
use crate::frequency::FrequencyGovernor;
use crate::idle::{Chooser, Governed, Oracle};
use crate::measure::Measurement;
use crate::moderation::{AdaptiveIxgbe, Fixed, Moderation};
use crate::power::{CoreTime, Energy, PowerModel};
use crate::profile::{Dispatch, IdlePolicy, ModerationPolicy, Profile};
use crate::rng::Rng;
use crate::run::{Applied, Run};
use bayop_core::Error;
use bayop_idle::{Always, IdleGovernor, Menu};
use exchange::PingPong;
use run_to_completion::RunToCompletion;
use server::Server;
use steered::Steered;
pub use tally::Tally;
use vector::Vector;

/// Simulated time after which a simulation looks whether to stop.
const STOP_CHECK_US: f64 = 20_000.0;

/// Simulates one run.
pub fn simulate(profile: &Profile, run: &Run) -> Result<Measurement, Error> {
    static GO_ON: AtomicBool = AtomicBool::new(false);
    simulate_unless(profile, run, &GO_ON).expect("nobody stops this one")
}

/// Simulates one run; gives up with `None` soon after `stop` becomes true.
pub fn simulate_unless(profile: &Profile, run: &Run, stop: &AtomicBool) -> Option<Result<Measurement, Error>> {
    let applied = match run.apply(profile) {
        Ok(applied) => applied,
        Err(error) => return Some(Err(error)),
    };
    let job = Job { profile, run: &applied, stop };
    let tick = profile.machine.nic.rx_usecs_tick_factor;
    match (applied.rx_usecs, profile.os.moderation) {
        (None, ModerationPolicy::Ixgbe) => job.with_moderation(&AdaptiveIxgbe::new(tick)),
        (None, ModerationPolicy::Fixed) => job.with_moderation(&Fixed(profile.os.default_rx_usecs * tick)),
        (Some(rx_usecs), _) => job.with_moderation(&Fixed(rx_usecs * tick)),
    }
    .map(Ok)
}

/// One simulation under way.
struct Job<'a> {
    profile: &'a Profile,
    run: &'a Applied,
    stop: &'a AtomicBool,
}

impl Job<'_> {
    fn with_moderation<M: Moderation>(&self, moderation: &M) -> Option<Measurement> {
        let states = &self.profile.machine.idle_states;
        let deepest = states.len() - 1;
        let halting = states.iter().position(|s| s.exit_latency_us > 0.0).unwrap_or(deepest);
        match self.profile.os.idle_governor {
            IdlePolicy::Menu => self.with_governor(moderation, Menu::default),
            IdlePolicy::Deepest => self.with_governor(moderation, || Always(deepest)),
            IdlePolicy::Shallowest => self.with_governor(moderation, || Always(halting)),
            IdlePolicy::Oracle => self.with_chooser(moderation, |_| Oracle),
        }
    }

    fn with_governor<M: Moderation, G: IdleGovernor>(
        &self,
        moderation: &M,
        governor: impl Fn() -> G,
    ) -> Option<Measurement> {
        let timer_us = self.profile.os.idle_timer_period_us;
        self.with_chooser(moderation, |rng| Governed::new(governor(), timer_us, rng.exponential() * timer_us))
    }

    fn with_chooser<M: Moderation, I: Chooser>(
        &self,
        moderation: &M,
        chooser: impl Fn(&mut Rng) -> I,
    ) -> Option<Measurement> {
        let Self { profile, run, .. } = *self;
        if let Some(exchange) = &profile.exchange {
            let choosers = [0, 1].map(|host| chooser(&mut Rng::new(run.seed, u64::MAX - host)));
            return self.drive(PingPong::new(profile, exchange, run, moderation, choosers));
        }
        let cores = profile.serving_cores();
        let shares = balance::weights(cores, profile.app.queue_imbalance_share, 0.0);
        let mut rng = Rng::new(run.seed, u64::MAX);
        let parts: Vec<(Vector<M>, I)> = balance::spread(cores)
            .enumerate()
            .map(|(core, phase)| {
                let share = shares[core] / cores as f64;
                (Vector::new(profile, run, moderation.clone(), core, share, phase), chooser(&mut rng))
            })
            .collect();
        match profile.os.dispatch {
            Dispatch::Steered => self.drive(Steered::new(profile, run, parts)),
            Dispatch::RunToCompletion | Dispatch::Polling => self.drive(RunToCompletion::new(profile, run, parts)),
        }
    }

    /// Advances a server through warm-up and window, letting the frequency policy look in
    /// between.
    fn drive(&self, mut server: impl Server) -> Option<Measurement> {
        let Self { profile, run, stop } = *self;
        let governor = FrequencyGovernor::new(&profile.os, &profile.machine);
        let dynamic = run.freq_step.is_none() && governor.is_dynamic();
        let chunk_us = if dynamic { profile.os.frequency_sampling_us } else { STOP_CHECK_US };
        let power = PowerModel::new(profile);
        let serving = profile.serving_cores();
        let spare_load = profile.app.spare_core_load_share;
        let spare_loads = vec![spare_load; profile.machine.cores - serving];
        let mut steps = vec![run.freq_step.unwrap_or(governor.initial_step()); profile.machine.cores];
        for (core, &step) in steps[..serving].iter().enumerate() {
            server.set_step(core, step);
        }
        let mut energy = Energy::default();
        let mut busy_mhz_us = 0.0;
        let mut now_us = 0.0;
        for end_us in [run.warmup_us, run.warmup_us + run.duration_us] {
            *server.tally() = Tally::default();
            energy = Energy::default();
            busy_mhz_us = 0.0;
            while now_us < end_us {
                if stop.load(Ordering::Relaxed) {
                    return None;
                }
                let until_us = f64::min(now_us + chunk_us, end_us);
                server.advance(until_us);
                for (core, &step) in steps[..serving].iter().enumerate() {
                    let time = server.core_tally(core).take_time();
                    server.tally().busy_us += time.busy_us;
                    busy_mhz_us += time.busy_us * profile.machine.freq_mhz[step];
                    power.add_cores(&mut energy, step, time);
                }
                let spare = CoreTime { busy_us: spare_load * (until_us - now_us), halted_us: 0.0 };
                for &step in &steps[serving..] {
                    power.add_cores(&mut energy, step, spare);
                }
                if dynamic {
                    let load = |core| server.core_tally(core).take_load(until_us - now_us);
                    let mut loads: Vec<f64> = (0..serving).map(load).collect();
                    loads.extend_from_slice(&spare_loads);
                    let decided = governor.decide(&loads);
                    let changed = |&(core, step): &(usize, &usize)| steps[core] != *step;
                    for (core, &step) in decided[..serving].iter().enumerate().filter(changed) {
                        server.set_step(core, step);
                    }
                    steps = decided;
                }
                now_us = until_us;
            }
        }
        let tally = server.tally();
        power.add_static(&mut energy, run.duration_us, &profile.machine.idle_states, &tally.settled_us);
        Some(Measurement::new(profile, run, tally, energy, busy_mhz_us))
    }
}
