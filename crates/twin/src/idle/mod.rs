//! Who decides how deeply a core of the twin sleeps: a governor, or a bound that knows the future.

mod always;
mod asked;
mod governor;
mod menu;
mod named;
mod terms;

pub use always::Always;
pub use asked::Asked;
pub use governor::{IdleGovernor, State};
pub use menu::Menu;
pub use named::named;
pub use terms::Terms;

/// From one tick of the kernel to the next, as distributions build it (`CONFIG_HZ=250`).
pub const TICK_US: f64 = bayop_idle::TICK_US as f64;

/// An idle period. The engine knows more than the core that enters it.
#[derive(Clone, Copy, Debug)]
pub struct IdlePeriod {
    /// When it begins.
    pub start_us: f64,
    /// How long until the core is wanted again: as far as the engine knows while the period lasts, and at its end.
    pub length_us: f64,
}

/// What is chosen.
#[derive(Clone, Copy, Debug)]
pub struct Stay {
    /// Index of the state.
    pub state: usize,
    /// After how long the core is woken to choose again, unless it is wanted before; infinite: it is not.
    pub again_us: f64,
    /// Whether a timer had to be programmed for that.
    pub armed: bool,
}

impl Stay {
    /// A stay in a state as the kernel does it by default: without the tick in the deepest state; whoever expects less
    /// than that takes to pay off is woken by the next tick, and chooses anew (`tick_nohz_idle_retain_tick`).
    #[inline(always)]
    fn ticking(states: &[State], state: usize) -> Self {
        let again_us = if state + 1 < states.len() { TICK_US } else { f64::INFINITY };
        Self { state, again_us, armed: false }
    }
}

/// Chooses the idle states of one core. For each idle period, in this order: [`select`](Self::select), then
/// [`again`](Self::again) as often as it asked for, then [`reflect`](Self::reflect).
pub trait Chooser {
    /// Whether a core that is to choose again has to wake up for that, at the cost of any wake-up. Else it costs nothing.
    const WAKES: bool;

    /// How the core spends `period`.
    fn select(&mut self, states: &[State], period: IdlePeriod) -> Stay;

    /// How it spends what is left of a period, after a stay of `stay_us`, the wake-up with it.
    fn again(&mut self, states: &[State], left: IdlePeriod, stay_us: f64) -> Stay {
        let _ = stay_us;
        self.select(states, left)
    }

    /// How long the last stay was until the core was wanted, and how long it took then until the core ran.
    fn reflect(&mut self, states: &[State], length_us: f64, wait_us: f64);

    /// A poll of the core's receive queue found packets. Polls follow wake-ups and come between them, while the core is
    /// busy.
    #[inline(always)]
    fn arrival(&mut self, now_us: f64) {
        let _ = now_us;
    }
}

/// The timers that a core sees ahead.
#[derive(Clone, Debug)]
pub struct Timers {
    period_us: f64,
    next_us: f64,
}

impl Timers {
    /// One every `period_us`, the first at `phase_us`.
    pub fn new(period_us: f64, phase_us: f64) -> Self {
        Self { period_us, next_us: phase_us }
    }

    /// The first after `now_us`, which never goes back.
    #[inline(always)]
    fn next_us(&mut self, now_us: f64) -> f64 {
        while self.next_us <= now_us {
            self.next_us += self.period_us;
        }
        self.next_us
    }
}

/// A governor, which learns how long a period is after it chose. What it learns is the time until
/// the core was wanted, without the wake-up that follows.
///
/// It sees a timer ahead every so often, as on a machine with little else to do. None of them
/// fires, because what the core would then do is not modelled; a period may outlast its timer. The
/// tick does fire, but costs nothing.
#[derive(Clone, Debug)]
pub struct Governed<G> {
    governor: G,
    timers: Timers,
}

impl<G: IdleGovernor> Governed<G> {
    /// `governor` on a core with such timers.
    pub fn new(governor: G, timers: Timers) -> Self {
        Self { governor, timers }
    }
}

impl<G: IdleGovernor> Chooser for Governed<G> {
    const WAKES: bool = false;

    #[inline(always)]
    fn select(&mut self, states: &[State], period: IdlePeriod) -> Stay {
        let timer_us = self.timers.next_us(period.start_us);
        Stay::ticking(states, self.governor.select(states, period.start_us, timer_us))
    }

    fn again(&mut self, states: &[State], left: IdlePeriod, _: f64) -> Stay {
        self.governor.tick();
        self.select(states, left)
    }

    #[inline(always)]
    fn reflect(&mut self, states: &[State], length_us: f64, _: f64) {
        self.governor.reflect(states, length_us);
    }
}

/// The deepest state whose target residency fits the period, known in advance: what no governor can do.
#[derive(Clone, Debug)]
pub struct Oracle;

impl Chooser for Oracle {
    const WAKES: bool = false;

    fn select(&mut self, states: &[State], period: IdlePeriod) -> Stay {
        let fits = |s: &State| s.target_residency_us <= period.length_us;
        Stay::ticking(states, states.iter().rposition(fits).unwrap_or(0))
    }

    fn reflect(&mut self, _: &[State], _: f64, _: f64) {}
}
