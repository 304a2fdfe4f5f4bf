//! What the agent sees and sets here: the NIC's delay, how cores wait, how deeply they sleep, how fast they run and how
//! many serve, and what they have counted.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use libos_agent::knob::{About, DELAY, Domain, Knob, Value};
use libos_agent::reading::Reading;
use libos_agent::{Agent, Machine, NIC};
use libos_hal::frequency::{Frequencies, STEP_MHZ};
use libos_hal::{boot, cores, cpu};
use libos_machine::Pace;
use libos_net::driver::Throttle;
use libos_net::stack::Cores;
use libos_net::wire::ipv4::Address;
use libos_runtime::interrupt_log::InterruptLog;
use libos_runtime::policy::{Order, Wait};
use libos_runtime::{Counters, Totals};
use spin::Mutex;

use crate::sleeping::Sleeping;
use crate::words::MAX_DELAY_US;

/// No machine without a meter knows its power; this is that of the small server which `bayop live` takes.
const IDLE_W: f64 = 20.0;
const BUSY_W: f64 = 60.0;

/// What it is joined to.
pub struct Parts {
    /// Of a NIC whose interrupts can be delayed.
    pub throttle: Option<Throttle>,
    /// How cores wait.
    pub order: Arc<Order>,
    /// How many serve.
    pub cores: Arc<Cores>,
    /// What each core has counted.
    pub counters: Vec<Arc<Counters>>,
    /// How deeply they sleep, where they have a choice.
    pub sleeping: Option<Arc<Sleeping>>,
    /// How fast they run, where they can be asked.
    pub pace: Option<Arc<Pace>>,
    /// Their interrupts.
    pub log: Arc<Mutex<InterruptLog>>,
}

/// The agent of this machine.
pub fn new(address: Address, Parts { throttle, order, cores: all, counters, sleeping, pace, log }: Parts) -> Agent {
    let cores = counters.len();
    let at = String::leak(name_of_all(cores));
    let mut knobs: Vec<Box<dyn Knob>> = vec![Box::new(Waiting { order, at })];
    if let Some(sleeping) = sleeping.clone() {
        knobs.push(Box::new(MaxLatency { sleeping, at }));
    }
    if cores > 1 {
        knobs.push(Box::new(Serving { cores: all, at }));
    }
    if let Some(pace) = pace.clone() {
        knobs.push(Box::new(Frequency { pace, cores, at }));
    }
    if let Some(throttle) = throttle {
        knobs.insert(0, Box::new(Delay(throttle)));
    }
    let totals = move |now_us| counters.iter().map(|core| core.totals(now_us)).collect::<Vec<_>>();
    let readings = Box::new(move |now_us| {
        let mut readings = readings(now_us, &totals(now_us), sleeping.as_deref());
        readings.extend(pace.as_deref().map(running));
        readings
    });
    Agent::new(Machine { address, knobs, readings, cores, log, random: cpu::seed })
}

/// The cores as Linux lists CPUs.
fn name_of_all(cores: usize) -> String {
    if cores == 1 { "cpu0".into() } else { format!("cpu0-{}", cores - 1) }
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
            domain: Domain::Whole(0, MAX_DELAY_US),
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

struct Waiting {
    order: Arc<Order>,
    at: &'static str,
}

const WAITS: [(&str, Wait); 3] = [("interrupt", Wait::Interrupt), ("poll", Wait::Poll), ("adaptive", Wait::Adaptive)];

impl Knob for Waiting {
    fn about(&self) -> About {
        About {
            id: "idle.wait",
            at: self.at,
            summary: "What a core does that has nothing to do",
            unit: None,
            safest: None,
            domain: Domain::Words(&[WAITS[0].0, WAITS[1].0, WAITS[2].0]),
        }
    }

    fn value(&self) -> Value {
        let (word, _) = WAITS.iter().find(|(_, wait)| *wait == self.order.get()).expect("each way to wait has a word");
        Value::from(*word)
    }

    fn set(&mut self, value: &Value) {
        if let Some((_, wait)) = WAITS.iter().find(|(word, _)| *value == Value::from(*word)) {
            self.order.set(*wait);
        }
    }
}

/// How long a core may take to wake up. The shallowest state is always allowed, so less than it takes is no limit.
struct MaxLatency {
    sleeping: Arc<Sleeping>,
    at: &'static str,
}

impl Knob for MaxLatency {
    fn about(&self) -> About {
        let [least_us, most_us] = self.sleeping.latencies_us();
        About {
            id: "idle.max_latency_us",
            at: self.at,
            summary: "Longest time that a core may take to wake up, which bounds its idle states",
            unit: Some("us"),
            safest: Some("low"),
            domain: Domain::Whole(least_us, most_us),
        }
    }

    fn value(&self) -> Value {
        Value::Number(self.sleeping.limit.get_us().into())
    }

    fn set(&mut self, value: &Value) {
        if let Value::Number(max_latency_us) = value {
            self.sleeping.limit.set_us(*max_latency_us as u32);
        }
    }
}

struct Frequency {
    pace: Arc<Pace>,
    cores: usize,
    at: &'static str,
}

impl Knob for Frequency {
    fn about(&self) -> About {
        let Frequencies { least_mhz, most_mhz } = self.pace.frequencies;
        About {
            id: "cpu.freq_mhz",
            at: self.at,
            summary: "Frequency that the cores are asked for",
            unit: Some("MHz"),
            safest: Some("high"),
            domain: Domain::Steps(least_mhz, most_mhz, STEP_MHZ),
        }
    }

    fn value(&self) -> Value {
        Value::Number(self.pace.get_mhz().into())
    }

    fn set(&mut self, value: &Value) {
        if let Value::Number(mhz) = value {
            self.pace.set_mhz(*mhz as u32, self.cores);
        }
    }
}

struct Serving {
    cores: Arc<Cores>,
    at: &'static str,
}

impl Knob for Serving {
    fn about(&self) -> About {
        About {
            id: "cores.serving",
            at: self.at,
            summary: "How many cores serve; the others sleep",
            unit: None,
            safest: Some("high"),
            domain: Domain::Whole(1, self.cores.count() as u32),
        }
    }

    fn value(&self) -> Value {
        Value::Number(self.cores.serving() as f64)
    }

    fn set(&mut self, value: &Value) {
        if let Value::Number(serving) = value {
            self.cores.serve_by(*serving as usize);
        }
    }
}

fn readings(now_us: u64, cores: &[Totals], sleeping: Option<&Sleeping>) -> Vec<Reading> {
    let now_s = now_us as f64 / 1e6;
    let slept_s = |totals: &Totals| totals.slept_us as f64 / 1e6;
    let busy_s = |totals: &Totals| (now_s - slept_s(totals)).max(0.0);
    let busy_share = cores.iter().map(busy_s).sum::<f64>() / cores.len() as f64;
    let energy_j = IDLE_W * now_s + (BUSY_W - IDLE_W) * busy_share;
    let model = format!("model: {IDLE_W} W asleep, {BUSY_W} W awake");
    let mut readings = vec![Reading { unit: "J", is_estimated: true, ..count("energy_j", "machine", energy_j, model) }];
    let memory =
        count("memory_used_bytes", "machine", boot::used_memory() as f64, "the allocator, what is free again among it");
    readings.push(Reading { unit: "B", ..memory });
    for (number, totals) in cores.iter().enumerate() {
        let core = format!("cpu{number}");
        let seconds = |name, at: &str, value, source| Reading { unit: "s", ..count(name, at, value, source) };
        readings.extend([
            seconds("cpu_busy_s", &core, busy_s(totals), "TSC, but for sleeps"),
            seconds("cpu_idle_s", &core, slept_s(totals), "TSC, around sleeps"),
        ]);
        // Where there are several, a stay counts when it is over.
        let states =
            sleeping.map_or(vec![("C1", totals.sleeps, totals.slept_us)], |sleeping| sleeping.stays_of(number));
        readings.extend(states.into_iter().flat_map(|(state, stays, slept_us)| {
            let at = format!("{core}/{state}");
            let slept = seconds("idle_time_s", &at, slept_us as f64 / 1e6, "TSC, around sleeps");
            [slept, count("idle_usage", &at, stays as f64, "hlt, mwait")]
        }));
    }
    let sum = |part: fn(&Totals) -> u64| cores.iter().map(part).sum::<u64>() as f64;
    readings.extend([
        count("interrupts", NIC, sum(|core| core.interrupts), "the handler"),
        count("nic_rx_packets", NIC, sum(|core| core.received_frames), "the driver"),
        count("nic_rx_bytes", NIC, sum(|core| core.received_bytes), "the driver"),
        count("nic_tx_packets", NIC, sum(|core| core.sent_frames), "the driver"),
        count("nic_tx_bytes", NIC, sum(|core| core.sent_bytes), "the driver"),
    ]);
    readings
}

/// What the core that answers runs at; no other one's register can be read here.
fn running(pace: &Pace) -> Reading {
    let (at, mhz) = (format!("cpu{}", cores::number()), pace.frequencies.running_mhz().into());
    Reading { unit: "MHz", is_gauge: true, ..count("freq_mhz", &at, mhz, "IA32_PERF_STATUS") }
}

fn count(name: &'static str, at: &str, value: f64, source: impl Into<Cow<'static, str>>) -> Reading {
    Reading {
        name,
        at: String::from(at).into(),
        value,
        unit: "1",
        source: source.into(),
        is_gauge: false,
        is_estimated: false,
    }
}
