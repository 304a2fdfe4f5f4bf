//! The cores beside the one that boots: started together, each waits for its job.
//!
//! Who they are is not asked of the firmware: all are told to begin, and the first of those that come are taken.

use alloc::alloc::{Layout, alloc};
use alloc::boxed::Box;
use core::hint::spin_loop;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use spin::Mutex;

use crate::apic::{self, Apic, CoreId};
use crate::clock::Clock;
use crate::{cpu, interrupts};

extern crate alloc;

/// So many there are at most, with the first.
pub const MOST_CORES: usize = 16;

/// What a core does. After that it waits for another.
pub type Job = Box<dyn FnOnce() + Send>;

/// There are fewer cores than were asked for.
#[derive(Clone, Copy, Debug)]
pub struct TooFew {
    /// With the first.
    pub cores: usize,
}

/// The trampoline of boot.s is copied here, below 1 MiB, where PCs have memory that nobody uses any more.
const TRAMPOLINE_AT: usize = 0x8000;
const STACK_BYTES: usize = 256 << 10;
/// How long they may take to come.
const PATIENCE_US: u64 = 1_000_000;
const GS_BASE: u32 = 0xC000_0101;
const ABSENT: u32 = u32::MAX;

// What boot.s takes others in by: how many have come, how many may, and the ends of their stacks.
#[unsafe(no_mangle)]
static CORES_ARRIVED: AtomicU32 = AtomicU32::new(0);
#[unsafe(no_mangle)]
static CORES_WANTED: AtomicU32 = AtomicU32::new(0);
#[unsafe(no_mangle)]
static CORE_STACKS: [AtomicU64; MOST_CORES] = [const { AtomicU64::new(0) }; MOST_CORES];

/// The first one's APIC, and the others', once they wait for their jobs.
static FIRST: AtomicU32 = AtomicU32::new(ABSENT);
static APICS: [AtomicU32; MOST_CORES] = [const { AtomicU32::new(ABSENT) }; MOST_CORES];
static JOBS: [Mutex<Option<Job>>; MOST_CORES] = [const { Mutex::new(None) }; MOST_CORES];

// SAFETY: boot.s has them; only their addresses are taken.
unsafe extern "C" {
    static trampoline: u8;
    static trampoline_end: u8;
}

/// Starts `count` cores beside this one; each waits for [`give`]. Once.
///
/// # Errors
///
/// There are fewer.
///
/// # Panics
///
/// With this one they are more than [`MOST_CORES`].
pub fn start(count: usize, apic: &Apic, clock: &Clock) -> Result<impl Iterator<Item = CoreId> + use<>, TooFew> {
    assert!(count < MOST_CORES);
    FIRST.store(CoreId::own().0.into(), Ordering::Release);
    if count > 0 {
        for stack in &CORE_STACKS[..count] {
            let layout = Layout::from_size_align(STACK_BYTES, 4096).expect("it is a stack's");
            // SAFETY: the layout is not empty.
            let base = unsafe { alloc(layout) };
            assert!(!base.is_null(), "there must be memory for the cores' stacks");
            stack.store(base as u64 + STACK_BYTES as u64, Ordering::Relaxed);
        }
        CORES_WANTED.store(count as u32, Ordering::SeqCst);
        let (begin, end) = (&raw const trampoline, &raw const trampoline_end);
        // SAFETY: the image's bytes, to a page that nothing else uses; memory is mapped to itself.
        unsafe { begin.copy_to_nonoverlapping(TRAMPOLINE_AT as *mut u8, end as usize - begin as usize) };
        apic.start_others(clock, (TRAMPOLINE_AT >> 12) as u8);
    }
    let are_here = || APICS[..count].iter().all(|apic| apic.load(Ordering::Acquire) != ABSENT);
    let start_us = clock.now_us();
    while !are_here() {
        if clock.now_us() > start_us + PATIENCE_US {
            return Err(TooFew { cores: 1 + CORES_ARRIVED.load(Ordering::SeqCst) as usize });
        }
        spin_loop();
    }
    Ok((0..count).map(|core| CoreId(APICS[core].load(Ordering::Relaxed) as u8)))
}

/// Gives the core of this number among those that were started, from zero, its job.
pub fn give(core: usize, job: Job) {
    *JOBS[core].lock() = Some(job);
}

/// Wakes a core that halts, or that is about to: of those that were started, or the first, which is number zero here.
///
/// # Panics
///
/// It was not started.
pub fn wake(core: usize) {
    let apic = core.checked_sub(1).map_or(&FIRST, |other| &APICS[other]).load(Ordering::Acquire);
    apic::interrupt(CoreId(u8::try_from(apic).expect("it is started")));
}

/// The number of the core that this runs on, as [`wake`] counts.
pub fn number() -> usize {
    let own = u32::from(CoreId::own().0);
    APICS.iter().position(|apic| apic.load(Ordering::Relaxed) == own).map_or(0, |other| other + 1)
}

/// What every core begins with: memory of its own, whose first word counts its devices' interrupts, and the handlers.
pub(crate) fn adopt() {
    let own = Box::leak(Box::new(0u64)) as *mut u64 as u64;
    // SAFETY: the word stays for ever, and nothing else uses `gs`.
    unsafe { cpu::write_msr(GS_BASE, own) }
    interrupts::load();
}

/// Another core, for boot.s alone.
#[unsafe(no_mangle)]
extern "C" fn libos_core(core: usize) -> ! {
    adopt();
    APICS[core].store(CoreId::own().0.into(), Ordering::Release);
    loop {
        let job = JOBS[core].lock().take();
        if let Some(job) = job {
            job()
        }
        spin_loop();
    }
}
