//! A fixed delay: what `ethtool -C DEV rx-usecs N` asks for.

use super::{Moderation, PollWork};

/// The same interval for ever.
#[derive(Clone, Debug)]
pub struct Fixed(
    /// Real microseconds between interrupts.
    pub f64,
);

impl Moderation for Fixed {
    #[inline(always)]
    fn interval_us(&self) -> f64 {
        self.0
    }

    #[inline(always)]
    fn observe(&mut self, _: PollWork) {}
}
