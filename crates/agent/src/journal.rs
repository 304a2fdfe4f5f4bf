//! The originals of everything that was changed, on disk before the first write.
//!
//! One line per record, each behind the CRC-32 of its text: a header with the boot that the journal belongs to and the
//! number of entries, then an entry per control. The file is replaced as a whole, so no crash of the agent can tear it;
//! a disk can. Lines that are whole are used, and that any is not is reported and never forgotten: the damaged file is
//! kept beside the journal until a person discards it.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bayop_knobs::{Value, control::Control};
use serde::{Deserialize, Serialize};

use crate::durable;
use bayop_core::{Error, Kind, Result};

/// One control that was, or is about to be, written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Where.
    pub control: Control,
    /// The knobs that set it, by instance: two knobs of a device may share a control.
    pub holders: BTreeMap<String, Asked>,
    /// What it held when BayOp first came, as the kernel spelled it.
    pub original: String,
    /// What was last written. None when only the write of another control reached it.
    pub intended: Option<String>,
    /// What it read after that. None while a request is in work: what is in effect is then unknown.
    pub effective: Option<String>,
    /// How it stands.
    pub state: State,
    /// Why it is not simply held.
    pub reason: Option<String>,
}

/// What was asked of a knob, in its unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Its value when BayOp first came.
    pub found: Value,
    /// Its value as requested.
    pub requested: Value,
}

/// How a control stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// BayOp set it and restores it.
    Held,
    /// Somebody else changed it since: BayOp neither writes nor restores it.
    StoodDown,
    /// It could not be restored: nothing is written to it until it was.
    Latched,
}

/// What was found on disk.
#[derive(Debug, Default, PartialEq)]
pub struct Loaded {
    /// The boot in which it was written; unknown when the header is damaged.
    pub boot_id: Option<String>,
    /// The entries that are whole.
    pub entries: Vec<Entry>,
    /// What is wrong with the rest.
    pub damage: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    boot_id: String,
    entries: usize,
}

impl Entry {
    /// The shell command that restores it, for a person; a comment when somebody else changed it since.
    pub fn restore_command(&self) -> String {
        let command = self.control.command(&self.original);
        match self.state {
            State::StoodDown => format!("# changed by somebody else since: {command}"),
            State::Held | State::Latched => command,
        }
    }
}

/// The journal's files in the state folder.
#[derive(Debug, Clone)]
pub struct Journal {
    folder: PathBuf,
}

impl Journal {
    /// The journal of that folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The file of the originals; there is none while nothing is changed.
    pub fn path(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// The copy of a damaged journal; while it is there, nothing is written.
    pub fn damaged_path(&self) -> PathBuf {
        self.folder.join("journal.damaged")
    }

    /// Makes `entries` what a restart finds; no entries, no file.
    ///
    /// # Errors
    /// The disk is full or can't be written; the journal on disk is then still the one before.
    pub fn store(&self, boot_id: &str, entries: &[Entry]) -> Result<()> {
        let stored = if entries.is_empty() {
            durable::remove(&self.path())
        } else {
            durable::replace(&self.path(), encode(boot_id, entries).as_bytes())
        };
        stored.map_err(|error| {
            Error::unwritable(self.path(), &error)
                .rule("the journal must be on disk before a machine is changed")
                .hint("make room in the state folder; nothing is written to the machine until then")
        })
    }

    /// Reads the journal, whatever is left of it.
    ///
    /// # Errors
    /// The file is there but can't be read.
    pub fn read(&self) -> Result<Loaded> {
        Ok(contents(&self.path())?.map_or_else(Loaded::default, |bytes| decode(&bytes)))
    }

    /// Reads the journal, and of a damaged one keeps a copy until it is discarded.
    ///
    /// # Errors
    /// The file is there but can't be read, or the copy can't be written.
    pub fn load(&self) -> Result<Loaded> {
        let Some(bytes) = contents(&self.path())? else { return Ok(Loaded::default()) };
        let loaded = decode(&bytes);
        if loaded.damage.is_some() && contents(&self.damaged_path())?.is_none() {
            durable::replace(&self.damaged_path(), &bytes)
                .map_err(|error| Error::unwritable(self.damaged_path(), &error))?;
        }
        Ok(loaded)
    }

    /// Whether a damaged journal waits for a person.
    pub fn is_damaged(&self) -> bool {
        self.damaged_path().exists()
    }

    /// Forgets the damaged journal, as a person asked who has looked at the machine.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn discard_damaged(&self) -> Result<()> {
        durable::remove(&self.damaged_path()).map_err(|error| Error::unwritable(self.damaged_path(), &error))
    }
}

fn contents(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::unreadable(path, &error).of(Kind::Unsupported)),
    }
}

fn encode(boot_id: &str, entries: &[Entry]) -> String {
    let header = Header { boot_id: boot_id.to_owned(), entries: entries.len() };
    std::iter::once(line(&header)).chain(entries.iter().map(line)).collect()
}

fn line(record: &impl Serialize) -> String {
    let json = serde_json::to_string(record).expect("records have string keys and finite numbers");
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

fn decode(bytes: &[u8]) -> Loaded {
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n');
    let header: Option<Header> = lines.next().and_then(record);
    let mut torn = 0;
    let mut entries: Vec<Entry> = Vec::new();
    for line in lines {
        match record(line) {
            Some(entry) => entries.push(entry),
            None => torn += 1,
        }
    }
    let damage = match &header {
        None => Some("its header is torn".to_owned()),
        Some(_) if torn > 0 => Some(format!("{torn} of its lines are torn")),
        Some(header) if header.entries != entries.len() => {
            Some(format!("it has {} of {} entries", entries.len(), header.entries))
        }
        Some(_) => None,
    };
    Loaded { boot_id: header.map(|header| header.boot_id), entries, damage }
}

/// The record of a line that is whole: its end is there and its sum is right.
fn record<T: for<'a> Deserialize<'a>>(line: &[u8]) -> Option<T> {
    let (sum, json) = line.strip_suffix(b"\n")?.split_at_checked(9)?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?.strip_suffix(' ')?, 16).ok()?;
    if sum != crc32fast::hash(json) {
        return None;
    }
    serde_json::from_slice(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> Entry {
        Entry {
            control: Control::file(path),
            holders: BTreeMap::from([(
                "power.cap_w@intel-rapl:0/0".to_owned(),
                Asked { found: 125.0.into(), requested: 95.5.into() },
            )]),
            original: "125000000".to_owned(),
            intended: Some("95500000".to_owned()),
            effective: None,
            state: State::Held,
            reason: None,
        }
    }

    #[test]
    fn what_is_stored_is_loaded_and_nothing_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path());
        let entries = vec![entry("sys/a"), entry("sys/b")];
        journal.store("boot", &entries).unwrap();
        assert_eq!(journal.load().unwrap(), Loaded { boot_id: Some("boot".to_owned()), entries, damage: None });
        journal.store("boot", &[]).unwrap();
        assert_eq!(journal.load().unwrap(), Loaded::default());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_journal_cut_at_any_byte_is_damaged_and_keeps_its_whole_lines() {
        let entries = [entry("sys/a"), entry("sys/b")];
        let bytes = encode("boot", &entries).into_bytes();
        for length in 0..bytes.len() {
            let loaded = decode(&bytes[..length]);
            assert!(loaded.damage.is_some(), "cut at {length}");
            assert!(entries.starts_with(&loaded.entries), "cut at {length}");
        }
    }

    #[test]
    fn a_flipped_bit_anywhere_never_gives_a_wrong_original() {
        let entries = [entry("sys/a"), entry("sys/b")];
        let bytes = encode("boot", &entries).into_bytes();
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            let loaded = decode(&flipped);
            assert!(loaded.entries.iter().all(|found| entries.contains(found)), "bit {at}");
            // The case of a hexadecimal digit of a sum is the one bit that means nothing.
            assert!(loaded.damage.is_some() || loaded.entries == entries, "bit {at}");
        }
    }

    #[test]
    fn a_copy_of_a_damaged_journal_is_kept_until_it_is_discarded() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path());
        fs::write(journal.path(), "torn").unwrap();
        assert!(journal.load().unwrap().damage.is_some());
        journal.store("boot", &[]).unwrap();
        assert!(journal.is_damaged());
        assert_eq!(fs::read(journal.damaged_path()).unwrap(), b"torn");
        journal.discard_damaged().unwrap();
        assert!(!journal.is_damaged());
    }
}
