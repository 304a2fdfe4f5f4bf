//! From the first instruction to `main`: boot.s, what the loader says, memory.

use core::arch::global_asm;
use core::{slice, str};

use spin::{Mutex, MutexGuard};

use crate::heap::Heap;
use crate::loader::{self, MOST_WORDS};
use crate::{cores, interrupts};

global_asm!(include_str!("boot.s"), options(att_syntax));
global_asm!(include_str!("memory.s"), options(att_syntax));

#[global_allocator]
static HEAP: Heap = Heap::new();

/// How many bytes of memory were ever used, those of the image not among them.
pub fn used_memory() -> usize {
    HEAP.used()
}

/// How many never were.
pub fn left_memory() -> usize {
    HEAP.left()
}

/// Memory is mapped up to here (boot.s).
const MAPPED: u64 = 512 << 30;

/// The loader's words, kept here, since its memory is given away.
static WORDS: Mutex<[u8; MOST_WORDS]> = Mutex::new([0; MOST_WORDS]);

// SAFETY: image/link.ld names it; only its address is taken.
unsafe extern "C" {
    static IMAGE_END: u8;
}

/// Makes `main` the function that the machine runs: `fn(command_line: &'static str) -> !`.
#[macro_export]
macro_rules! entry {
    ($main:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn libos_main(magic: u32, information: u32) -> ! {
            let main: fn(&'static str) -> ! = $main;
            // SAFETY: boot.s alone calls this, once, with what the loader told it.
            main(unsafe { $crate::boot::start(magic, information) })
        }
    };
}

/// Sets memory and interrupts up. Returns the words that the loader was given for us; for [`entry!`] alone.
///
/// # Safety
///
/// It must be the first and only call, on a machine as a loader leaves it that had `magic` in EAX and `information` in
/// EBX.
///
/// # Panics
///
/// What the loader says is damaged, or no text.
pub unsafe fn start(magic: u32, information: u32) -> &'static str {
    let memory = |at: u64, len: u64| {
        let is_mapped = at != 0 && at.checked_add(len)? <= MAPPED;
        // SAFETY: memory is mapped to itself, and nothing writes what the loader left there until it was read.
        is_mapped.then(|| unsafe { slice::from_raw_parts(at as *const u8, len as usize) })
    };
    let image_end = (&raw const IMAGE_END) as u64;
    let told = loader::read(magic, information.into(), &memory, image_end).unwrap_or_else(|rule| panic!("{rule}"));
    let words = &mut MutexGuard::leak(WORDS.lock())[..told.words.len()];
    words.copy_from_slice(told.words);
    // SAFETY: after the image, and nobody else's: what the loader left there was read.
    unsafe { HEAP.add(image_end as usize, told.memory_end.min(MAPPED) as usize) };
    interrupts::init();
    cores::adopt();
    str::from_utf8(words).expect("words must be UTF-8")
}
