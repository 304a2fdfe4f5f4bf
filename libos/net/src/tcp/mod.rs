//! TCP (RFC 9293): one connection's machine, the table of all, and the wheel of their timers.

mod congestion;
mod connection;
mod queue;
mod reassembly;
mod round_trip;
mod scoreboard;
mod sequence;
mod table;
mod wheel;

pub use congestion::Congestion;
pub(crate) use connection::Timer;
pub use connection::{Arrival, Connection, INPUT_LIMIT, Peer, State};
pub use queue::Queue;
pub use reassembly::Reassembly;
pub use round_trip::RoundTrip;
pub use scoreboard::Scoreboard;
pub use sequence::Sequence;
pub use table::{Id, Key, Table};
pub use wheel::Wheel;

/// A moment that never comes.
pub const NEVER: u64 = u64::MAX;
