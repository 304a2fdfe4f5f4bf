//! Sensors and doctor on recorded machines.

mod activity;
mod doctor;
mod energy;
mod machine;
mod recording;
