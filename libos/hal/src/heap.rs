//! Memory for everything: pieces of fixed sizes, four to a doubling, that are kept by size when they are freed.
//!
//! What is freed serves only its own size again. That is constant in time and enough for a machine that does one thing;
//! what needs memory of ever other sizes (memcached's values) keeps it in one piece of its own.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::null_mut;

use spin::Mutex;

const SMALLEST_BITS: usize = 4;
const SIZES: usize = 4 * (40 - SMALLEST_BITS);
const GRAIN: usize = 1 << SMALLEST_BITS;

/// The allocator of all cores. Empty until [`add`](Heap::add) gives it memory.
pub struct Heap(Mutex<State>);

struct State {
    start: usize,
    next: usize,
    end: usize,
    free: [*mut u8; SIZES],
    /// By the power of two that they are aligned to, which is their size, too.
    free_aligned: [*mut u8; usize::BITS as usize],
}

// SAFETY: what the pointers point to is nobody's but the state's.
unsafe impl Send for State {}

impl Heap {
    /// No memory.
    pub const fn new() -> Heap {
        Heap(Mutex::new(State {
            start: 0,
            next: 0,
            end: 0,
            free: [null_mut(); SIZES],
            free_aligned: [null_mut(); usize::BITS as usize],
        }))
    }

    /// Gives it memory; once.
    ///
    /// # Safety
    ///
    /// `start..end` must be memory that nothing else uses.
    pub unsafe fn add(&self, start: usize, end: usize) {
        let mut state = self.0.lock();
        state.start = start.next_multiple_of(GRAIN);
        state.next = state.start;
        state.end = end;
    }

    /// How many bytes of it were ever used, what was freed among them: the most that was needed so far, about.
    pub fn used(&self) -> usize {
        let State { start, next, .. } = *self.0.lock();
        next - start
    }

    /// How many bytes of it were never used.
    pub fn left(&self) -> usize {
        let State { next, end, .. } = *self.0.lock();
        end - next
    }
}

impl Default for Heap {
    fn default() -> Self {
        Heap::new()
    }
}

/// Which list serves a size, and how much it gives.
fn size_class(size: usize) -> (usize, usize) {
    let size = size.max(GRAIN);
    let doubling = (size - 1).max(1).ilog2() as usize;
    if doubling < SMALLEST_BITS + 2 {
        let class = size.div_ceil(GRAIN) - 1;
        return (class, (class + 1) * GRAIN);
    }
    let step = 1 << (doubling - 2);
    let quarter = (size - (1 << doubling)).div_ceil(step);
    (4 * (doubling - SMALLEST_BITS - 1) + quarter - 1, (1 << doubling) + quarter * step)
}

// SAFETY: pieces don't overlap: each was cut off `next..end` once, and is in one list or with one owner. A list's
// pieces have at least the size and alignment that the list stands for.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let State { next, end, free, free_aligned, .. } = &mut *self.0.lock();
        let (list, size, align) = if layout.align() <= GRAIN {
            let (class, size) = size_class(layout.size());
            match free.get_mut(class) {
                Some(list) => (list, size, GRAIN),
                None => return null_mut(),
            }
        } else {
            let size = layout.size().max(layout.align()).next_power_of_two();
            (&mut free_aligned[size.ilog2() as usize], size, size)
        };
        if !list.is_null() {
            let piece = *list;
            // SAFETY: a freed piece begins with the address of the next one.
            *list = unsafe { piece.cast::<*mut u8>().read() };
            return piece;
        }
        let piece = next.next_multiple_of(align);
        match piece.checked_add(size) {
            Some(after) if after <= *end => {
                *next = after;
                piece as *mut u8
            }
            _ => null_mut(),
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        let State { free, free_aligned, .. } = &mut *self.0.lock();
        let list = if layout.align() <= GRAIN {
            &mut free[size_class(layout.size()).0]
        } else {
            &mut free_aligned[layout.size().max(layout.align()).next_power_of_two().ilog2() as usize]
        };
        // SAFETY: the piece is ours again, and at least 16 bytes.
        unsafe { piece.cast::<*mut u8>().write(*list) };
        *list = piece;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern crate std;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn a_size_class_holds_its_sizes_and_wastes_little() {
        let mut last = (0, GRAIN);
        for size in 1..100_000 {
            let (class, given) = size_class(size);
            assert!(given >= size && given % GRAIN == 0, "{size}");
            assert!(given - size < GRAIN.max(size / 4 + 1), "{size} gets {given}");
            assert!((class, given) == last || class == last.0 + 1 && given > last.1, "{size}");
            last = (class, given);
        }
    }

    #[test]
    fn pieces_never_overlap_and_are_used_again() {
        let mut memory = vec![0u8; 1 << 20];
        let heap = Heap::new();
        let start = memory.as_mut_ptr() as usize;
        // SAFETY: memory of the test's own.
        unsafe { heap.add(start, start + memory.len()) };
        let mut held: Vec<(usize, Layout)> = Vec::new();
        for step in 0..20_000usize {
            let size = step * 7919 % 700 + 1;
            let layout = Layout::from_size_align(size, 1 << (step % 8)).unwrap();
            // SAFETY: what was allocated is freed once, with its layout.
            unsafe {
                let piece = heap.alloc(layout) as usize;
                assert!(piece != 0 && piece % layout.align() == 0, "{step}");
                assert!(piece >= start && piece + size <= start + (1 << 20));
                for (other, its) in &held {
                    assert!(piece + size <= *other || other + its.size() <= piece, "{step}");
                }
                held.push((piece, layout));
                if held.len() > 40 {
                    let (piece, layout) = held.swap_remove(step * 31 % 40);
                    heap.dealloc(piece as *mut u8, layout);
                }
            }
        }
    }

    #[test]
    fn no_memory_is_no_piece() {
        // SAFETY: the layout is not empty.
        assert!(unsafe { Heap::new().alloc(Layout::new::<u64>()) }.is_null());
    }
}
