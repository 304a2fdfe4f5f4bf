//! What the loader says, whichever it was. All of it is checked: what is damaged is refused, by the rule that it breaks,
//! and nothing outside of it is read.

mod multiboot2;
mod pvh;
mod told;

pub(crate) use told::MOST_WORDS;
use told::{Memory, Told};

/// Reads what a loader says, who begins with `magic` in EAX and `information` in EBX, about a machine with an image that
/// ends at `image_end`.
///
/// # Errors
///
/// The rule that this breaks.
pub(crate) fn read<'a>(
    magic: u32,
    information: u64,
    memory: &Memory<'a>,
    image_end: u64,
) -> Result<Told<'a>, &'static str> {
    let read = if magic == multiboot2::MAGIC { multiboot2::read } else { pvh::read };
    let told = read(information, memory, image_end)?;
    if told.words.len() > MOST_WORDS { Err("words must be at most 4096 bytes") } else { Ok(told) }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    use super::told::{ENTRY_BYTES, NOT_WHOLE, memory_end};
    use super::*;

    /// Where the tests' memory begins and the image ends, and what free memory is said to be.
    pub(super) const BASE: u64 = 0x10_0000;
    pub(super) const IMAGE_END: u64 = 0x20_0000;
    pub(super) const MAP: [(u64, u64, u32); 4] = [
        (0, 0x9_F000, 1),
        (IMAGE_END - 8, 0x100, 2), // not free
        (BASE, 0x700_0000, 1),
        (u64::MAX - 8, 0x100, 1), // no such memory
    ];
    pub(super) const MEMORY_END: u64 = BASE + 0x700_0000;

    /// The map as a loader writes it.
    pub(super) fn map_bytes(entry_bytes: usize) -> Vec<u8> {
        MAP.iter()
            .flat_map(|(start, len, kind)| {
                let mut entry = [&start.to_le_bytes()[..], &len.to_le_bytes(), &kind.to_le_bytes()].concat();
                entry.resize(entry_bytes, 0xFF);
                entry
            })
            .collect()
    }

    /// Reads what a loader says that lies at the beginning of a memory.
    pub(super) fn read_from(magic: u32, bytes: &[u8]) -> Result<Told<'_>, &'static str> {
        let memory = |at: u64, len: u64| {
            let start = at.checked_sub(BASE)?;
            bytes.get(start as usize..start.checked_add(len)? as usize)
        };
        read(magic, BASE, &memory, IMAGE_END)
    }

    /// Cut anywhere, and with any byte otherwise, it is refused or read, without a panic.
    pub(super) fn damage(magic: u32, bytes: &[u8]) {
        for len in 0..bytes.len() {
            assert!(read_from(magic, &bytes[..len]).is_err(), "{len} bytes of it");
        }
        for at in 0..bytes.len() {
            for byte in 0..=u8::MAX {
                let mut damaged = bytes.to_vec();
                damaged[at] = byte;
                let _ = read_from(magic, &damaged);
            }
        }
    }

    #[test]
    fn memory_ends_where_the_range_of_the_image_does() {
        let map = map_bytes(ENTRY_BYTES);
        assert_eq!(memory_end(&map, ENTRY_BYTES, IMAGE_END), Ok(MEMORY_END));
        assert_eq!(memory_end(&map_bytes(40), 40, IMAGE_END), Ok(MEMORY_END));
        assert!(memory_end(&map, ENTRY_BYTES, MEMORY_END).unwrap_err().starts_with("the memory map must"));
        for entry_bytes in 0..ENTRY_BYTES {
            assert_eq!(memory_end(&map, entry_bytes, IMAGE_END), Err(NOT_WHOLE));
        }
    }

    #[test]
    fn another_loader_is_refused() {
        assert_eq!(
            read_from(0x2BAD_B002, &vec![0; 4096]),
            Err("the loader must speak multiboot2, or PVH of version 1")
        );
    }
}
