//! The agent's API (docs/agent.md) as the library OS answers it, so that `bayop tune` works on it as on Linux.
//!
//! ```text
//!   http ──► routes ──► holding ──► knob        a request, who may write, what is held, a register
//!                 ├───► reading                 what the cores have counted
//!                 └───► capture                 their newest interrupts
//! ```
//!
//! It is plain HTTP: nothing proves who asks. So it listens only where a word of the image says so, answers only who is
//! on its own link, and takes a body only as JSON, which no page of a browser sends unasked. What is written under a
//! lease is as it was found when that ends, whether anybody says so or not.
//!
//! Not here: holds under conditions, pushed latencies, metrics, the doctor. There is no journal: whatever ends the
//! machine ends its settings.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod capture;
mod holding;
mod http;
pub mod knob;
mod messages;
pub mod reading;
mod routes;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use bayop_core::lease::Slot;
use libos_net::service::{Output, Served, Service};
use libos_net::tcp::NEVER;
use libos_net::wire::ipv4::Address;
use libos_runtime::interrupt_log::InterruptLog;
use spin::Mutex;

use holding::Holding;
use knob::Knob;
use reading::Reading;

/// Where it listens, as the agent on Linux does.
pub const PORT: u16 = 9617;

/// What its only NIC is called.
pub const NIC: &str = "nic0";

/// What it sees and sets.
pub struct Machine {
    /// Our own address: who differs from it in the last byte only is on our link.
    pub address: Address,
    /// What can be set.
    pub knobs: Vec<Box<dyn Knob>>,
    /// What has been counted until a moment, in us since the start.
    pub readings: Box<dyn Fn(u64) -> Vec<Reading> + Send>,
    /// How many cores there are.
    pub cores: usize,
    /// A record of each interrupt.
    pub log: Arc<Mutex<InterruptLog>>,
    /// Numbers that nobody else can know.
    pub random: fn() -> u64,
}

/// The agent of one machine.
pub struct Agent {
    address: Address,
    readings: Box<dyn Fn(u64) -> Vec<Reading> + Send>,
    cores: usize,
    log: Arc<Mutex<InterruptLog>>,
    random: fn() -> u64,
    boot_id: String,
    leases: Slot,
    holding: Holding,
}

impl Agent {
    /// Nothing is held.
    pub fn new(machine: Machine) -> Agent {
        let Machine { address, knobs, readings, cores, log, random } = machine;
        let boot_id = secret(random);
        let (leases, holding) = (Slot::default(), Holding::new(knobs));
        Agent { address, readings, cores, log, random, boot_id, leases, holding }
    }

    fn is_on_our_link(&self, peer: Address) -> bool {
        peer[..3] == self.address[..3]
    }
}

/// 128 bits, in hexadecimal.
fn secret(random: fn() -> u64) -> String {
    alloc::format!("{:016x}{:016x}", random(), random())
}

fn since_start(now_us: u64) -> Duration {
    Duration::from_micros(now_us)
}

impl Service for Agent {
    type Session = ();

    fn accept(&self, peer: Address, port: u16) -> Option<()> {
        (port == PORT && self.is_on_our_link(peer)).then_some(())
    }

    fn serve(&mut self, now_us: u64, (): &mut (), input: &[u8], output: &mut Output) -> Served {
        // What is due comes first, also where a core has had no time for it.
        self.expire(now_us);
        let mut taken = 0;
        while !output.is_full() {
            match http::parse(&input[taken..]) {
                Ok(None) => break,
                Ok(Some(request)) => {
                    taken += request.len;
                    let answer = self.answer(now_us, &request);
                    http::write(output, &answer, Some(&request));
                    if request.closes {
                        return Served { taken, close: true };
                    }
                }
                Err(error) => {
                    http::write(output, &Err(error), None);
                    return Served { taken: input.len(), close: true };
                }
            }
        }
        Served { taken, close: false }
    }

    fn next_us(&self) -> u64 {
        self.leases.expires().map_or(NEVER, |expires| expires.as_micros() as u64)
    }

    fn expire(&mut self, now_us: u64) {
        if self.leases.expire(since_start(now_us)).is_some() {
            self.holding.end(false);
        }
    }
}

#[cfg(test)]
mod tests;
