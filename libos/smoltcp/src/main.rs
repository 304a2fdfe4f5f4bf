//! smoltcp's TCP in the place of ours, to count what a request costs by it (`bayop libos bench`): the image's machine,
//! driver and services on one core, told its address (`ip=`) and what to serve (`app=memcached` or `app=tpcc`).

#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod nic;
mod server;

use core::net::Ipv4Addr;

use libos_apps::memcached::{self, Memcached};
use libos_apps::tpcc::{self, Tpcc};
use libos_hal::apic::CoreId;
use libos_hal::clock::{self, Clock};
use libos_hal::{cpu, say};
use libos_machine::MachineCore;
use libos_net::driver::open_virtio;
use libos_net::service::{Service, Shared};

use nic::Nic;
use server::Server;

libos_hal::entry!(main);

/// As the image's, where its words don't say otherwise.
const MEMORY_MIB: usize = 64;
const MAX_CONNECTIONS: usize = 65_536;

fn main(words: &'static str) -> ! {
    let word = |name| words.split_whitespace().find_map(|word| word.strip_prefix(name));
    let Some(address) = word("ip=").and_then(|text| text.parse().ok()) else {
        say!("error: ip must be an IPv4 address, but got {words:?}");
        cpu::reset()
    };
    let start_s = clock::unix_time_s();
    match word("app=") {
        Some("memcached") => {
            let service = Memcached::new(MEMORY_MIB << 20, start_s as u32, cpu::seed(), 1, MAX_CONNECTIONS);
            serve(address, memcached::PORT, Shared::new(service))
        }
        Some("tpcc") => {
            let mut services = Tpcc::of_cores(1, cpu::seed(), start_s * 1_000_000);
            serve(address, tpcc::PORT, services.remove(0))
        }
        _ => {
            say!("error: app must be memcached or tpcc, but got {words:?}");
            cpu::reset()
        }
    }
}

fn serve(address: Ipv4Addr, port: u16, service: impl Service) -> ! {
    let clock = Clock::calibrate();
    let core = MachineCore::new(clock, &[], None);
    let (mac, mut queues) = open_virtio(&[CoreId::own()]).unwrap_or_else(|error| {
        say!("error: there must be a NIC that speaks virtio-net 1: {error:?}");
        cpu::reset()
    });
    let (receive, transmit) = queues.remove(0);
    say!("ready: smoltcp on {address}:{port}, TSC at {} MHz", clock.mhz());
    Server::new(core, Nic { receive, transmit }, mac, address, port, service, cpu::seed()).run()
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    say!("error: {info}");
    cpu::reset()
}
