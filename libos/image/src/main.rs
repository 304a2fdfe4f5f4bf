//! The image of the library OS: some cores, one NIC, one service, as the words say that its loader was given; and beside
//! the service the agent's API, where they ask for that.

#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod agent;
mod sleeping;
mod words;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use libos_apps::echo::{self, Echo};
use libos_apps::hello::{self, Hello};
use libos_apps::memcached::{self, Memcached};
use libos_apps::tpcc::{self, Tpcc};
use libos_hal::apic::CoreId;
use libos_hal::clock::{self, Clock};
use libos_hal::cores::{self, TooFew};
use libos_hal::{boot, cpu, idle, say};
use libos_machine::{MachineCore, Pace};
use libos_net::device::{Receive, Transmit};
use libos_net::driver::{OpenError, Throttle, open_e1000e, open_virtio};
use libos_net::service::{Pair, Service, Shared};
use libos_net::stack::{Config, Cores, Exchange, Stack};
use libos_net::wire::ethernet::MacAddress;
use libos_runtime::interrupt_log::{InterruptLog, Writer};
use libos_runtime::policy::{Adaptive, Chosen, Order};
use libos_runtime::{Core as _, Counters, Runtime};
use spin::Mutex;

use agent::Parts;
use sleeping::Sleeping;
use words::{App, Words};

libos_hal::entry!(main);

/// A sleep and its interrupt take about so long.
const SLEEP_IS_WORTH_US: u64 = 50;

/// Of a service that tells those who are too many: so many of these there are besides, and remembered when closed.
const CONNECTIONS_TO_REFUSE: usize = 1024;

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
    let cores = words.cores;
    match words.app {
        App::Memcached => {
            let left_mib = boot::left_memory() >> 20;
            if words.memory_mib > left_mib {
                say!("error: memory must be at most the {left_mib} MiB left, but got \"memory={}\"", words.memory_mib);
                cpu::reset()
            }
            let start_s = clock::unix_time_s() as u32;
            let service = Memcached::new(words.memory_mib << 20, start_s, cpu::seed(), cores, words.connections);
            let service = if words.has_udp { service.with_datagrams() } else { service };
            let words = Words { connections: words.connections + CONNECTIONS_TO_REFUSE, ..*words };
            serve(&words, memcached::PORT, vec![Shared::new(service); cores])
        }
        App::Hello => serve(words, hello::PORT, vec![Hello; cores]),
        App::Echo => serve(words, echo::PORT, vec![Echo; cores]),
        App::Tpcc => {
            let start_us = clock::unix_time_s() * 1_000_000;
            serve(words, tpcc::PORT, Tpcc::of_cores(cores as u8, cpu::seed(), start_us))
        }
    }
}

/// Serves with as many services as there are cores.
fn serve<S: Service<Session: Send> + Send + 'static>(words: &Words, port: u16, services: Vec<S>) -> ! {
    let clock = Clock::calibrate();
    let core = MachineCore::new(clock, idle::states().leak(), Pace::new().map(Arc::new));
    let others = core.start_others(words.cores - 1).unwrap_or_else(|TooFew { cores }| {
        say!("error: cores must be at most the machine's {cores}, but got \"cores={}\"", words.cores);
        cpu::reset()
    });
    let cores: Vec<CoreId> = [CoreId::own()].into_iter().chain(others).collect();
    let nic = match (open_virtio(&cores), words.delay_us) {
        (Ok(_), Some(delay_us)) => {
            say!("error: delay must go with an e1000e and not with virtio-net, but got \"delay={delay_us}\"");
            cpu::reset()
        }
        (Err(OpenError::Absent), delay_us) => {
            let (mac, receive, transmit) =
                open_e1000e(delay_us.unwrap_or(0)).unwrap_or_else(|error| refuse(error, words.cores));
            let throttle = receive.throttle();
            serve_on(words, port, clock, core, services, (mac, vec![(receive, transmit)]), Some(throttle))
        }
        (Ok(nic), None) => nic,
        (Err(error), _) => refuse(error, words.cores),
    };
    serve_on(words, port, clock, core, services, nic, None)
}

fn refuse(error: OpenError, cores: usize) -> ! {
    match error {
        OpenError::TooFewQueues => {
            say!("error: a NIC must have a pair of queues for each core, but got \"cores={cores}\"");
        }
        error => say!("error: there must be a NIC that speaks virtio-net 1, or an e1000e, with MSI-X: {error:?}"),
    }
    cpu::reset()
}

fn serve_on<S: Service<Session: Send> + Send + 'static>(
    words: &Words,
    port: u16,
    clock: Clock,
    first: MachineCore,
    services: Vec<S>,
    (mac, queues): (MacAddress, Vec<(impl Receive + Send + 'static, impl Transmit + Send + 'static)>),
    throttle: Option<Throttle>,
) -> ! {
    if queues.len() < services.len() {
        refuse(OpenError::TooFewQueues, words.cores);
    }
    let order = Arc::new(Order::new(words.wait));
    let (states, pace) = (first.states(), first.pace());
    let sleeping = Sleeping::new(states, services.len()).map(Arc::new);
    let cores = Arc::new(Cores::new(services.len(), cores::wake));
    let counters: Vec<Arc<Counters>> = services.iter().map(|_| Arc::default()).collect();
    let log = words.has_agent.then(|| Arc::new(Mutex::new(InterruptLog::new(INTERRUPTS_KEPT))));
    let agent = log.as_ref().map(|log| {
        let (order, cores, counters) = (order.clone(), cores.clone(), counters.clone());
        let (sleeping, pace, log) = (sleeping.clone(), pace.clone(), log.clone());
        let parts = Parts { throttle, order, cores, counters, sleeping, pace, log };
        Shared::new(agent::new(words.address, parts))
    });
    let (max_connections, secret) = (words.connections, [cpu::seed(), cpu::seed()]);
    let config = Config { mac, address: words.address, max_connections, secret };
    let exchange = Arc::new(Exchange::new(cores));
    let mut parts = services.into_iter().zip(queues).zip(counters).enumerate().map(|(number, parts)| {
        let ((service, (receive, transmit)), counters) = parts;
        let service = Pair(service, agent.clone());
        let (order, exchange) = (order.clone(), exchange.clone());
        let log = log.clone().map(|log| Writer::new(log, number));
        let depth = sleeping.as_ref().map(|sleeping| sleeping.depth(number));
        move |core: MachineCore| -> ! {
            let stack = Stack::of_core(number, exchange, config, service, core.now_us());
            let policy = Chosen::new(order, Adaptive::new(SLEEP_IS_WORTH_US));
            Runtime::new(core, receive, transmit, stack, policy, depth, counters, log).run()
        }
    });
    let ours = parts.next().expect("one core serves at least");
    for (other, part) in parts.enumerate() {
        let pace = pace.clone();
        cores::give(other, Box::new(move || part(MachineCore::new(clock, states, pace))));
    }
    let [a, b, c, d] = words.address;
    say!("ready: {:?} on {a}.{b}.{c}.{d}:{port}, TSC at {} MHz", words.app, clock.mhz());
    ours(first)
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    say!("error: {info}");
    cpu::reset()
}
