//! Time: the CPU's time stamp counter, measured against the PC's timer (PIT), and the calendar.

use core::arch::x86_64::_rdtsc;

use crate::port;

/// For how long the PIT is waited for, in ms.
const PIT_WAIT_MS: u32 = 10;

const PIT_HZ: u32 = 1_193_182;
const PIT_CHANNEL_2: u16 = 0x42;
const PIT_MODE: u16 = 0x43;
const SPEAKER: u16 = 0x61;

/// Microseconds since boot.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: u64,
    /// Microseconds a tick, times 2^32.
    us_per_tick_q32: u64,
}

impl Clock {
    /// Measures how fast the counter ticks: the shortest of three, since whatever comes between makes it longer.
    pub fn calibrate() -> Clock {
        let start = time_stamp();
        let measure = || {
            let start = time_stamp();
            wait_by_pit();
            time_stamp() - start
        };
        let ticks = measure().min(measure()).min(measure()).max(1);
        Clock { start, us_per_tick_q32: ((u64::from(PIT_WAIT_MS) * 1000) << 32) / ticks }
    }

    /// Microseconds since `calibrate` was called.
    #[inline]
    pub fn now_us(&self) -> u64 {
        // Another core's counter may be a little behind that of the one which has measured.
        let ticks = u128::from(time_stamp().saturating_sub(self.start));
        ((ticks * u128::from(self.us_per_tick_q32)) >> 32) as u64
    }

    /// Does nothing for so long.
    pub fn wait_us(&self, duration_us: u64) {
        let start_us = self.now_us();
        while self.now_us() < start_us + duration_us {
            core::hint::spin_loop();
        }
    }

    /// The counter's rate.
    pub fn mhz(&self) -> u64 {
        (1 << 32) / self.us_per_tick_q32.max(1)
    }
}

/// The CPU's time stamp counter.
#[inline]
pub(crate) fn time_stamp() -> u64 {
    // SAFETY: every x86-64 CPU has it, and nothing forbids its use here.
    unsafe { _rdtsc() }
}

/// Waits for `PIT_WAIT_MS`: the speaker's channel counts down once, with the speaker off.
fn wait_by_pit() {
    const COUNT: u32 = PIT_HZ / 1000 * PIT_WAIT_MS;
    port::write_u8(SPEAKER, port::read_u8(SPEAKER) & 0xFC);
    port::write_u8(PIT_MODE, 0b1011_0000); // channel 2, both bytes, one shot
    port::write_u8(PIT_CHANNEL_2, COUNT as u8);
    port::write_u8(PIT_CHANNEL_2, (COUNT >> 8) as u8);
    port::write_u8(SPEAKER, port::read_u8(SPEAKER) | 1); // begins to count
    while port::read_u8(SPEAKER) & 1 << 5 == 0 {
        core::hint::spin_loop();
    }
}

/// The calendar's seconds since 1970 (MC146818, its time taken as UTC).
pub fn unix_time_s() -> u64 {
    let read = |register: u8| {
        port::write_u8(0x70, register);
        u64::from(port::read_u8(0x71))
    };
    loop {
        while read(0x0A) & 1 << 7 != 0 {} // it is being updated
        let fields = [0x00, 0x02, 0x04, 0x07, 0x08, 0x09].map(read);
        if fields[0] == read(0x00) {
            let binary = read(0x0B) & 1 << 2 != 0;
            return unix_time_of(fields.map(|field| if binary { field } else { field / 16 * 10 + field % 16 }));
        }
    }
}

/// Seconds since 1970 of second, minute, hour, day, month, and the year since 2000.
fn unix_time_of([second, minute, hour, day, month, year]: [u64; 6]) -> u64 {
    // Years that begin in March, so that a leap day is the last of its year.
    let (year, month) = if month > 2 { (2000 + year, month - 3) } else { (1999 + year, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let days_to_1970 = 719_468; // since 0000-03-01
    let days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year - days_to_1970;
    ((days * 24 + hour) * 60 + minute) * 60 + second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_is_the_kernels() {
        for (fields, seconds) in [
            ([0, 0, 0, 1, 1, 0], 946_684_800),
            ([59, 59, 23, 29, 2, 24], 1_709_251_199),
            ([0, 0, 0, 1, 3, 24], 1_709_251_200),
            ([7, 46, 2, 18, 5, 33], 1_999_997_167),
            ([59, 59, 23, 31, 12, 99], 4_102_444_799),
        ] {
            assert_eq!(unix_time_of(fields), seconds, "{fields:?}");
        }
    }

    #[test]
    fn a_microsecond_is_one() {
        let clock = Clock { start: 0, us_per_tick_q32: (1 << 32) / 2500 };
        assert_eq!(clock.mhz(), 2500);
    }
}
