//! The discrete-event engine: a window of simulated time, split where policies look.
//!
//! [`steered`] models operating systems that hand requests from the interrupted core to an
//! application thread on another core; [`run_to_completion`] models those that serve them in
//! the interrupt handler or on cores that poll. Both are built from a [`vector`] (receive queue and throttle), a
//! [`sleeper`] (idle states) and a [`tally`] (what is counted). [`exchange`] models a closed loop:
//! two machines and one message. [`clocks`] are what policies set, [`accounts`] where time and energy go.

mod accounts;
mod clocks;
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
use crate::idle::{Always, Asked, Chooser, Governed, IdleGovernor, Menu, Oracle, Terms, Timers, named};
use crate::measure::Measurement;
use crate::moderation::{AdaptiveIxgbe, Fixed, Moderation};
use crate::profile::{Dispatch, IdlePolicy, ModerationPolicy, Profile};
use crate::rng::Rng;
use crate::run::{Applied, Run};
use crate::siblings::Siblings;
pub use accounts::Accounts;
use bayop_core::Error;
use clocks::Clocks;
use exchange::PingPong;
use run_to_completion::RunToCompletion;
use server::Server;
use sleeper::Unused;
use steered::Steered;
pub use tally::Tally;
use vector::{Vector, min};

/// Simulated time after which a simulation looks whether to stop. A slice ends there, so this also bounds how late those
/// act who look at slices: siblings, the scheduler's imbalance, and policies that learn. Another value changes results.
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
    let profile = &*match run.server(profile) {
        Ok(server) => server,
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
        let states = &self.profile.machine.idle_states[..self.run.idle_states];
        let deepest = states.len() - 1;
        let halting = self.profile.machine.idle_states_within(0.0).min(deepest);
        match self.profile.os.idle_governor {
            IdlePolicy::Menu => self.with_governor(moderation, Menu::default),
            IdlePolicy::Deepest => self.with_governor(moderation, || Always(deepest)),
            IdlePolicy::Shallowest => self.with_governor(moderation, || Always(halting)),
            IdlePolicy::Oracle => self.with_chooser(moderation, |_| Oracle),
            policy => {
                let terms = Terms::new(self.profile);
                let max_latency_us = terms.states[deepest].exit_latency_us;
                self.with_chooser(moderation, |rng| {
                    let governor = named(policy, &terms).expect("the others are above");
                    Asked::new(governor, &terms.states, max_latency_us, self.timers(rng))
                })
            }
        }
    }

    fn timers(&self, rng: &mut Rng) -> Timers {
        let period_us = self.profile.os.idle_timer_period_us;
        Timers::new(period_us, rng.exponential() * period_us)
    }

    fn with_governor<M: Moderation, G: IdleGovernor>(
        &self,
        moderation: &M,
        governor: impl Fn() -> G,
    ) -> Option<Measurement> {
        self.with_chooser(moderation, |rng| Governed::new(governor(), self.timers(rng)))
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
            Dispatch::Steered if run.freq_step.is_none() && profile.os.frequency_governor.acts_at_events() => {
                self.drive(Steered::<M, I, true>::new(profile, run, parts))
            }
            Dispatch::Steered => self.drive(Steered::<M, I, false>::new(profile, run, parts)),
            Dispatch::RunToCompletion | Dispatch::Polling => self.drive(RunToCompletion::new(profile, run, parts)),
        }
    }

    /// Advances a server through warm-up and window, slice by slice, letting those look in between who set clocks and
    /// costs.
    fn drive(&self, mut server: impl Server) -> Option<Measurement> {
        let Self { profile, run, stop } = *self;
        let (serving, parked) = (profile.serving_cores(), profile.parked_cores);
        let mut accounts = Accounts::new(profile);
        let mut clocks = Clocks::new(profile, run);
        let mut siblings = Siblings::new(profile);
        let mut parked_cpu = Unused::parked(profile, run);
        let mut spare_cpu = Unused::spare(profile, run);
        for (cpu, &step) in clocks.steps()[..serving].iter().enumerate() {
            server.set_step(cpu, step, 0.0);
        }
        let (mut now_us, mut check_us) = (0.0, STOP_CHECK_US);
        for end_us in [run.warmup_us, run.warmup_us + run.duration_us] {
            *server.tally() = Tally::default();
            accounts.begin_window();
            while now_us < end_us {
                if stop.load(Ordering::Relaxed) {
                    return None;
                }
                let until_us = min(min(check_us, clocks.next_us()), end_us);
                let slice_us = until_us - now_us;
                server.advance(until_us);
                let (parked_time, spare_time) = (parked_cpu.take_time(until_us), spare_cpu.take_time(until_us));
                for (cpu, &step) in clocks.steps().iter().enumerate() {
                    if cpu < serving {
                        server.take_time(cpu, until_us, |step, time| accounts.add(cpu, step, time));
                    } else {
                        accounts.add(cpu, step, if cpu < serving + parked { &parked_time } else { &spare_time });
                    }
                }
                accounts.charge(clocks.steps(), slice_us);
                if let Some(costs) = siblings.as_mut().and_then(|siblings| siblings.look(&accounts.cpus, slice_us)) {
                    server.set_costs(costs);
                }
                now_us = until_us;
                if now_us == check_us {
                    check_us += STOP_CHECK_US;
                }
                clocks.look(now_us, &mut accounts);
                clocks.set(|cpu, step| {
                    if cpu < serving {
                        server.set_step(cpu, step, now_us);
                    }
                });
                accounts.end_slice();
            }
        }
        Some(Measurement::new(profile, run, server.tally(), &accounts))
    }
}
