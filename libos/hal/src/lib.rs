//! The machine under the library OS, an x86-64 PC: boot (PVH, multiboot2), memory mapped to itself, interrupts, clocks, PCI.
//!
//! One address space, no other privilege. Interrupts are open only while a core [halts](cpu::halt), so code runs to
//! completion, and what belongs to a core needs no lock. All `unsafe` of the library OS is here: a block says why it is
//! sound, a module what its users must keep to.

#![no_std]
#![cfg(target_arch = "x86_64")]

pub mod apic;
#[cfg(feature = "boot")]
pub mod boot;
pub mod clock;
pub mod console;
#[cfg(feature = "boot")]
pub mod cores;
pub mod cpu;
pub mod dma;
pub mod frequency;
pub mod heap;
pub mod idle;
pub mod interrupts;
#[cfg(any(test, feature = "boot"))]
mod loader;
pub mod mmio;
pub mod pci;
mod port;
