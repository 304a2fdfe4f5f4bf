//! The sensors of recorded machines.

mod activity;
mod energy;
mod machine;
