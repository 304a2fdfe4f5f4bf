//! The eBPF programs in the kernel: loaded and attached, their records read, their cost.

use std::cell::RefCell;
use std::fs;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bayop_core::Result;
use bayop_knobs::host::Host;
use bayop_knobs::sysfs::CPUS;
use bayop_probe::cost::{KernelTime, Statistics};
use bayop_probe::ebpf::{Scope, attach_trace, check, of_each_cpu, refused, ring, unreadable};
use bayop_probe::stay::BYTES;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Link, OpenObject, RingBuffer};

#[allow(missing_docs, clippy::undocumented_unsafe_blocks)] // Generated.
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/idle.skel.rs"));
}
use skeleton::{IdleSkel, IdleSkelBuilder};

/// Where a CPU's numbers stand in `struct own` of `idle.bpf.c`.
const LOST: usize = 0;
const KEPT: usize = 8;
const STAYS: usize = 64;

/// Within it the CPU that waits has a tick, or it never does.
const TICK: Duration = Duration::from_millis(20);

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
        let read = |name| Host::live().read(&format!("{CPUS}/cpuidle/{name}")).unwrap_or_else(|_| "none".to_owned());
        Self { governor: read("current_governor_ro"), driver: read("current_driver") }
    }

    /// Whether menu chooses, so that it knows of the next timer. Without a driver the kernel asks no governor.
    fn is_by_menu(&self) -> bool {
        self.driver != "none" && self.governor == "menu"
    }
}

/// The kernel's symbols that it shows.
struct Symbols(String);

impl Symbols {
    fn of_this_kernel() -> Result<Self> {
        const SYMBOLS: &str = "/proc/kallsyms";
        fs::read_to_string(SYMBOLS).map(Self).map_err(|error| unreadable(SYMBOLS, &error))
    }

    fn has(&self, name: &str) -> bool {
        self.0.lines().any(|line| line.split(' ').nth(2) == Some(name))
    }
}

/// The stays that there was room for, as the programs wrote them.
struct Stays {
    bytes: Vec<u8>,
    most_bytes: usize,
    beyond: u64,
}

impl Stays {
    /// The memory is written to, so that the kernel gives it now and not stay by stay.
    fn of_at_most(most: usize) -> Self {
        let most_bytes = most * BYTES;
        let mut bytes = vec![u8::MAX; most_bytes];
        bytes.clear();
        Self { bytes, most_bytes, beyond: 0 }
    }

    fn take(&mut self, stays: &[u8]) {
        let room = (self.most_bytes - self.bytes.len()).min(stays.len());
        self.bytes.extend_from_slice(&stays[..room]);
        self.beyond += ((stays.len() - room) / BYTES) as u64;
    }
}

/// The attached programs. They are detached when this is dropped, and by the kernel if the process dies before.
pub struct Recorder<'a> {
    skeleton: IdleSkel<'a>,
    records: RingBuffer<'static>,
    stays: Rc<RefCell<Stays>>,
    links: Vec<Link>,
    statistics: Option<Statistics>,
    timers: bool,
}

impl<'a> Recorder<'a> {
    /// Loads and attaches the programs; `most` stays are kept, in memory that is taken now.
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
        let symbols = Symbols::of_this_kernel()?;
        // Of its data it shows those with CONFIG_KALLSYMS_ALL; elsewhere they can be found, if then they can be read.
        let shows = symbols.has("tick_cpu_device");
        let finds = !shows && symbols.has("bpf_rdonly_cast");
        open.progs.on_idle.set_autoload(shows);
        open.progs.on_tick.set_autoload(finds);
        open.progs.on_idle_found.set_autoload(finds);
        open.progs.on_idle_alone.set_autoload(!shows);
        open.progs.on_nothing.set_autoload(cost);
        let mut skeleton = open.load().map_err(|error| refused("load the programs", &error))?;
        let found = finds && find_ticks(&mut skeleton)?;
        let stays = Rc::new(RefCell::new(Stays::of_at_most(most)));
        let into = Rc::clone(&stays);
        let records = ring(&skeleton.maps.records, move |handed_out| into.borrow_mut().take(handed_out))?;
        let statistics = cost.then(Statistics::enable).transpose()?;
        let programs = &skeleton.progs;
        let on_idle = match (shows, found) {
            (true, _) => &programs.on_idle,
            (false, true) => &programs.on_idle_found,
            (false, false) => &programs.on_idle_alone,
        };
        let nothing = cost.then_some(&programs.on_nothing);
        let attached = [on_idle, &programs.on_poll].into_iter().chain(nothing);
        let links = attached.map(attach_trace).collect::<Result<_>>()?;
        let timers = shows || found;
        Ok(Self { skeleton, records, stays, links, statistics, timers })
    }

    /// Whether timers and ticks are seen.
    pub fn timers(&self) -> bool {
        self.timers
    }

    /// Takes the stays that were handed out.
    ///
    /// # Errors
    /// The kernel does not give them.
    pub fn take(&self) -> Result<()> {
        self.records.consume().map_err(|error| refused("give its records", &error))
    }

    /// Detaches the programs. The stays as they wrote them, each CPU's in their order, and how many there was no room for.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn finish(&mut self) -> Result<(Vec<u8>, u64)> {
        self.links.clear();
        self.take()?;
        let mut stays = self.stays.borrow_mut();
        let mut lost = 0;
        for cpu in of_each_cpu(&self.skeleton.maps.cpus)? {
            lost += u64::from_ne_bytes(cpu[LOST..][..8].try_into().expect("eight bytes"));
            let kept = u32::from_ne_bytes(cpu[KEPT..][..4].try_into().expect("four bytes")) as usize;
            stays.take(&cpu[STAYS..][..kept * BYTES]);
        }
        Ok((std::mem::take(&mut stays.bytes), stays.beyond + lost))
    }

    /// What the programs have taken, where it is measured.
    ///
    /// # Errors
    /// The kernel does not tell it.
    pub fn taken(&self) -> Result<Option<KernelTime>> {
        self.statistics.as_ref().map(|statistics| statistics.taken_by(self.skeleton.object())).transpose()
    }
}

/// Whether a tick came by which the programs know where all are.
fn find_ticks(skeleton: &mut IdleSkel<'_>) -> Result<bool> {
    let _link = attach_trace(&skeleton.progs.on_tick)?;
    let ends = Instant::now() + TICK;
    // A CPU that is busy has its ticks.
    while Instant::now() < ends {
        // It is the kernel that writes there, of which the compiler knows nothing.
        if skeleton.maps.bss_data.as_deref().is_some_and(|data| std::hint::black_box(data).apart != 0) {
            return Ok(true);
        }
    }
    Ok(false)
}
