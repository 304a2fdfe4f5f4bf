//! What the agent sees and sets here: the NIC's delay, how the core waits, and what it has counted.

use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use libos_agent::knob::{About, DELAY, Domain, Knob, Value};
use libos_agent::reading::Reading;
use libos_agent::{Agent, Machine, NIC};
use libos_hal::{cpu, interrupts};
use libos_net::driver::Throttle;
use libos_net::wire::ipv4::Address;
use libos_runtime::interrupt_log::InterruptLog;
use libos_runtime::policy::Wait;
use libos_runtime::{Counters, Totals};

use crate::words::MAX_DELAY_US;

const CORE: &str = "cpu0";

/// No machine without a meter knows its power; this is that of the small server which `bayop live` takes.
const IDLE_W: f64 = 20.0;
const BUSY_W: f64 = 60.0;

/// What it is joined to.
pub struct Parts {
    /// Of a NIC whose interrupts can be delayed.
    pub throttle: Option<Throttle>,
    /// How the core waits.
    pub wait: Rc<Cell<Wait>>,
    /// What it has counted.
    pub counters: Rc<Counters>,
    /// Its interrupts.
    pub log: Rc<RefCell<InterruptLog>>,
}

/// The agent of this machine.
pub fn new(address: Address, Parts { throttle, wait, counters, log }: Parts) -> Agent {
    let mut knobs: Vec<Box<dyn Knob>> = vec![Box::new(Waiting(wait))];
    if let Some(throttle) = throttle {
        knobs.insert(0, Box::new(Delay(throttle)));
    }
    let readings = Box::new(move |now_us| readings(now_us, &counters.totals()));
    Agent::new(Machine { address, knobs, readings, log, random: cpu::seed })
}

struct Delay(Throttle);

impl Knob for Delay {
    fn about(&self) -> About {
        About {
            id: DELAY,
            at: NIC,
            summary: "Least time between two interrupts of the NIC",
            unit: Some("us"),
            safest: Some("low"),
            domain: Domain::UpTo(MAX_DELAY_US),
        }
    }

    fn value(&self) -> Value {
        Value::Number(self.0.delay_us().into())
    }

    fn set(&mut self, value: &Value) {
        if let Value::Number(delay_us) = value {
            self.0.set_delay_us(*delay_us as u32);
        }
    }
}

struct Waiting(Rc<Cell<Wait>>);

const WAITS: [(&str, Wait); 3] = [("interrupt", Wait::Interrupt), ("poll", Wait::Poll), ("adaptive", Wait::Adaptive)];

impl Knob for Waiting {
    fn about(&self) -> About {
        About {
            id: "idle.wait",
            at: CORE,
            summary: "What a core does that has nothing to do",
            unit: None,
            safest: None,
            domain: Domain::Words(&[WAITS[0].0, WAITS[1].0, WAITS[2].0]),
        }
    }

    fn value(&self) -> Value {
        let (word, _) = WAITS.iter().find(|(_, wait)| *wait == self.0.get()).expect("each way to wait has a word");
        Value::from(*word)
    }

    fn set(&mut self, value: &Value) {
        if let Some((_, wait)) = WAITS.iter().find(|(word, _)| *value == Value::from(*word)) {
            self.0.set(*wait);
        }
    }
}

fn readings(now_us: u64, totals: &Totals) -> Vec<Reading> {
    let (now_s, slept_s) = (now_us as f64 / 1e6, totals.slept_us as f64 / 1e6);
    let busy_s = (now_s - slept_s).max(0.0);
    let count = |name, at, value, source: &'static str| Reading {
        name,
        at,
        value,
        unit: "1",
        source: source.into(),
        is_estimated: false,
    };
    let seconds = |name, at, value, source| Reading { unit: "s", ..count(name, at, value, source) };
    vec![
        Reading {
            name: "energy_j",
            at: "machine",
            value: IDLE_W * now_s + (BUSY_W - IDLE_W) * busy_s,
            unit: "J",
            source: format!("model: {IDLE_W} W asleep, {BUSY_W} W awake").into(),
            is_estimated: true,
        },
        seconds("cpu_busy_s", CORE, busy_s, "TSC, but for sleeps"),
        seconds("cpu_idle_s", CORE, slept_s, "TSC, around hlt"),
        seconds("idle_time_s", "cpu0/C1", slept_s, "TSC, around hlt"),
        count("idle_usage", "cpu0/C1", totals.sleeps as f64, "hlt"),
        count("interrupts", NIC, interrupts::device_count() as f64, "the handler"),
        count("nic_rx_packets", NIC, totals.received_frames as f64, "the driver"),
        count("nic_rx_bytes", NIC, totals.received_bytes as f64, "the driver"),
        count("nic_tx_packets", NIC, totals.sent_frames as f64, "the driver"),
        count("nic_tx_bytes", NIC, totals.sent_bytes as f64, "the driver"),
    ]
}
