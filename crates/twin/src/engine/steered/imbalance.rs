//! How evenly requests fall on application threads.
//!
//! Some threads have more to do than others as long as the server runs. And now and then the scheduler stacks two
//! threads on one core although another is idle, until it balances them anew (Lozi et al., "The Linux scheduler: a
//! decade of wasted cores", EuroSys 2016): that core has the requests of both. A core that falls idle takes a waiting
//! thread over at once, so the busier the machine, the longer that lasts.

use crate::balance::{self, Draw};
use crate::engine::vector::NEVER_US;
use crate::profile::Profile;
use crate::rng::Rng;
use crate::run::Applied;

/// Stream of a run's random numbers; those of cores count from zero.
const STREAM: u64 = 1 << 32;

/// Whom requests go to, and until when.
pub struct Imbalance {
    cores: usize,
    requests_per_us: f64,
    greatest_sd: f64,
    /// What the tables were made for; they take longer to make than a slow service's core takes to simulate.
    relative_sd: f64,
    exponent: f64,
    stacking_us: f64,
    stacking_exponent: f64,
    stacking_every_us: f64,
    interrupt_share: f64,
    rng: Rng,
    even: Draw,
    stacked: Draw,
    /// By how many cores [`Imbalance::stacked`] is shifted while two threads share a core.
    shift: Option<usize>,
    /// Until when that stays so.
    until_us: f64,
    /// How long two threads share a core on average, as loaded as they are.
    mean_us: f64,
}

impl Imbalance {
    /// The imbalance of `profile` at the load of `run`.
    pub fn new(profile: &Profile, run: &Applied) -> Self {
        let (app, os) = (&profile.app, &profile.os);
        let cores = profile.serving_cores();
        let even = Draw::new(&balance::weights(cores, 0.0, 0.0));
        let mut rng = Rng::new(run.seed, STREAM);
        // Which of the threads that share a queue is asked first hardly matters.
        let (greatest_sd, stacking_us) =
            if app.shared_queue { (0.0, 0.0) } else { (app.thread_imbalance_share, os.stacking_us) };
        let until_us = if stacking_us > 0.0 { os.stacking_every_us * rng.exponential() } else { NEVER_US };
        Self {
            cores,
            requests_per_us: run.qps * 1e-6 / cores as f64,
            greatest_sd,
            relative_sd: f64::NAN,
            exponent: app.thread_imbalance_exponent,
            stacking_us,
            stacking_exponent: os.stacking_exponent,
            stacking_every_us: os.stacking_every_us,
            interrupt_share: os.stacking_interrupt_share,
            rng,
            stacked: even.clone(),
            even,
            shift: None,
            until_us,
            mean_us: 0.0,
        }
    }

    /// Reckons with services that take `service_us` on average from now on, on cores that are busy for the part
    /// `utilization` of their time (0 to 1).
    pub fn adapt(&mut self, utilization: f64, service_us: f64) {
        let threads = self.requests_per_us * service_us;
        let load = (threads + self.interrupt_share * (utilization - threads)).clamp(0.0, 1.0);
        let relative_sd = load.powf(self.exponent) * self.greatest_sd;
        self.mean_us = self.stacking_us * load.powf(self.stacking_exponent);
        if std::mem::replace(&mut self.relative_sd, relative_sd) == relative_sd {
            return;
        }
        self.even = Draw::new(&balance::weights(self.cores, relative_sd, 0.0));
        if self.stacking_us > 0.0 {
            // The others have the load of one core less, so that of two cores none is idle.
            let more = 1.0 - 1.0 / (self.cores as f64 - 1.0).max(1.0);
            self.stacked = Draw::new(&balance::weights(self.cores, relative_sd, more));
        }
    }

    /// Lets the scheduler look at `now_us`, which never goes back. Returns whether it changed anything.
    #[inline(always)]
    pub fn look(&mut self, now_us: f64) -> bool {
        let due = now_us >= self.until_us;
        if due {
            self.change();
        }
        due
    }

    #[cold]
    fn change(&mut self) {
        let mean_us = if self.shift.take().is_some() {
            self.stacking_every_us
        } else {
            self.shift = Some((self.rng.next_u64() % self.cores as u64) as usize);
            self.mean_us
        };
        self.until_us += mean_us * self.rng.exponential();
    }

    /// The thread that a request with these random bits goes to.
    #[inline(always)]
    pub fn thread(&self, bits: u32) -> usize {
        match self.shift {
            None => self.even.core(bits),
            Some(shift) => {
                let thread = self.stacked.core(bits) + shift;
                if thread < self.cores { thread } else { thread - self.cores }
            }
        }
    }
}
