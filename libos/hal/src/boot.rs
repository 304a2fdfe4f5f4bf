//! From the first instruction to `main`: boot.s, the loader's start information, memory.

use core::arch::global_asm;
use core::ffi::CStr;
use core::ffi::c_char;

use crate::heap::Heap;
use crate::{cores, interrupts};

global_asm!(include_str!("boot.s"), options(att_syntax));
global_asm!(include_str!("memory.s"), options(att_syntax));

#[global_allocator]
static HEAP: Heap = Heap::new();

/// How many bytes of memory were ever used, those of the image not among them.
pub fn used_memory() -> usize {
    HEAP.used()
}

const START_MAGIC: u32 = 0x336E_C578;
const MEMORY_IS_FREE: u32 = 1;

/// `struct hvm_start_info` of Xen's start_info.h, as far as it is used.
#[repr(C)]
struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    module_list: u64,
    command_line: u64,
    rsdp: u64,
    memory_map: u64,
    memory_map_entries: u32,
}

/// `struct hvm_memmap_table_entry`.
#[repr(C)]
struct MemoryRange {
    start: u64,
    len: u64,
    kind: u32,
    reserved: u32,
}

// SAFETY: image/link.ld names it; only its address is taken.
unsafe extern "C" {
    static IMAGE_END: u8;
}

/// Makes `main` the function that the machine runs: `fn(command_line: &'static str) -> !`.
#[macro_export]
macro_rules! entry {
    ($main:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn libos_main(start_info: usize) -> ! {
            let main: fn(&'static str) -> ! = $main;
            // SAFETY: boot.s alone calls this, once, with what the loader told it.
            main(unsafe { $crate::boot::start(start_info) })
        }
    };
}

/// Sets memory and interrupts up. Returns the words that the loader was given for us; for [`entry!`] alone.
///
/// # Safety
///
/// `start_info` must be the address of what a loader says that speaks PVH, and it must be the first and only call.
pub unsafe fn start(start_info: usize) -> &'static str {
    // SAFETY: the caller's promise, checked by the magic number as far as it can be. Memory is mapped to itself.
    let (info, ranges) = unsafe {
        let info = &*(start_info as *const StartInfo);
        assert!(info.magic == START_MAGIC && info.version >= 1, "the loader must speak PVH, version 1");
        let ranges = info.memory_map as *const MemoryRange;
        (info, core::slice::from_raw_parts(ranges, info.memory_map_entries as usize))
    };
    let image_end = (&raw const IMAGE_END) as usize;
    let ours = ranges.iter().find(|range| {
        range.kind == MEMORY_IS_FREE && (range.start..range.start + range.len).contains(&(image_end as u64))
    });
    let range = ours.expect("the memory map must have the image's memory");
    let text = if info.command_line == 0 {
        ""
    } else {
        // SAFETY: a string that ends with a zero, of the loader's. It is in front of the image, or its page is not
        // given away below.
        unsafe { CStr::from_ptr(info.command_line as *const c_char) }.to_str().expect("words must be UTF-8")
    };
    let loaders = [start_info as u64, info.command_line, info.memory_map];
    let heap_start =
        loaders.iter().filter(|at| **at >= image_end as u64).max().map_or(image_end, |at| *at as usize + 4096);
    // SAFETY: after the image and what the loader has left, and nobody else's.
    unsafe { HEAP.add(heap_start, (range.start + range.len) as usize) };
    interrupts::init();
    cores::adopt();
    text
}
