//! Idle states (C-states): which ones a core has, by what the CPU says of itself, and how it enters them.
//!
//! `cpuid` tells the depths that `mwait` takes, but not how long it takes to leave them. That is known of the
//! processors whose tables are here; any other one has `hlt` alone.

use alloc::vec::Vec;
use core::arch::asm;
use core::arch::x86_64::CpuidResult;

use crate::cpu;

extern crate alloc;

/// An idle state of this CPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct IdleState {
    /// As Linux names it.
    pub name: &'static str,
    /// What `mwait` is told.
    hint: u32,
    /// Worst case of the time from the wake-up to the first instruction.
    pub exit_latency_us: u32,
    /// Shortest stay that saves energy against the next shallower state.
    pub target_residency_us: u32,
    /// Power in it, in thousandths of that of a core that polls.
    pub power_permille: u32,
}

const fn state(name: &'static str, hint: u32, [exit, residency, power]: [u32; 3]) -> IdleState {
    IdleState { name, hint, exit_latency_us: exit, target_residency_us: residency, power_permille: power }
}

const C1: u32 = 0x00;
const C1E: u32 = 0x01;
/// What Linux names C3, C6 and C7 is C2, C3 and C4 to `mwait`.
const C3: u32 = 0x10;
const C6: u32 = 0x20;
const C7: u32 = 0x30;

/// The processors of family 6 that are known, by their models. Latencies and hints are those of Linux
/// (drivers/idle/intel_idle.c), powers as in python/bayop/idle/machines.py, which says where they are from.
const KNOWN: [(&[u32], &[IdleState]); 4] = [
    // Xeon E5-2600.
    (
        &[0x2D],
        &[
            state("C1", C1, [2, 2, 360]),
            state("C1E", C1E, [10, 20, 220]),
            state("C3", C3, [80, 211, 100]),
            state("C7", C7, [109, 345, 25]),
        ],
    ),
    // Xeon E5-2600 v3.
    (
        &[0x3F],
        &[
            state("C1", C1, [2, 2, 360]),
            state("C1E", C1E, [10, 20, 220]),
            state("C3", C3, [33, 100, 100]),
            state("C6", C6, [133, 400, 25]),
        ],
    ),
    // Xeon Scalable, the first and the second generation.
    (&[0x55], &[state("C1", C1, [2, 2, 360]), state("C1E", C1E, [10, 20, 220]), state("C6", C6, [133, 600, 25])]),
    // Xeon Scalable of the third generation.
    (&[0x6A, 0x6C], &[state("C1", C1, [1, 1, 360]), state("C1E", C1E, [4, 4, 220]), state("C6", C6, [170, 600, 25])]),
];

/// The states of this CPU, from the shallowest, which is `hlt`; none where `hlt` is all that it has.
pub fn states() -> Vec<IdleState> {
    states_of(cpu::id)
}

/// As Intel's manual 2A says ("CPUID"; leaves 1, 5, 6 and 80000007H). What would stop the clock or the timer that wakes
/// the core is no state for it.
fn states_of(id: impl Fn(u32) -> CpuidResult) -> Vec<IdleState> {
    let Some(model) = cpu::intel_model(&id) else { return Vec::new() };
    let Some((_, states)) = KNOWN.iter().find(|(models, _)| models.contains(&model)) else { return Vec::new() };
    let has_mwait = id(1).ecx & 1 << 3 != 0;
    let has_timer = id(0).eax >= 6 && id(6).eax & 1 << 2 != 0; // the APIC's runs on in any state
    let has_clock = id(0x8000_0000).eax >= 0x8000_0007 && id(0x8000_0007).edx & 1 << 8 != 0; // and the time stamps
    if !(has_mwait && has_timer && has_clock && id(5).ecx & 1 != 0) {
        return Vec::new();
    }
    let depths = id(5).edx;
    // Four bits for each depth, C0 first: how many states it has.
    let is_there = |state: &&IdleState| depths >> (((state.hint >> 4) + 1) * 4) & 0xF > state.hint & 0xF;
    let states: Vec<IdleState> = states.iter().filter(|state| state.hint == C1 || is_there(state)).copied().collect();
    if states.len() > 1 { states } else { Vec::new() }
}

/// What `mwait` watches: nobody writes it, so that interrupts alone end a stay.
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "only its address is taken")] u64);

static LINE: Line = Line(0);

/// Waits in this state as [`cpu::halt`] does.
pub fn enter(state: &IdleState) {
    if state.hint == C1 {
        return cpu::halt();
    }
    // SAFETY: `states` alone makes one with another hint, of a CPU that has both instructions; they change no memory.
    // The handlers are as for `halt`: `sti` opens interrupts only after the next instruction, and one that is pending
    // ends `mwait` at once.
    unsafe {
        asm!(
            "monitor", "mov eax, {hint:e}", "sti", "mwait", "cli",
            hint = in(reg) state.hint, inout("rax") &raw const LINE => _, in("ecx") 0, in("edx") 0,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Skylake-SP with all that it has; each of its words may be another.
    fn skylake(leaf: u32) -> CpuidResult {
        let [eax, ebx, ecx, edx] = match leaf {
            0 => [0x16, 0x756E_6547, 0x6C65_746E, 0x4965_6E69],
            1 => [0x0005_0654, 0, 1 << 3, 0],
            5 => [64, 64, 0b11, 0x2020],
            6 => [1 << 2, 0, 0, 0],
            0x8000_0000 => [0x8000_0008, 0, 0, 0],
            0x8000_0007 => [0, 0, 0, 1 << 8],
            _ => [0; 4],
        };
        CpuidResult { eax, ebx, ecx, edx }
    }

    fn names(id: impl Fn(u32) -> CpuidResult) -> Vec<&'static str> {
        states_of(id).iter().map(|state| state.name).collect()
    }

    #[test]
    fn a_known_processor_has_the_states_that_it_announces() {
        assert_eq!(names(skylake), ["C1", "C1E", "C6"]);
        let announcing =
            |edx: u32| move |leaf| if leaf == 5 { CpuidResult { edx, ..skylake(5) } } else { skylake(leaf) };
        assert_eq!(names(announcing(0x2010)), ["C1", "C6"]);
        assert_eq!(names(announcing(0x0020)), ["C1", "C1E"]);
        assert_eq!(names(announcing(0x0010)), [""; 0], "hlt alone is nothing to choose");
    }

    #[test]
    fn what_is_not_announced_is_not_there() {
        type Without = fn(&mut CpuidResult);
        let without: [(u32, Without); 8] = [
            (0, |id| id.ebx = 0x6874_7541), // another maker
            (0, |id| id.eax = 5),           // no leaf 6
            (1, |id| id.eax = 0x0005_0694), // a model that is not known
            (1, |id| id.ecx = 0),
            (5, |id| id.ecx = 0),
            (6, |id| id.eax = 0),
            (0x8000_0000, |id| id.eax = 0x8000_0006),
            (0x8000_0007, |id| id.edx = 0),
        ];
        for (number, (leaf, change)) in without.into_iter().enumerate() {
            let id = |asked| {
                let mut id = skylake(asked);
                if asked == leaf {
                    change(&mut id);
                }
                id
            };
            assert_eq!(names(id), [""; 0], "{number}");
        }
    }

    #[test]
    fn the_tables_fall_in_power_as_they_grow_in_latency() {
        for (_, states) in KNOWN {
            assert_eq!((states[0].name, states[0].hint), ("C1", C1));
            assert!(states.is_sorted_by(|a, b| a.exit_latency_us < b.exit_latency_us));
            assert!(states.is_sorted_by(|a, b| a.target_residency_us < b.target_residency_us));
            assert!(states.is_sorted_by(|a, b| a.power_permille > b.power_permille && a.hint < b.hint));
        }
    }
}
