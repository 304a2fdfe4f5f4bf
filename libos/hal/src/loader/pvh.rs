//! PVH's start information: `struct hvm_start_info` of Xen's start_info.h, and what that points to.

use super::told::{ENTRY_BYTES, MOST_WORDS, Memory, NOT_WHOLE, Told, memory_end, u32_at, u64_at, until_zero};

const MAGIC: u32 = 0x336E_C578;
const BYTES: u64 = 56;
const VERSION: usize = 4;
const WORDS: usize = 24;
const MEMORY_MAP: usize = 40;
const MEMORY_MAP_ENTRIES: usize = 48;

pub(super) fn read<'a>(information: u64, memory: &Memory<'a>, image_end: u64) -> Result<Told<'a>, &'static str> {
    let start = memory(information, BYTES).ok_or(NOT_WHOLE)?;
    if u32_at(start, 0) != Some(MAGIC) || u32_at(start, VERSION) < Some(1) {
        return Err("the loader must speak multiboot2, or PVH of version 1");
    }
    let words = match u64_at(start, WORDS).ok_or(NOT_WHOLE)? {
        0 => &[],
        at => memory(at, MOST_WORDS as u64 + 1).ok_or(NOT_WHOLE)?,
    };
    let map = (|| {
        let entries = u32_at(start, MEMORY_MAP_ENTRIES)?;
        memory(u64_at(start, MEMORY_MAP)?, u64::from(entries) * ENTRY_BYTES as u64)
    })()
    .ok_or(NOT_WHOLE)?;
    Ok(Told { words: until_zero(words).unwrap_or(words), memory_end: memory_end(map, ENTRY_BYTES, image_end)? })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::super::tests::{BASE, MAP, MEMORY_END, damage, map_bytes, read_from};
    use super::*;

    /// A memory with the information, the map and the words, and these at its end.
    fn memory(version: u32, words: Option<&[u8]>) -> Vec<u8> {
        let map = map_bytes(ENTRY_BYTES);
        let words_at = BASE + BYTES + map.len() as u64;
        let mut bytes = [
            &MAGIC.to_le_bytes()[..],
            &version.to_le_bytes(),
            &[0; 16],
            &words.map_or(0, |_| words_at).to_le_bytes(),
            &[0; 8],
            &(BASE + BYTES).to_le_bytes(),
            &(MAP.len() as u32).to_le_bytes(),
            &[0; 4],
            &map,
        ]
        .concat();
        if let Some(words) = words {
            bytes.extend(words);
            bytes.resize(bytes.len() - words.len() + MOST_WORDS + 1, 0);
        }
        bytes
    }

    #[test]
    fn it_tells_words_and_memory() {
        for (given, words) in [(Some(&b"ip=10.0.2.15"[..]), &b"ip=10.0.2.15"[..]), (Some(b""), b""), (None, b"")] {
            assert_eq!(read_from(0, &memory(1, given)), Ok(Told { words, memory_end: MEMORY_END }));
        }
    }

    #[test]
    fn a_version_without_a_memory_map_is_refused() {
        assert!(read_from(0, &memory(0, None)).unwrap_err().starts_with("the loader must speak"));
    }

    #[test]
    fn words_have_a_bound() {
        let read = |len: usize| read_from(0, &memory(1, Some(&[b'a'].repeat(len)))).map(|told| told.words.len());
        assert_eq!(read(4096), Ok(4096));
        assert_eq!(read(4097), Err("words must be at most 4096 bytes"));
    }

    #[test]
    fn damage_is_no_panic() {
        damage(0, &memory(1, None));
    }
}
