// SPDX-License-Identifier: GPL-2.0-only
//! BayOp's governor for the kernel's module. `governor.h` has the same functions for C: the two change together.

#![no_std]

use core::arch::asm;
use core::ffi::c_void;
use core::panic::PanicInfo;
use core::slice;

use bayop_idle::{BayOp, Governor as _, Plans, Slept, States, View, Waker};

/// What all cores share.
struct Machine {
    states: States,
    plans: Plans,
}

/// One core.
struct Core {
    machine: &'static Machine,
    governor: BayOp<'static>,
}

/// Of what C has memory for: `BAYOP_ALIGN`.
const ALIGN: usize = 8;
const _: () = assert!(align_of::<Machine>() <= ALIGN && align_of::<Core>() <= ALIGN);

/// What a core is to do.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    state: u32,
    wake_after_us: u32,
    keeps_tick: bool,
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: it is no instruction, and the kernel ends what this core does with a report, as its own BUG() has it.
    unsafe { asm!("ud2", options(noreturn, nomem, nostack)) }
}

/// How much memory the machine takes.
#[unsafe(no_mangle)]
pub extern "C" fn bayop_machine_bytes() -> usize {
    size_of::<Machine>()
}

/// Makes a machine of its states: exit latency, target residency and power of each.
///
/// # Safety
/// `machine` has room for it, at a multiple of `ALIGN`; there are `count` rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bayop_machine_init(machine: *mut c_void, rows: *const [u32; 3], count: u32) -> bool {
    let mut table = [(0, 0, 0); bayop_idle::MAX_STATES];
    let Some(table) = table.get_mut(..count as usize) else { return false };
    // SAFETY: the caller has as many.
    let rows = unsafe { slice::from_raw_parts(rows, count as usize) };
    for (entry, &[exit_latency_us, target_residency_us, power]) in table.iter_mut().zip(rows) {
        *entry = (exit_latency_us, target_residency_us, power);
    }
    let Ok(states) = States::new(table) else { return false };
    // SAFETY: the caller has room for it.
    unsafe { machine.cast::<Machine>().write(Machine { states, plans: Plans::new(&states, u32::MAX) }) };
    true
}

/// How much memory a core takes.
#[unsafe(no_mangle)]
pub extern "C" fn bayop_core_bytes() -> usize {
    size_of::<Core>()
}

/// Makes a core that has learned nothing.
///
/// # Safety
/// `core` has room for it, at a multiple of `ALIGN`; the machine was made, and stays for as long as the core is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bayop_core_init(core: *mut c_void, machine: *const c_void, price: u32) {
    // SAFETY: the caller has made it.
    let machine = unsafe { &*machine.cast::<Machine>() };
    // SAFETY: the caller has room for it.
    unsafe { core.cast::<Core>().write(Core { machine, governor: BayOp::new(&machine.plans, price) }) };
}

/// What a core that goes idle is to do.
///
/// # Safety
/// The core was made, and nobody else uses it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bayop_select(
    core: *mut c_void,
    now_us: u64,
    timer_us: u32,
    tick_us: u32,
    max_latency_us: u32,
) -> Choice {
    // SAFETY: the caller alone uses it.
    let Core { machine, governor } = unsafe { &mut *core.cast::<Core>() };
    let choice = governor.select(&machine.states, &View { now_us, timer_us, tick_us, max_latency_us });
    let wake_after_us = choice.wake_after_us.unwrap_or(u32::MAX);
    Choice { state: choice.state as u32, wake_after_us, keeps_tick: choice.keeps_tick }
}

/// Polls of the core's queues have found packets, the last time at `at_us`.
///
/// # Safety
/// As of [`bayop_select`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bayop_arrivals(core: *mut c_void, at_us: u64, count: u32) {
    // SAFETY: the caller alone uses it.
    let Core { governor, .. } = unsafe { &mut *core.cast::<Core>() };
    governor.arrivals(at_us, count);
}

/// How the stay went that was selected last.
///
/// # Safety
/// As of [`bayop_select`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bayop_reflect(core: *mut c_void, length_us: u32, waker: u32) {
    // SAFETY: the caller alone uses it.
    let Core { machine, governor } = unsafe { &mut *core.cast::<Core>() };
    let waker = match waker {
        1 => Waker::Timer,
        2 => Waker::Tick,
        3 => Waker::Own,
        _ => Waker::Event,
    };
    governor.reflect(&machine.states, &Slept { length_us, waker });
}
