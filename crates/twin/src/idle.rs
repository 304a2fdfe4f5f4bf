//! Who decides how deeply a core of the twin sleeps: a governor, or a bound that knows the future.

use bayop_idle::{IdleGovernor, State};

/// An idle period. The engine knows more than the core that enters it.
#[derive(Clone, Copy, Debug)]
pub struct IdlePeriod {
    /// When it begins.
    pub start_us: f64,
    /// How long until the core is wanted again: as far as the engine knows while the period lasts, and at its end.
    pub length_us: f64,
}

/// Chooses the idle states of one core. For each idle period, in this order: [`select`](Self::select), then
/// [`tick`](Self::tick) as often as one fires, then [`reflect`](Self::reflect).
pub trait Chooser {
    /// Index of the state that the core spends `period` in.
    fn select(&mut self, states: &[State], period: IdlePeriod) -> usize;

    /// Index of the state for what is left of a period, after a tick of the kernel that another state has let go on.
    fn tick(&mut self, states: &[State], left: IdlePeriod) -> usize {
        self.select(states, left)
    }

    /// How long the period was.
    fn reflect(&mut self, states: &[State], length_us: f64);

    /// A poll of the core's receive queue found packets.
    fn arrival(&mut self, now_us: f64);
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
    timer_period_us: f64,
    next_timer_us: f64,
}

impl<G: IdleGovernor> Governed<G> {
    /// `governor` on a core with a timer every `timer_period_us`, the first at `phase_us`.
    pub fn new(governor: G, timer_period_us: f64, phase_us: f64) -> Self {
        Self { governor, timer_period_us, next_timer_us: phase_us }
    }
}

impl<G: IdleGovernor> Chooser for Governed<G> {
    #[inline(always)]
    fn select(&mut self, states: &[State], period: IdlePeriod) -> usize {
        while self.next_timer_us <= period.start_us {
            self.next_timer_us += self.timer_period_us;
        }
        self.governor.select(states, period.start_us, self.next_timer_us)
    }

    fn tick(&mut self, states: &[State], left: IdlePeriod) -> usize {
        self.governor.tick();
        self.select(states, left)
    }

    #[inline(always)]
    fn reflect(&mut self, states: &[State], length_us: f64) {
        self.governor.reflect(states, length_us, false);
    }

    #[inline(always)]
    fn arrival(&mut self, now_us: f64) {
        self.governor.arrival(now_us);
    }
}

/// The deepest state whose target residency fits the period, known in advance: what no governor can do.
#[derive(Clone, Debug)]
pub struct Oracle;

impl Chooser for Oracle {
    fn select(&mut self, states: &[State], period: IdlePeriod) -> usize {
        states.iter().rposition(|s| s.target_residency_us <= period.length_us).unwrap_or(0)
    }

    fn reflect(&mut self, _: &[State], _: f64) {}

    fn arrival(&mut self, _: f64) {}
}
