//! How much may be under way: slow start, congestion avoidance, fast recovery (RFC 5681; RFC 6582, and RFC 6675 where
//! acknowledgments are selective).

use super::Sequence;

/// Of how many acknowledgments that repeat the last it follows that a segment is lost (RFC 5681, section 3.2).
const DUPLICATES: u8 = 3;

/// The congestion window of one connection.
#[derive(Debug)]
pub struct Congestion {
    /// How many bytes may be under way.
    window: u32,
    slow_start_threshold: u32,
    max_segment_size: u32,
    /// The other side says what has come, so that what is under way can be told: the window is never stretched for
    /// what has left the network.
    is_selective: bool,
    duplicates: u8,
    /// What had been sent when the loss was seen; until it is acknowledged, the loss is being repaired.
    recovery: Option<Sequence>,
}

/// What an acknowledgment asks for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Advice {
    /// Nothing.
    GoOn,
    /// Send the first segment again that is not acknowledged.
    Repeat,
}

impl Congestion {
    /// At the beginning: ten segments (RFC 6928).
    pub fn new(max_segment_size: u16, is_selective: bool) -> Congestion {
        let max_segment_size = u32::from(max_segment_size);
        Congestion {
            window: 10 * max_segment_size,
            slow_start_threshold: u32::MAX,
            max_segment_size,
            is_selective,
            duplicates: 0,
            recovery: None,
        }
    }

    /// Whether a loss is being repaired.
    #[inline]
    pub fn is_recovering(&self) -> bool {
        self.recovery.is_some()
    }

    /// How many bytes may be under way.
    #[inline]
    pub fn window(&self) -> u32 {
        self.window
    }

    /// `acked` of `in_flight` bytes were acknowledged, up to `una`.
    #[inline]
    pub fn acknowledged(&mut self, acked: u32, in_flight: u32, una: Sequence) -> Advice {
        self.duplicates = 0;
        if let Some(recovery) = self.recovery {
            if una.since(recovery) >= 0 {
                self.recovery = None;
                self.window = self.slow_start_threshold;
                return Advice::GoOn;
            }
            // A partial acknowledgment: the next hole begins here (RFC 6582, section 3.2, step 5).
            if !self.is_selective {
                self.window = (self.window.saturating_sub(acked) + self.max_segment_size).max(self.max_segment_size);
            }
            return Advice::Repeat;
        }
        if in_flight < self.window / 2 {
            return Advice::GoOn; // nobody knows whether more would fit
        }
        let growth = if self.window < self.slow_start_threshold {
            acked.min(self.max_segment_size)
        } else {
            (self.max_segment_size * self.max_segment_size / self.window).max(1)
        };
        self.window = self.window.saturating_add(growth).min(1 << 30);
        Advice::GoOn
    }

    /// An acknowledgment repeated the last one, while `in_flight` bytes up to `max` were under way.
    pub fn repeated(&mut self, in_flight: u32, max: Sequence) -> Advice {
        if self.recovery.is_some() {
            if !self.is_selective {
                self.window = self.window.saturating_add(self.max_segment_size).min(1 << 30);
            }
            return Advice::GoOn;
        }
        self.duplicates += 1;
        if self.duplicates < DUPLICATES {
            return Advice::GoOn;
        }
        self.lost(in_flight, max)
    }

    /// The first segment is lost, while `in_flight` bytes up to `max` were under way.
    pub fn lost(&mut self, in_flight: u32, max: Sequence) -> Advice {
        if self.recovery.is_some() {
            return Advice::GoOn;
        }
        self.duplicates = 0;
        self.recovery = Some(max);
        self.slow_start_threshold = (in_flight / 2).max(2 * self.max_segment_size);
        let arrived = if self.is_selective { 0 } else { u32::from(DUPLICATES) * self.max_segment_size };
        self.window = self.slow_start_threshold + arrived;
        Advice::Repeat
    }

    /// Nothing was acknowledged for a whole timeout, while `in_flight` bytes were under way.
    pub fn timed_out(&mut self, in_flight: u32) {
        self.slow_start_threshold = (in_flight / 2).max(2 * self.max_segment_size);
        self.window = self.max_segment_size;
        self.duplicates = 0;
        self.recovery = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    #[test]
    fn slow_start_doubles_and_avoidance_adds_one_segment_a_round() {
        let mut congestion = Congestion::new(MSS as u16, false);
        for _ in 0..10 {
            congestion.acknowledged(MSS, congestion.window(), Sequence(0));
        }
        assert_eq!(congestion.window(), 20 * MSS);
        congestion.timed_out(20 * MSS);
        assert_eq!(congestion.window(), MSS);
        for _ in 0..9 {
            congestion.acknowledged(MSS, congestion.window(), Sequence(0));
        }
        assert_eq!(congestion.window(), 10 * MSS);
        for _ in 0..10 {
            congestion.acknowledged(MSS, congestion.window(), Sequence(0));
        }
        assert!((congestion.window() - 10 * MSS).abs_diff(MSS) < 100, "{}", congestion.window());
    }

    #[test]
    fn a_lost_segment_is_repeated_once_and_halves_the_window() {
        let mut congestion = Congestion::new(MSS as u16, false);
        let max = Sequence(10 * MSS);
        let advices: alloc::vec::Vec<_> = (0..6).map(|_| congestion.repeated(10 * MSS, max)).collect();
        assert_eq!(advices, [Advice::GoOn, Advice::GoOn, Advice::Repeat, Advice::GoOn, Advice::GoOn, Advice::GoOn]);
        assert_eq!(congestion.acknowledged(2 * MSS, 10 * MSS, Sequence(2 * MSS)), Advice::Repeat);
        assert_eq!(congestion.acknowledged(8 * MSS, 8 * MSS, max), Advice::GoOn);
        assert_eq!(congestion.window(), 5 * MSS);
    }

    #[test]
    fn a_window_is_not_stretched_where_it_is_known_what_came() {
        let mut congestion = Congestion::new(MSS as u16, true);
        let max = Sequence(10 * MSS);
        assert_eq!(congestion.lost(10 * MSS, max), Advice::Repeat);
        assert_eq!(congestion.lost(10 * MSS, max), Advice::GoOn);
        assert_eq!(congestion.repeated(10 * MSS, max), Advice::GoOn);
        assert_eq!(congestion.acknowledged(2 * MSS, 10 * MSS, Sequence(2 * MSS)), Advice::Repeat);
        assert!(congestion.is_recovering());
        assert_eq!(congestion.window(), 5 * MSS);
        assert_eq!(congestion.acknowledged(8 * MSS, 8 * MSS, max), Advice::GoOn);
        assert!(!congestion.is_recovering());
        assert_eq!(congestion.window(), 5 * MSS);
    }
}
