//! What every model of a server lets the engine do with it.

use super::tally::Tally;
use crate::costs::Costs;
use crate::time::CoreTime;

/// A server being simulated: cores that can be advanced to a point in time.
pub trait Server {
    /// Simulates every event before `until_us`.
    fn advance(&mut self, until_us: f64);

    /// Puts `core` at P-state `step` at `now_us`, to which the server was advanced. A request in service goes on at
    /// the new speed; what else has begun ends at the old one.
    fn set_step(&mut self, core: usize, step: usize, now_us: f64);

    /// From now on everything that begins costs this.
    fn set_costs(&mut self, costs: Vec<Costs>);

    /// What was counted.
    fn tally(&mut self) -> &mut Tally;

    /// Tells `count` where the time of `core` went, at each P-state that it had, from when it was last taken until
    /// `until_us`, to which the server was advanced.
    fn take_time(&mut self, core: usize, until_us: f64, count: impl FnMut(usize, &CoreTime));
}
