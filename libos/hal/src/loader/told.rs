//! What every loader tells, and the numbers in it.

/// So many bytes of words there are at most.
pub(crate) const MOST_WORDS: usize = 4096;

pub(super) const NOT_WHOLE: &str = "what the loader says must be whole";
const MEMORY_IS_FREE: u32 = 1;
/// Of an entry of a memory map, which PVH and multiboot2 have alike: start, length, kind, and a reserve.
pub(super) const ENTRY_BYTES: usize = 24;

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

/// Where the free memory ends that has `image_end`.
pub(super) fn memory_end(map: &[u8], entry_bytes: usize, image_end: u64) -> Result<u64, &'static str> {
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
pub(super) fn until_zero(bytes: &[u8]) -> Option<&[u8]> {
    bytes.iter().position(|byte| *byte == 0).map(|len| &bytes[..len])
}

pub(super) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().map(|number| u32::from_le_bytes(*number))
}

pub(super) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    bytes.get(offset..)?.first_chunk().map(|number| u64::from_le_bytes(*number))
}
