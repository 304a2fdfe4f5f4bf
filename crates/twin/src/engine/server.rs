//! What every model of a server lets the engine do with it.

use super::tally::{CoreTally, Tally};

/// A server being simulated: cores that can be advanced to a point in time.
pub trait Server {
    /// Simulates every event before `until_us`.
    fn advance(&mut self, until_us: f64);

    /// Puts `core` at P-state `step`.
    fn set_step(&mut self, core: usize, step: usize);

    /// What was counted.
    fn tally(&mut self) -> &mut Tally;

    /// Where the time of `core` went.
    fn core_tally(&mut self, core: usize) -> &mut CoreTally;
}
