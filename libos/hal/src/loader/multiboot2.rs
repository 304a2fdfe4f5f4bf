//! Multiboot2's boot information: its length, then tags (Multiboot2 Specification 2.0, section 3.6).

use super::told::{Memory, NOT_WHOLE, Told, memory_end, u32_at, until_zero};

pub(super) const MAGIC: u32 = 0x36D7_6289;

const END: u32 = 0;
const WORDS: u32 = 1;
const MEMORY_MAP: u32 = 6;
/// Of a tag: its kind and length; of the information: its length, and a reserve; of a map: an entry's length and version.
const HEAD_BYTES: usize = 8;

pub(super) fn read<'a>(information: u64, memory: &Memory<'a>, image_end: u64) -> Result<Told<'a>, &'static str> {
    let (words, map) = (|| {
        let len = u32_at(memory(information, HEAD_BYTES as u64)?, 0)?;
        find(memory(information, len.into())?.get(HEAD_BYTES..)?)
    })()
    .ok_or(NOT_WHOLE)?;
    let entry_bytes = u32_at(map, 0).map_or(0, |len| len as usize);
    Ok(Told { words, memory_end: memory_end(map.get(HEAD_BYTES..).unwrap_or_default(), entry_bytes, image_end)? })
}

/// The words and the memory map among the tags.
fn find(mut tags: &[u8]) -> Option<(&[u8], &[u8])> {
    let (mut words, mut map) = (None, None);
    loop {
        let (kind, len) = (u32_at(tags, 0)?, u32_at(tags, 4)? as usize);
        let content = tags.get(HEAD_BYTES..len)?;
        match kind {
            END => return Some((words.unwrap_or_default(), map?)),
            WORDS => words = Some(until_zero(content)?),
            MEMORY_MAP => map = Some(content),
            _ => {}
        }
        tags = tags.get(len.next_multiple_of(8)..)?;
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::super::tests::{MEMORY_END, damage, map_bytes, read_from};
    use super::*;

    fn tag(kind: u32, content: &[u8]) -> Vec<u8> {
        let len = (HEAD_BYTES + content.len()) as u32;
        let mut bytes = [&kind.to_le_bytes()[..], &len.to_le_bytes(), content].concat();
        bytes.resize(bytes.len().next_multiple_of(8), 0xFF);
        bytes
    }

    fn information(tags: &[Vec<u8>]) -> Vec<u8> {
        let tags = tags.concat();
        let len = (HEAD_BYTES + tags.len()) as u32;
        [&len.to_le_bytes()[..], &[0; 4], &tags].concat()
    }

    fn map_tag(entry_bytes: u32) -> Vec<u8> {
        tag(MEMORY_MAP, &[&entry_bytes.to_le_bytes()[..], &[0; 4], &map_bytes(entry_bytes as usize)].concat())
    }

    #[test]
    fn it_tells_words_and_memory() {
        for entry_bytes in [24, 32] {
            let tags = [
                tag(2, b"a loader\0"),
                tag(WORDS, b"ip=10.0.2.15\0"),
                tag(4, &[]),
                map_tag(entry_bytes),
                tag(END, &[]),
            ];
            let told = Told { words: b"ip=10.0.2.15", memory_end: MEMORY_END };
            assert_eq!(read_from(MAGIC, &information(&tags)), Ok(told));
        }
        assert_eq!(read_from(MAGIC, &information(&[map_tag(24), tag(END, &[])])).unwrap().words, b"");
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        let words = tag(WORDS, b"ip=10.0.2.15\0");
        let lacking: [&[Vec<u8>]; 5] = [
            &[words.clone(), tag(END, &[])],                            // no map
            &[words.clone(), map_tag(24)],                              // no end
            &[tag(WORDS, b"ip=10.0.2.15"), map_tag(24), tag(END, &[])], // words without an end
            &[words.clone(), tag(MEMORY_MAP, &[0; 4]), tag(END, &[])],  // half of a head
            &[words, tag(MEMORY_MAP, &[0; 64]), tag(END, &[])],         // entries of no length
        ];
        for tags in lacking {
            assert_eq!(read_from(MAGIC, &information(tags)), Err(NOT_WHOLE));
        }
        for len in 0..HEAD_BYTES as u32 {
            let mut tag = tag(2, &[]);
            tag[4..].copy_from_slice(&len.to_le_bytes());
            assert_eq!(read_from(MAGIC, &information(&[tag])), Err(NOT_WHOLE));
        }
    }

    #[test]
    fn words_have_a_bound() {
        let read = |len: usize| {
            let tags = [tag(WORDS, &[&[b'a'].repeat(len)[..], b"\0"].concat()), map_tag(24), tag(END, &[])];
            read_from(MAGIC, &information(&tags)).map(|told| told.words.len())
        };
        assert_eq!(read(4096), Ok(4096));
        assert_eq!(read(4097), Err("words must be at most 4096 bytes"));
    }

    #[test]
    fn damage_is_no_panic() {
        damage(MAGIC, &information(&[tag(WORDS, b"app=echo\0"), map_tag(24), tag(END, &[])]));
    }
}
