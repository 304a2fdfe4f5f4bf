//! The eBPF programs in the kernel: loaded and attached, their records taken, their cost.

use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::path::Path;
use std::rc::Rc;

use bayop_core::{Error, Result};
use bayop_probe::cost::{KernelTime, Statistics};
use bayop_probe::ebpf::{Scope, attach_traces, check, device_index, enter, of_each_cpu, refused, ring};
use bayop_probe::interrupt::Sources;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Link, Map, MapCore, MapFlags, OpenObject, RingBuffer, num_possible_cpus};

use crate::counters::{Counter, Running, indices, run};
use crate::machine::{Queue, freq_khz, gro_flush_timeout_us, idle_states, queues, rx_usecs};

#[allow(missing_docs, clippy::undocumented_unsafe_blocks)] // Generated.
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/interrupts.skel.rs"));
}
use skeleton::{InterruptsSkel, InterruptsSkelBuilder};

/// Where the numbers of `struct own` of `interrupts.bpf.c` stand.
const LOST: usize = 0;
const RX_PACKETS: usize = 8;
const TX_PACKETS: usize = 16;
const UNCOUNTED: usize = 24;
const FREQ_KHZ: usize = 32;

/// What no record tells.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rest {
    /// Records that found no room.
    pub lost: u64,
    /// Packets that a CPU received which took no interrupt.
    pub rx_packets: u64,
    /// Packets that a CPU sent after its last interrupt, or without any.
    pub tx_packets: u64,
    /// Records without a counter that could not be read, as on a CPU that came online meanwhile.
    pub uncounted: u64,
}

/// What is recorded.
#[derive(Debug, Clone, Copy)]
pub struct Watch<'a> {
    /// The network device.
    pub device: &'a str,
    /// Its network namespace; None for our own.
    pub netns: Option<&'a Path>,
    /// What CPUs count; None for the usual, as far as the machine can.
    pub counters: Option<&'a [Counter]>,
    /// Whether to measure what eBPF costs.
    pub cost: bool,
}

/// The attached programs. They are detached when this is dropped, and by the kernel if the process dies before.
pub struct Recorder<'a> {
    skeleton: InterruptsSkel<'a>,
    ring: RingBuffer<'static>,
    taken: Rc<RefCell<Vec<u8>>>,
    links: Vec<Link>,
    statistics: Option<Statistics>,
    _counters: Vec<Running>,
    device: String,
    /// None of a device in a namespace that was entered: sysfs shows those of the one before.
    index: Option<u32>,
    /// The interrupts that are recorded; none where polls are.
    pub queues: Vec<Queue>,
    /// What the machine tells.
    pub sources: Sources,
}

impl<'a> Recorder<'a> {
    /// Loads and attaches the programs for a device. Enters its network namespace for that, and stays there.
    ///
    /// # Errors
    /// There is no such device, namespace or counter; or this kernel or its policy refuses.
    pub fn attach(watch: Watch<'_>, storage: &'a mut MaybeUninit<OpenObject>) -> Result<Self> {
        let Watch { device, netns, counters, cost } = watch;
        check(Scope::Tracing, "bayop-interrupts-record")?;
        let namespace = enter(netns)?;
        let index = device_index(device, "--device")?;
        let queues = if netns.is_none() { queues(device, index) } else { Vec::new() };
        let by_poll = queues.is_empty();
        let cpus = num_possible_cpus().map_err(|error| refused("tell its CPUs", &error))?;
        let counters = run(counters, cpus)?;

        libbpf_rs::set_print(None);
        let mut open =
            InterruptsSkelBuilder::default().open(storage).map_err(|error| refused("open the programs", &error))?;
        let constants = open.maps.rodata_data.as_deref_mut().expect("the programs have constants");
        constants.device = index;
        constants.netns = namespace;
        constants.by_poll = by_poll;
        constants.counters = few(counters.len());
        constants.cpus_possible = few(cpus);
        let columns = counters.iter().map(|running| running.counter.column()).collect();
        let frequency = freq_khz(0).is_some();
        let sources = Sources { interrupts: !by_poll, idle_states: idle_states(), frequency, counters: columns };
        constants.states = few(sources.states());
        let events = few((counters.len() * cpus).max(1));
        open.maps.events.set_max_entries(events).map_err(|error| refused("have room for counters", &error))?;
        for program in [&mut open.progs.on_raise, &mut open.progs.on_interrupt_end, &mut open.progs.on_interrupt] {
            program.set_autoload(!by_poll);
        }
        open.progs.on_frequency.set_autoload(frequency);
        open.progs.on_nothing.set_autoload(cost);
        let mut skeleton = open.load().map_err(|error| refused("load the programs", &error))?;
        number(&skeleton.maps.queues, &queues)?;
        for (index, event) in indices(&counters, cpus) {
            let (index, event) = (few(index).to_ne_bytes(), event.to_ne_bytes());
            let taken = skeleton.maps.events.update(&index, &event, MapFlags::ANY);
            taken.map_err(|error| refused("read counters", &error))?;
        }
        if frequency {
            tell_frequencies(&skeleton.maps.cpus)?;
        }

        let taken = Rc::new(RefCell::new(Vec::new()));
        let into = Rc::clone(&taken);
        let ring = ring(&skeleton.maps.records, move |record| into.borrow_mut().extend_from_slice(record))?;
        let statistics = cost.then(Statistics::enable).transpose()?;
        let links = attach_traces(skeleton.object())?;
        skeleton.maps.bss_data.as_deref_mut().expect("the programs have a variable").recording = true;
        let (device, index) = (device.to_owned(), netns.is_none().then_some(index));
        Ok(Self { skeleton, ring, taken, links, statistics, _counters: counters, device, index, queues, sources })
    }

    /// Takes the records that are complete: so many times the bytes of one.
    ///
    /// # Errors
    /// The kernel does not give them.
    pub fn take(&self) -> Result<Vec<u8>> {
        self.ring.consume().map_err(|error| refused("give its records", &error))?;
        Ok(self.taken.take())
    }

    /// Detaches the programs and takes the rest, with the newest record of each queue.
    ///
    /// # Errors
    /// The kernel does not give them.
    pub fn finish(&mut self) -> Result<Vec<u8>> {
        self.links.clear();
        let mut records = self.take()?;
        for queue in 1..=self.queues.len() {
            let key = u32::try_from(queue).expect("queues are few").to_ne_bytes();
            let newest = self.skeleton.maps.newest.lookup(&key, MapFlags::ANY);
            let record = newest.map_err(|error| refused("give its newest records", &error))?;
            // A record has a time.
            let record = record.filter(|record| record[..8] != [0; 8]).unwrap_or_default();
            records.extend(record.iter().take(self.sources.bytes()));
        }
        Ok(records)
    }

    /// How long a packet may wait for its interrupt, or poll, by what the device is asked now, in us; None where nothing
    /// tells.
    pub fn delay_us(&self) -> Option<f64> {
        if self.queues.is_empty() { gro_flush_timeout_us(&self.device, self.index?) } else { rx_usecs(&self.device) }
    }

    /// What no record has told so far.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn rest(&self) -> Result<Rest> {
        let cpus = of_each_cpu(&self.skeleton.maps.cpus)?;
        let sum = |place: usize| -> u64 {
            cpus.iter().map(|cpu| u64::from_ne_bytes(cpu[place..][..8].try_into().expect("eight bytes"))).sum()
        };
        let [lost, rx_packets, tx_packets, uncounted] = [LOST, RX_PACKETS, TX_PACKETS, UNCOUNTED].map(sum);
        Ok(Rest { lost, rx_packets, tx_packets, uncounted })
    }

    /// What the programs have taken, where it is measured.
    ///
    /// # Errors
    /// The kernel does not tell it.
    pub fn taken(&self) -> Result<Option<KernelTime>> {
        self.statistics.as_ref().map(|statistics| statistics.taken_by(self.skeleton.object())).transpose()
    }
}

/// A number of CPUs or counters, of which there are few.
fn few(number: usize) -> u32 {
    u32::try_from(number).expect("CPUs and counters are few")
}

/// Tells the programs which interrupts are the device's.
fn number(map: &Map<'_>, queues: &[Queue]) -> Result<()> {
    const MOST_QUEUES: u32 = 256;
    for (queue, number) in queues.iter().zip(1u32..) {
        let most_irqs = map.max_entries();
        if number > MOST_QUEUES || queue.irq >= most_irqs {
            return Err(Error::unsupported(format!("interrupt {} ({}) can't be recorded", queue.irq, queue.name))
                .rule(format!("a device must have at most {MOST_QUEUES} interrupts, with numbers below {most_irqs}"))
                .at("--device"));
        }
        map.update(&queue.irq.to_ne_bytes(), &number.to_ne_bytes(), MapFlags::ANY)
            .map_err(|error| refused("take the interrupts' numbers", &error))?;
    }
    Ok(())
}

/// Tells the programs the CPUs' frequencies, which the kernel announces only when they change.
fn tell_frequencies(map: &Map<'_>) -> Result<()> {
    let mut cpus = of_each_cpu(map)?;
    for (cpu, own) in cpus.iter_mut().enumerate() {
        own[FREQ_KHZ..][..4].copy_from_slice(&freq_khz(cpu).unwrap_or_default().to_ne_bytes());
    }
    map.update_percpu(&0u32.to_ne_bytes(), &cpus, MapFlags::ANY).map_err(|error| refused("take frequencies", &error))
}
