//! Changes of clocks that cores ask for, and that take a while.

use crate::engine::vector::NEVER_US;

/// The clocks of all cores, and the changes under way. Those of one domain run at the greatest P-state that any of its
/// cores asks for.
///
/// A change takes effect a transition after it was asked for. Meanwhile cores run on as before, and what is asked for
/// waits for its end, as Intel's datasheets have it (Pentium Silver, volume 1, Enhanced Intel SpeedStep Technology; that of
/// the Xeon E5-2600 lets the later request cut the transition short).
pub struct Transitions {
    /// What each core asks for.
    wanted: Vec<usize>,
    domain_cores: usize,
    transition_us: f64,
    domains: Vec<Domain>,
    /// When the transition under way in each domain ends; [`NEVER_US`] without one.
    due_us: Vec<f64>,
}

/// Cores with one clock.
#[derive(Clone, Copy, Default)]
struct Domain {
    step: usize,
    /// Where the transition under way ends.
    target: usize,
}

impl Transitions {
    /// All at the least P-state.
    pub fn new(cores: usize, domain_cores: usize, transition_us: f64) -> Self {
        let domains = cores.div_ceil(domain_cores);
        Self {
            wanted: vec![0; cores],
            domain_cores,
            transition_us,
            domains: vec![Domain::default(); domains],
            due_us: vec![NEVER_US; domains],
        }
    }

    /// When the next change takes effect; [`NEVER_US`] when none is under way.
    pub fn due_us(&self) -> f64 {
        self.due_us.iter().copied().fold(NEVER_US, f64::min)
    }

    /// `core` asks for P-state `step` at `now_us`.
    pub fn ask(&mut self, core: usize, step: usize, now_us: f64) {
        if self.wanted[core] != step {
            self.wanted[core] = step;
            let domain = core / self.domain_cores;
            if self.due_us[domain] == NEVER_US {
                self.begin(domain, now_us);
            }
        }
    }

    /// Ends a transition that is due at `now_us`: the cores concerned, and their new P-state.
    pub fn change(&mut self, now_us: f64) -> Option<(std::ops::Range<usize>, usize)> {
        let domain = self.due_us.iter().position(|&due_us| due_us <= now_us)?;
        let step = self.domains[domain].target;
        self.domains[domain].step = step;
        self.due_us[domain] = NEVER_US;
        self.begin(domain, now_us);
        Some((self.cores_of(domain), step))
    }

    /// Begins a transition to what the cores of `domain` ask for, if they do not run at it.
    fn begin(&mut self, domain: usize, now_us: f64) {
        let greatest = self.wanted[self.cores_of(domain)].iter().copied().max().unwrap_or(0);
        if greatest != self.domains[domain].step {
            self.domains[domain].target = greatest;
            self.due_us[domain] = now_us + self.transition_us;
        }
    }

    fn cores_of(&self, domain: usize) -> std::ops::Range<usize> {
        let first = domain * self.domain_cores;
        first..(first + self.domain_cores).min(self.wanted.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_takes_a_transition_and_later_ones_wait_for_its_end() {
        let mut transitions = Transitions::new(2, 1, 4.0);
        transitions.ask(0, 7, 10.0);
        transitions.ask(0, 3, 11.0);
        assert_eq!((transitions.due_us(), transitions.change(13.0)), (14.0, None));
        assert_eq!(transitions.change(14.0), Some((0..1, 7)));
        assert_eq!((transitions.due_us(), transitions.change(18.0)), (18.0, Some((0..1, 3))));
        assert_eq!(transitions.due_us(), NEVER_US);
    }

    #[test]
    fn a_domain_runs_at_its_greatest_request() {
        let mut transitions = Transitions::new(5, 4, 0.0);
        transitions.ask(1, 5, 0.0);
        transitions.ask(2, 2, 0.0);
        transitions.ask(4, 1, 0.0);
        assert_eq!(transitions.change(0.0), Some((0..4, 5)));
        assert_eq!(transitions.change(0.0), Some((4..5, 1)));
        transitions.ask(1, 0, 1.0);
        assert_eq!((transitions.change(1.0), transitions.change(1.0)), (Some((0..4, 2)), None));
    }
}
