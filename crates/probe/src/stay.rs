//! Stays of CPUs in idle states, as the eBPF programs saw them, in the columns of a recorded trace.

use std::fmt;

/// The columns of a stay. `python/bayop/idle/stays.py` says what they mean.
pub const COLUMNS: &str = "cpu,start_us,length_us,timer_us,waker,arrivals,arrival_age_us,state,tick_us,resumed";

/// Bytes of `struct stay` of `idle.bpf.c`.
pub const BYTES: usize = 56;

/// A timer that is as good as none, in us.
const NO_TIMER_US: u64 = 10_000_000;
/// The clock event may fire so much early: its counter is coarser than the clock.
const EARLY_NS: u64 = 1_000;

/// What ended a stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waker {
    /// A device or another CPU.
    Other = 0,
    /// An interrupt of the network.
    Network = 1,
    /// The next timer.
    Timer = 2,
    /// The tick.
    Tick = 3,
}

/// One stay: `struct stay` of `idle.bpf.c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay {
    start_ns: u64,
    length_ns: u64,
    timer_ns: Option<u64>,
    tick_ns: Option<u64>,
    alarm_ns: Option<u64>,
    arrived_ns: u64,
    arrivals: u32,
    cpu: u16,
    state: i8,
    resumed: bool,
    network: bool,
}

impl Stay {
    /// From a record of the programs.
    ///
    /// # Panics
    /// The record is not as long as the structure.
    pub fn of(record: &[u8]) -> Self {
        assert_eq!(record.len(), BYTES, "struct stay of idle.bpf.c");
        let word = |index: usize| u64::from_ne_bytes(record[8 * index..][..8].try_into().expect("eight bytes"));
        let distance = |index| u64::try_from(i64::from_ne_bytes(word(index).to_ne_bytes())).ok();
        Self {
            start_ns: word(0),
            length_ns: word(1),
            timer_ns: distance(2),
            tick_ns: distance(3),
            alarm_ns: distance(4),
            arrived_ns: word(5),
            arrivals: u32::from_ne_bytes(record[48..52].try_into().expect("four bytes")),
            cpu: u16::from_ne_bytes(record[52..54].try_into().expect("two bytes")),
            state: i8::from_ne_bytes([record[54]]),
            resumed: record[55] & 1 != 0,
            network: record[55] & 2 != 0,
        }
    }

    /// Until the next timer, the tick aside. Where no governor has asked for it, it is what the alarm is set for, unless
    /// that is the tick.
    fn timer_us(&self) -> u64 {
        let alarm_ns = self.alarm_ns.filter(|_| !self.alarm_is_tick());
        self.timer_ns.or(alarm_ns).map_or(NO_TIMER_US, |ns| (ns / 1_000).min(NO_TIMER_US))
    }

    fn alarm_is_tick(&self) -> bool {
        let apart_ns = self.alarm_ns.zip(self.tick_ns).map(|(alarm_ns, tick_ns)| alarm_ns.abs_diff(tick_ns));
        apart_ns.is_some_and(|ns| ns <= EARLY_NS)
    }

    /// What ended it. An interrupt that came when the alarm was due is the alarm's.
    pub fn waker(&self) -> Waker {
        match self.alarm_ns {
            Some(alarm_ns) if self.length_ns + EARLY_NS >= alarm_ns => {
                let is_tick = self.alarm_is_tick() && self.timer_us() > alarm_ns / 1_000;
                if is_tick { Waker::Tick } else { Waker::Timer }
            }
            _ if self.network => Waker::Network,
            _ => Waker::Other,
        }
    }
}

impl fmt::Display for Stay {
    /// A line of a trace, without its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, arrivals, state, .. } = self;
        let (start_us, length_us, timer_us) = (self.start_ns / 1_000, self.length_ns / 1_000, self.timer_us());
        let tick_us = self.tick_ns.map_or(NO_TIMER_US, |ns| (ns / 1_000).min(NO_TIMER_US));
        let (waker, resumed) = (self.waker() as u8, u8::from(self.resumed));
        write!(f, "{cpu},{start_us},{length_us},{timer_us},{waker},{arrivals},")?;
        match self.arrived_ns {
            0 => write!(f, "-1")?,
            ns => write!(f, "{}", self.start_ns.saturating_sub(ns) / 1_000)?,
        }
        write!(f, ",{state},{tick_us},{resumed}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of CPU 3 in state 2, 5 ms after the boot, after two polls of which the last was 40 us before.
    fn record(length_us: u64, [timer_us, tick_us, alarm_us]: [i64; 3], flags: u8) -> [u8; BYTES] {
        let ns = |us: i64| u64::try_from(us).map_or(u64::MAX, |us| us * 1_000);
        let words = [5_000_000, length_us * 1_000, ns(timer_us), ns(tick_us), ns(alarm_us), 4_960_000];
        let mut bytes = [0; BYTES];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes[48..52].copy_from_slice(&2_u32.to_ne_bytes());
        bytes[52..54].copy_from_slice(&3_u16.to_ne_bytes());
        bytes[54..].copy_from_slice(&[2, flags]);
        bytes
    }

    #[test]
    fn a_record_becomes_a_line() {
        let stay = Stay::of(&record(700, [9_000, 1_500, 1_500], 3));
        assert_eq!(stay.to_string(), "3,5000,700,9000,1,2,40,2,1500,1");
        assert_eq!(COLUMNS.split(',').count(), stay.to_string().split(',').count());
    }

    #[test]
    fn what_comes_when_the_alarm_is_due_is_the_tick_or_the_timer() {
        let waker = |length_us, distances| Stay::of(&record(length_us, distances, 0)).waker();
        assert_eq!(waker(700, [9_000, 1_500, 1_500]), Waker::Other);
        assert_eq!(waker(1_502, [9_000, 1_500, 1_500]), Waker::Tick);
        assert_eq!(waker(9_004, [9_000, 1_500, 9_000]), Waker::Timer, "the tick has stopped");
        assert_eq!(waker(302, [300, 1_500, 300]), Waker::Timer, "before the tick");
        assert_eq!(waker(1_502, [1_500, 1_500, 1_500]), Waker::Timer, "both at once");
    }

    #[test]
    fn without_a_governor_that_asks_the_timer_is_what_the_alarm_is_set_for() {
        let line = |distances| Stay::of(&record(700, distances, 0)).to_string();
        assert!(line([-1, 1_500, 8_000]).starts_with("3,5000,700,8000,"));
        assert!(line([-1, 1_500, 1_500]).starts_with("3,5000,700,10000000,"));
        assert_eq!(Stay::of(&record(1_501, [-1, 1_500, 1_500], 0)).waker(), Waker::Tick);
        assert_eq!(line([-1, -1, -1]), "3,5000,700,10000000,0,2,40,2,10000000,0", "nothing is told");
    }
}
