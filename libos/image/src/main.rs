//! The image of the library OS: one core, one NIC, one service, as the words say that its loader was given.

#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod core_of_machine;
mod words;

use libos_apps::echo::Echo;
use libos_apps::hello::Hello;
use libos_apps::memcached::Memcached;
use libos_apps::tpcc::Tpcc;
use libos_hal::{clock, cpu, say};
use libos_net::device::{Receive, Transmit};
use libos_net::driver::{OpenError, open_e1000e, open_virtio};
use libos_net::service::Service;
use libos_net::stack::{Config, Stack};
use libos_net::wire::ethernet::MacAddress;
use libos_runtime::policy::{Adaptive, Interrupts, Policy, Polling};
use libos_runtime::{Core as _, Runtime};

use core_of_machine::MachineCore;
use words::{App, Wait, Words};

libos_hal::entry!(main);

/// A sleep and its interrupt take about so long.
const SLEEP_IS_WORTH_US: u64 = 50;

fn main(command_line: &'static str) -> ! {
    match Words::parse(command_line) {
        Ok(words) => start(&words),
        Err(error) => {
            say!("error: {error}");
            cpu::reset()
        }
    }
}

fn start(words: &Words) -> ! {
    match words.app {
        App::Memcached => {
            let start_s = clock::unix_time_s() as u32;
            serve(words, 11211, Memcached::new(words.memory_mib << 20, start_s, cpu::seed()))
        }
        App::Hello => serve(words, 80, Hello),
        App::Echo => serve(words, 7, Echo),
        App::Tpcc => serve(words, 11311, Tpcc::new(cpu::seed(), clock::unix_time_s() * 1_000_000)),
    }
}

fn serve<S: Service>(words: &Words, port: u16, service: S) -> ! {
    match words.wait {
        Wait::Interrupt => serve_by(words, port, service, Interrupts),
        Wait::Poll => serve_by(words, port, service, Polling),
        Wait::Adaptive => serve_by(words, port, service, Adaptive::new(SLEEP_IS_WORTH_US)),
    }
}

fn serve_by<S: Service, P: Policy>(words: &Words, port: u16, service: S, policy: P) -> ! {
    match (open_virtio(), words.delay_us) {
        (Ok(nic), None) => serve_on(words, port, service, policy, nic),
        (Ok(_), Some(delay_us)) => {
            say!("error: delay must go with an e1000e and not with virtio-net, but got \"delay={delay_us}\"");
            cpu::reset()
        }
        (Err(OpenError::Absent), delay_us) => match open_e1000e(delay_us.unwrap_or(0)) {
            Ok(nic) => serve_on(words, port, service, policy, nic),
            Err(error) => refuse(error),
        },
        (Err(error), _) => refuse(error),
    }
}

fn refuse(error: OpenError) -> ! {
    say!("error: there must be a NIC that speaks virtio-net 1, or an e1000e, with MSI-X: {error:?}");
    cpu::reset()
}

fn serve_on<S: Service, P: Policy>(
    words: &Words,
    port: u16,
    service: S,
    policy: P,
    (mac, receive, transmit): (MacAddress, impl Receive, impl Transmit),
) -> ! {
    let core = MachineCore::new();
    let config = Config {
        mac,
        address: words.address,
        port,
        max_connections: words.connections,
        secret: [cpu::seed(), cpu::seed()],
    };
    let stack = Stack::new(config, service, core.now_us());
    let [a, b, c, d] = words.address;
    say!("ready: {:?} on {a}.{b}.{c}.{d}:{port}, TSC at {} MHz", words.app, core.mhz());
    Runtime::new(core, receive, transmit, stack, policy).run()
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    say!("error: {info}");
    cpu::reset()
}
