//! What the loader says, whichever it was. All of it is checked: what is damaged is refused, by the rule that it breaks,
//! and nothing outside of it is read.

mod multiboot2;
mod pvh;

/// So many bytes of words there are at most.
pub(crate) const MOST_WORDS: usize = 4096;

const NOT_WHOLE: &str = "what the loader says must be whole";
const MEMORY_IS_FREE: u32 = 1;
/// Of an entry of a memory map, which PVH and multiboot2 have alike: start, length, kind, and a reserve.
const ENTRY_BYTES: usize = 24;

/// What a loader says.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Told<'a> {
    /// The words that it was given for us, at most [`MOST_WORDS`] bytes.
    pub words: &'a [u8],
    /// Where the free memory ends that begins behind the image.
    pub memory_end: u64,
}

/// Memory as the loader left it: so many bytes at an address, if it has them.
pub(crate) type Memory<'a> = dyn Fn(u64, u64) -> Option<&'a [u8]> + 'a;

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

/// Where the free memory ends that has `image_end`.
fn memory_end(map: &[u8], entry_bytes: usize, image_end: u64) -> Result<u64, &'static str> {
    if entry_bytes < ENTRY_BYTES {
        return Err(NOT_WHOLE);
    }
    map.chunks_exact(entry_bytes)
        .filter(|entry| u32_at(entry, 16) == Some(MEMORY_IS_FREE))
        .find_map(|entry| {
            let start = u64_at(entry, 0)?;
            let end = start.checked_add(u64_at(entry, 8)?)?;
            (start..end).contains(&image_end).then_some(end)
        })
        .ok_or("the memory map must have the image's memory")
}

/// Text of C without the zero that must end it.
fn until_zero(bytes: &[u8]) -> Option<&[u8]> {
    bytes.iter().position(|byte| *byte == 0).map(|len| &bytes[..len])
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().map(|number| u32::from_le_bytes(*number))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes.get(offset..)?.first_chunk().map(|number| u64::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;
    use std::vec::Vec;

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
