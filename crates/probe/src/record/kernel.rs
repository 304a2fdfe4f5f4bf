//! The eBPF programs in the kernel: loaded and attached, their records read, their cost.

use std::cell::RefCell;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

use bayop_core::Result;
use bayop_probe::ebpf::{
    Scope, attach_traces, check, enable_statistics, of_each_cpu, refused, ring, run_time_of_all_ns, unreadable,
};
use bayop_probe::stay::Stay;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Link, OpenObject, RingBuffer};

#[allow(missing_docs, clippy::undocumented_unsafe_blocks)] // Generated.
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/idle.skel.rs"));
}
use skeleton::{IdleSkel, IdleSkelBuilder};

/// Where `lost` stands in `struct own` of `idle.bpf.c`.
const LOST: usize = 72;

/// What chooses idle states here, and what enters them; "none" where a CPU just halts.
#[derive(Debug, Clone)]
pub struct Cpuidle {
    /// Of the kernel's governors.
    pub governor: String,
    /// Of its drivers.
    pub driver: String,
}

impl Cpuidle {
    /// This machine's.
    pub fn of_this_machine() -> Self {
        let read = |name| {
            let path = Path::new("/sys/devices/system/cpu/cpuidle").join(name);
            fs::read_to_string(path).map_or_else(|_| "none".to_owned(), |text| text.trim().to_owned())
        };
        Self { governor: read("current_governor_ro"), driver: read("current_driver") }
    }

    /// Whether the kernel tells where it keeps its data (CONFIG_KALLSYMS_ALL), so that timers can be seen.
    fn shows_timers() -> Result<bool> {
        const SYMBOLS: &str = "/proc/kallsyms";
        let symbols = fs::read_to_string(SYMBOLS).map_err(|error| unreadable(SYMBOLS, &error))?;
        Ok(symbols.lines().any(|line| line.split(' ').nth(2) == Some("tick_cpu_device")))
    }

    /// Whether menu chooses, so that it knows of the next timer. Without a driver the kernel asks no governor.
    fn is_by_menu(&self) -> bool {
        self.driver != "none" && self.governor == "menu"
    }
}

/// The stays that there was room for.
struct Stays {
    stays: Vec<Stay>,
    beyond: u64,
}

/// The attached programs. They are detached when this is dropped, and by the kernel if the process dies before.
pub struct Recorder<'a> {
    skeleton: IdleSkel<'a>,
    records: RingBuffer<'static>,
    stays: Rc<RefCell<Stays>>,
    _links: Vec<Link>,
    statistics: Option<OwnedFd>,
    timers: bool,
}

impl<'a> Recorder<'a> {
    /// Loads and attaches the programs; `most` stays are kept, in memory that is reserved now.
    ///
    /// # Errors
    /// This kernel or its policy refuses.
    pub fn attach(
        cpuidle: &Cpuidle,
        most: usize,
        cost: bool,
        storage: &'a mut MaybeUninit<OpenObject>,
    ) -> Result<Self> {
        check(Scope::Tracing, "bayop-idle-record")?;
        libbpf_rs::set_print(None);
        let mut open =
            IdleSkelBuilder::default().open(storage).map_err(|error| refused("open the programs", &error))?;
        open.maps.rodata_data.as_deref_mut().expect("the programs have a constant").by_menu = cpuidle.is_by_menu();
        let timers = Cpuidle::shows_timers()?;
        open.progs.on_idle.set_autoload(timers);
        open.progs.on_idle_alone.set_autoload(!timers);
        let skeleton = open.load().map_err(|error| refused("load the programs", &error))?;
        let stays = Rc::new(RefCell::new(Stays { stays: Vec::with_capacity(most), beyond: 0 }));
        let kept = Rc::clone(&stays);
        let records = ring(&skeleton.maps.records, move |record| {
            let mut kept = kept.borrow_mut();
            if kept.stays.len() < most {
                kept.stays.push(Stay::of(record));
            } else {
                kept.beyond += 1;
            }
        })?;
        let statistics = cost.then(enable_statistics).transpose()?;
        let links = attach_traces(skeleton.object())?;
        Ok(Self { skeleton, records, stays, _links: links, statistics, timers })
    }

    /// Whether timers and ticks are seen.
    pub fn timers(&self) -> bool {
        self.timers
    }

    /// Takes the records that there are.
    ///
    /// # Errors
    /// The kernel does not give them.
    pub fn take(&self) -> Result<()> {
        self.records.consume().map_err(|error| refused("give its records", &error))
    }

    /// The stays so far, and how many there was no room for.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn stays(&self) -> Result<(Vec<Stay>, u64)> {
        let cpus = of_each_cpu(&self.skeleton.maps.cpus)?;
        let lost = |cpu: &Vec<u8>| u64::from_ne_bytes(cpu[LOST..][..8].try_into().expect("eight bytes"));
        let kept = self.stays.replace(Stays { stays: Vec::new(), beyond: 0 });
        Ok((kept.stays, kept.beyond + cpus.iter().map(lost).sum::<u64>()))
    }

    /// The time that the programs have taken, in ns, where it is measured.
    ///
    /// # Errors
    /// The kernel does not tell it.
    pub fn run_time_ns(&self) -> Result<Option<u64>> {
        self.statistics.as_ref().map(|_| run_time_of_all_ns(self.skeleton.object())).transpose()
    }
}
