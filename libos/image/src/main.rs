//! The image of the library OS: one core, one NIC, one service, as the words say that its loader was given; and beside
//! the service the agent's API, where they ask for that.

#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod agent;
mod core_of_machine;
mod words;

use alloc::rc::Rc;
use core::cell::{Cell, RefCell};

use libos_apps::echo::{self, Echo};
use libos_apps::hello::{self, Hello};
use libos_apps::memcached::{self, Memcached};
use libos_apps::tpcc::{self, Tpcc};
use libos_hal::{clock, cpu, say};
use libos_net::device::{Receive, Transmit};
use libos_net::driver::{OpenError, Throttle, open_e1000e, open_virtio};
use libos_net::service::{Pair, Service};
use libos_net::stack::{Config, Stack};
use libos_net::wire::ethernet::MacAddress;
use libos_runtime::interrupt_log::InterruptLog;
use libos_runtime::policy::{Adaptive, Chosen};
use libos_runtime::{Core as _, Counters, Runtime};

use core_of_machine::MachineCore;
use words::{App, Words};

libos_hal::entry!(main);

/// A sleep and its interrupt take about so long.
const SLEEP_IS_WORTH_US: u64 = 50;

/// Records of interrupts, 56 bytes each: those of some seconds, or of minutes.
const INTERRUPTS_KEPT: usize = 1 << 16;

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
            serve(words, memcached::PORT, Memcached::new(words.memory_mib << 20, start_s, cpu::seed()))
        }
        App::Hello => serve(words, hello::PORT, Hello),
        App::Echo => serve(words, echo::PORT, Echo),
        App::Tpcc => serve(words, tpcc::PORT, Tpcc::new(cpu::seed(), clock::unix_time_s() * 1_000_000)),
    }
}

fn serve<S: Service>(words: &Words, port: u16, service: S) -> ! {
    match (open_virtio(), words.delay_us) {
        (Ok(nic), None) => serve_on(words, port, service, nic, None),
        (Ok(_), Some(delay_us)) => {
            say!("error: delay must go with an e1000e and not with virtio-net, but got \"delay={delay_us}\"");
            cpu::reset()
        }
        (Err(OpenError::Absent), delay_us) => match open_e1000e(delay_us.unwrap_or(0)) {
            Ok(nic) => {
                let throttle = nic.1.throttle();
                serve_on(words, port, service, nic, Some(throttle))
            }
            Err(error) => refuse(error),
        },
        (Err(error), _) => refuse(error),
    }
}

fn refuse(error: OpenError) -> ! {
    say!("error: there must be a NIC that speaks virtio-net 1, or an e1000e, with MSI-X: {error:?}");
    cpu::reset()
}

fn serve_on<S: Service>(
    words: &Words,
    port: u16,
    service: S,
    (mac, receive, transmit): (MacAddress, impl Receive, impl Transmit),
    throttle: Option<Throttle>,
) -> ! {
    let core = MachineCore::new();
    let (wait, counters) = (Rc::new(Cell::new(words.wait)), Rc::new(Counters::default()));
    let log = words.has_agent.then(|| Rc::new(RefCell::new(InterruptLog::new(INTERRUPTS_KEPT))));
    let agent = log.as_ref().map(|log| {
        let parts = agent::Parts { throttle, wait: wait.clone(), counters: counters.clone(), log: log.clone() };
        agent::new(words.address, parts)
    });
    let config =
        Config { mac, address: words.address, max_connections: words.connections, secret: [cpu::seed(), cpu::seed()] };
    let stack = Stack::new(config, Pair(service, agent), core.now_us());
    let [a, b, c, d] = words.address;
    say!("ready: {:?} on {a}.{b}.{c}.{d}:{port}, TSC at {} MHz", words.app, core.mhz());
    let policy = Chosen::new(wait, Adaptive::new(SLEEP_IS_WORTH_US));
    let mut runtime = Runtime::new(core, receive, transmit, stack, policy, counters);
    if let Some(log) = log {
        runtime.log_to(log);
    }
    runtime.run()
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    say!("error: {info}");
    cpu::reset()
}
