//! The one clock of the agent.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The time since the machine booted, sleep included (CLOCK_BOOTTIME, clock_gettime(2)): a lease ends while the machine
/// is suspended, and a jump of the wall clock changes nothing.
pub fn since_boot() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).expect("every kernel that runs Rust has the clock").into()
}
