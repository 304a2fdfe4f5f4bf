//! The originals of everything that was changed, on disk before the first write.
//!
//! One line per record, each behind the CRC-32 of its text: a header with the version of the format, the boot that the
//! journal belongs to and the number of entries, then an entry per control. The file is replaced as a whole, so no crash
//! of the agent can tear it; a disk can. Lines that are whole are used, and that any is not is reported and never
//! forgotten: the damaged file is kept beside the journal until a person discards it. What is no file at all in its
//! place, such as a folder, is a journal of which nothing is whole.
//!
//! An upgrade or a downgrade of the agent finds a journal of another version. A field that this one does not know is
//! passed over, one that is absent has its default; an entry that it can't make sense of is damage.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use bayop_knobs::{Value, control::Control, network::identity::Identity};
use serde::{Deserialize, Serialize};

use crate::{durable, files};
use bayop_core::{Error, Kind, Result, reason};

/// The version of the format. A field that is added does not change it: who passes over the field must do no harm.
const VERSION: u32 = 1;

/// One control that was, or is about to be, written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Where.
    pub control: Control,
    /// The network device that the control belongs to, whatever it is called.
    #[serde(default)]
    pub device: Option<Identity>,
    /// The knobs that set it, by instance: two knobs of a device may share a control. None while they are handed back.
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
struct Header {
    /// Journals had none before there were two versions of the agent.
    #[serde(default)]
    version: u32,
    boot_id: String,
    entries: usize,
}

impl Entry {
    /// The knobs by which people know it, with what was asked of them: those that set it. One that nobody holds any more
    /// goes by its control.
    pub fn knobs(&self) -> impl Iterator<Item = (String, Asked)> {
        let returned = Asked { found: Value::Word(self.original.clone()), requested: "auto".into() };
        let returned = self.holders.is_empty().then(|| (self.control.to_string(), returned));
        self.holders.clone().into_iter().chain(returned)
    }

    /// Gives its network device another name.
    pub fn rename(&mut self, name: &str) {
        let Some(device) = self.control.device().map(str::to_owned) else { return };
        self.control = self.control.of(name);
        let rename = |knob: String| match knob.split_once('@') {
            Some((id, at)) if at.split('/').next() == Some(&device) => {
                format!("{id}@{}", at.replacen(&device, name, 1))
            }
            _ => knob,
        };
        self.holders =
            std::mem::take(&mut self.holders).into_iter().map(|(knob, asked)| (rename(knob), asked)).collect();
    }

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

    /// Makes `entries` what a restart finds; no entries, no file. A damaged journal is copied first.
    ///
    /// # Errors
    /// The disk is full or can't be written; the journal on disk is then still the one before, or what was no file in its
    /// place is moved aside already.
    pub fn store(&self, boot_id: &str, entries: &[Entry]) -> Result<()> {
        let replace = || {
            match present(&self.path()) {
                Ok(Some(bytes)) if decode(&bytes).damage.is_some() && !self.is_aside() => {
                    durable::replace(&self.damaged_path(), &bytes)?;
                }
                // What can't be copied is moved.
                Err(error) if is_damage(&error) && !self.is_aside() => fs::rename(self.path(), self.damaged_path())?,
                journal => drop(journal?),
            }
            match entries {
                [] => durable::remove(&self.path()),
                _ => durable::replace(&self.path(), encode(boot_id, entries).as_bytes()),
            }
        };
        replace().map_err(|error| {
            let hint = if is_damage(&error) {
                "look at the machine's settings, then run: bayop-agent restore --discard-damaged"
            } else {
                "make room in the state folder; nothing is written to the machine until then"
            };
            Error::unwritable(self.path(), &error)
                .rule("the journal must be on disk before a machine is changed")
                .hint(hint)
        })
    }

    /// Whether a damaged journal waits for a person.
    fn is_aside(&self) -> bool {
        self.damaged_path().symlink_metadata().is_ok()
    }

    /// Reads the journal, whatever is left of it.
    ///
    /// # Errors
    /// The file is there but can't be read.
    pub fn read(&self) -> Result<Loaded> {
        Ok(load(&self.path())?.unwrap_or_default())
    }

    /// Reads the journal, and makes one whole with it that an agent of another version set aside because it could make
    /// nothing of it, and this one can. Where the whole can't be stored, that waits for the next start.
    ///
    /// # Errors
    /// The journal is there but can't be read.
    pub fn adopt(&self) -> Result<Loaded> {
        let mut loaded = self.read()?;
        // One that can't be read keeps nothing of the journal from being restored, and waits for a person.
        let aside = load(&self.damaged_path()).ok().flatten();
        // What an entry means depends on the boot that it was written in. One of another waits for a person.
        let fits = |aside: &Loaded| loaded.entries.is_empty() || aside.boot_id == loaded.boot_id;
        let is_whole = |aside: &Loaded| aside.damage.is_none() && loaded.damage.is_none();
        let Some(aside) = aside.filter(|aside| is_whole(aside) && fits(aside)) else {
            return Ok(loaded);
        };
        let is_known = |entry: &Entry| loaded.entries.iter().any(|known| known.control == entry.control);
        let added: Vec<_> = aside.entries.into_iter().filter(|entry| !is_known(entry)).collect();
        loaded.entries.extend(added);
        loaded.boot_id = aside.boot_id.or(loaded.boot_id);
        if self.store(loaded.boot_id.as_deref().unwrap_or_default(), &loaded.entries).is_ok() {
            let _ = self.discard_damaged();
        }
        Ok(loaded)
    }

    /// What is wrong with the damaged journal that waits for a person: one that is set aside does, whatever is in it.
    pub fn damage(&self) -> Option<String> {
        let damage = |path: &Path, is_aside: bool| {
            let wrong = match load(path) {
                Ok(loaded) => loaded?.damage.or_else(|| is_aside.then(|| "it was set aside".to_owned()))?,
                Err(error) => error.to_string(),
            };
            Some(format!("the journal was damaged ({wrong}); what is left of it is in {}", path.display()))
        };
        damage(&self.damaged_path(), true).or_else(|| damage(&self.path(), false))
    }

    /// Forgets the damaged journal, as a person asked who has looked at the machine.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn discard_damaged(&self) -> Result<()> {
        durable::remove(&self.damaged_path()).map_err(|error| Error::unwritable(self.damaged_path(), &error))
    }
}

/// What a file has of a journal; none where there is no such file.
fn load(path: &Path) -> Result<Option<Loaded>> {
    match present(path) {
        Ok(bytes) => Ok(bytes.map(|bytes| decode(&bytes))),
        Err(error) if is_damage(&error) => Ok(Some(Loaded { damage: Some(reason(&error)), ..Loaded::default() })),
        Err(error) => Err(Error::unreadable(path, &error).of(Kind::Unsupported)),
    }
}

/// Whether a file can't be read because it is no journal; any other reason may be gone at the next attempt.
fn is_damage(error: &io::Error) -> bool {
    error.kind() == ErrorKind::InvalidData
}

/// What is in a file; none where there is nothing.
fn present(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match files::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound && path.symlink_metadata().is_ok() => {
            Err(io::Error::new(ErrorKind::InvalidData, "it is a link to nothing"))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The text of a journal.
pub fn encode(boot_id: &str, entries: &[Entry]) -> String {
    let header = Header { version: VERSION, boot_id: boot_id.to_owned(), entries: entries.len() };
    std::iter::once(line(&header)).chain(entries.iter().map(line)).collect()
}

fn line(record: &impl Serialize) -> String {
    let json = serde_json::to_string(record).expect("records have string keys and finite numbers");
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
}

/// What is whole in the bytes of a journal, whatever they are.
pub fn decode(bytes: &[u8]) -> Loaded {
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n').map(whole);
    let header: Option<Header> = lines.next().flatten().and_then(|json| serde_json::from_slice(json).ok());
    let (mut torn, mut foreign) = (0, 0);
    let mut entries: Vec<Entry> = Vec::new();
    for json in lines {
        match json.map(serde_json::from_slice::<Entry>) {
            Some(Ok(entry)) if entry.control.is_within() => entries.push(entry),
            Some(_) => foreign += 1,
            None => torn += 1,
        }
    }
    let damage = match &header {
        None => Some("its header is torn".to_owned()),
        Some(_) if torn > 0 => Some(format!("{torn} of its lines are torn")),
        Some(header) if foreign > 0 => {
            let version = header.version;
            Some(format!("{foreign} of its lines, of version {version}, are none that this agent of {VERSION} writes"))
        }
        Some(header) if header.entries != entries.len() => {
            Some(format!("it has {} of {} entries", entries.len(), header.entries))
        }
        Some(_) => None,
    };
    Loaded { boot_id: header.map(|header| header.boot_id), entries, damage }
}

/// The JSON of a line that is whole: its end is there and its sum is right.
fn whole(line: &[u8]) -> Option<&[u8]> {
    let (sum, json) = line.strip_suffix(b"\n")?.split_at_checked(9)?;
    let sum = u32::from_str_radix(std::str::from_utf8(sum).ok()?.strip_suffix(' ')?, 16).ok()?;
    (sum == crc32fast::hash(json)).then_some(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> Entry {
        Entry {
            control: Control::file(path),
            device: None,
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
        assert_eq!(journal.read().unwrap(), Loaded { boot_id: Some("boot".to_owned()), entries, damage: None });
        journal.store("boot", &[]).unwrap();
        assert_eq!(journal.read().unwrap(), Loaded::default());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn every_number_is_read_as_it_was_written() {
        let numbers = [95.500_000_000_000_01, 0.1 + 0.2, 1e300, f64::MIN_POSITIVE, -0.0];
        let asked = |number: f64| Asked { found: number.into(), requested: number.into() };
        let holders = numbers.iter().map(|number| (format!("power.cap_w@{number}"), asked(*number))).collect();
        let entries = vec![Entry { holders, ..entry("sys/a") }];
        assert_eq!(decode(encode("boot", &entries).as_bytes()).entries, entries);
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
        assert!(journal.read().unwrap().damage.is_some());
        journal.store("boot", &[]).unwrap();
        assert!(journal.damage().unwrap().contains("its header is torn"));
        assert_eq!(fs::read(journal.damaged_path()).unwrap(), b"torn");
        journal.discard_damaged().unwrap();
        assert_eq!(journal.damage(), None);
    }

    #[test]
    fn a_journal_that_is_no_file_beside_another_waits_for_a_person() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::new(folder.path());
        fs::create_dir(journal.path()).unwrap();
        fs::write(journal.damaged_path(), "torn").unwrap();
        let error = journal.store("boot", &[entry("sys/a")]).unwrap_err();
        assert!(error.hint.as_ref().unwrap().contains("--discard-damaged"), "{error}");
        assert!(journal.path().is_dir() && journal.damaged_path().is_file());
        journal.discard_damaged().unwrap();
        journal.store("boot", &[entry("sys/a")]).unwrap();
        assert!(journal.path().is_file() && journal.damaged_path().is_dir());
    }
}
