//! Recorded machines: the kernel's trees of one machine as a text file that a person can read and review.
//!
//! ```text
//! # source: Documentation/admin-guide/pm/intel_pstate.rst, "Active Mode"
//! === sys/devices/system/cpu/cpufreq/policy0/scaling_driver
//! intel_pstate
//! === sys/class/net/eth0/device/driver -> ../../../../bus/pci/drivers/ena
//! === sys/class/powercap/intel-rapl:0/energy_uj !read
//! 262143328850
//! === sys/class/powercap/intel-rapl:0/max_energy_range_uj !write
//! 262143328850
//! === dev/cpu/0/msr !msr
//! 0x199 = 0x1d00
//! === dev/cpu_dma_latency !s32
//! 2000000000
//! ```
//!
//! Comment lines come first and name the source. A file's text runs to the next `===`. A mark after the path says what
//! is special: `!read` and `!write` take that permission away, as sysfs does even from root ([`Host`] keeps to it);
//! `!msr` lists registers, each of which is 8 bytes at the offset that is its number; `!s32` is one binary integer.
//!
//! Such a text may be a stranger's. What it describes stays inside the machine's folder: a link leads up before it leads
//! down, and not out; no path leads through a link of the same text; and registers are in `dev`, where no link leads, so
//! that no text is as long as they are far apart.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;

use crate::host::Host;
use bayop_core::{Error, Result};

const HEADER: &str = "=== ";
const REGISTER_BYTES: u64 = 8;
/// The folder of all CPUs' registers.
const REGISTERS_TOP: &str = "dev";

/// Writes the machine that `text` describes into `folder` and opens it.
///
/// # Errors
/// The text is not in the format, with the line at fault, or the folder can't be written.
pub fn unpack(text: &str, folder: &Path) -> Result<Host> {
    for entry in parse(text)? {
        let path = folder.join(entry.path);
        write(&entry, &path).map_err(|error| Error::unwritable(&path, &error))?;
    }
    Ok(Host::recorded(folder))
}

/// One file of a machine, which is written as it is read.
#[derive(Debug, PartialEq)]
pub(crate) struct Entry<'a> {
    pub path: &'a str,
    pub content: Content<'a>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Content<'a> {
    Text { text: &'a str, mode: u32 },
    Link(&'a str),
    Registers(Vec<(u64, u64)>),
    Integer(i32),
}

/// Modes of a file that may be written only, read only, and both.
pub(crate) const UNREADABLE: u32 = 0o200;
pub(crate) const READ_ONLY: u32 = 0o444;
pub(crate) const READ_WRITE: u32 = 0o644;

impl fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HEADER}{}", self.path)?;
        match &self.content {
            Content::Link(target) => writeln!(f, " -> {target}"),
            Content::Integer(integer) => writeln!(f, " !s32\n{integer}"),
            Content::Registers(registers) => {
                writeln!(f, " !msr")?;
                registers.iter().try_for_each(|(register, value)| writeln!(f, "{register:#x} = {value:#x}"))
            }
            Content::Text { text, mode } => {
                let mark = match *mode {
                    UNREADABLE => " !read",
                    READ_ONLY => " !write",
                    _ => "",
                };
                let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                write!(f, "{mark}\n{text}{end}")
            }
        }
    }
}

fn parse(text: &str) -> Result<Vec<Entry<'_>>> {
    let mut entries = Vec::new();
    let mut paths = BTreeSet::new();
    let (mut rest, mut line) = (text, 1);
    while let Some((head, after)) = next_line(rest) {
        let at = format!("line {line}");
        rest = after;
        line += 1;
        let Some(header) = head.strip_prefix(HEADER) else {
            if entries.is_empty() && (head.starts_with('#') || head.is_empty()) {
                continue;
            }
            let rule = "a machine must start with comments, then its files, each behind \"=== PATH\"";
            return Err(Error::cannot_use(head, rule).at(at));
        };
        let body = &rest[..body_length(rest)];
        rest = &rest[body.len()..];
        line += body.lines().count();
        let entry = entry(header, body).map_err(|error| error.at(&at))?;
        if !paths.insert(entry.path) {
            return Err(Error::input(format!("{} is there twice", entry.path)).at(at));
        }
        entries.push((entry, at));
    }
    let is_link = |(entry, _): &&(Entry, String)| matches!(entry.content, Content::Link(_));
    let links: BTreeSet<_> = entries.iter().filter(is_link).map(|(entry, _)| Path::new(entry.path)).collect();
    let through =
        |(entry, _): &&(Entry, String)| Path::new(entry.path).ancestors().skip(1).any(|up| links.contains(up));
    match entries.iter().find(through) {
        Some((entry, at)) => Err(Error::cannot_use(entry.path, "a path must not lead through a link").at(at)),
        None => Ok(entries.into_iter().map(|(entry, _)| entry).collect()),
    }
}

fn next_line(text: &str) -> Option<(&str, &str)> {
    (!text.is_empty()).then(|| text.split_once('\n').unwrap_or((text, "")))
}

/// How much of `text` comes before the next header.
fn body_length(text: &str) -> usize {
    text.split_inclusive('\n').take_while(|line| !line.starts_with(HEADER)).map(str::len).sum()
}

fn entry<'a>(header: &'a str, body: &'a str) -> Result<Entry<'a>> {
    let (path, content) = if let Some((path, target)) = header.split_once(" -> ") {
        if !body.trim().is_empty() {
            return Err(Error::cannot_use(body.trim(), "a link must have no text"));
        }
        (path, Content::Link(target))
    } else if let Some((path, mark)) = header.split_once(" !") {
        let content = match mark {
            "read" => Content::Text { text: body, mode: UNREADABLE },
            "write" => Content::Text { text: body, mode: READ_ONLY },
            "msr" => Content::Registers(registers(body)?),
            "s32" => Content::Integer(body.trim().parse().map_err(|_| {
                Error::cannot_use(body.trim(), "a file marked !s32 must hold one signed 32-bit integer")
            })?),
            _ => return Err(Error::cannot_use(mark, "a mark must be !read, !write, !msr or !s32")),
        };
        (path, content)
    } else {
        (header, Content::Text { text: body, mode: READ_WRITE })
    };
    if path.is_empty() || !path.split('/').all(is_name) {
        return Err(Error::cannot_use(path, "a path must be relative and stay inside the machine"));
    }
    match &content {
        Content::Link(target) if !leads_inside(path, target) => {
            let rule = "a link must be relative, its `..` first, and lead to a place in the machine, but not in dev";
            Err(Error::cannot_use(*target, rule))
        }
        Content::Registers(_) if path.split('/').next() != Some(REGISTERS_TOP) => {
            Err(Error::cannot_use(path, "registers must be in dev"))
        }
        _ => Ok(Entry { path, content }),
    }
}

fn is_name(part: &str) -> bool {
    !["", ".", ".."].contains(&part)
}

/// Whether a link at `path` leads to a place inside the machine, and to no registers. A `..` after a name would go up
/// from where that name leads, which the text does not say if it is a link too.
fn leads_inside(path: &str, target: &str) -> bool {
    let (depth, ups) = (path.matches('/').count(), target.split('/').take_while(|part| *part == "..").count());
    let mut names = target.split('/').skip(ups);
    let top = if ups < depth { path.split('/').next() } else { names.clone().next() };
    ups <= depth && top.is_some_and(|top| top != REGISTERS_TOP) && names.all(is_name)
}

/// Lines such as `0x199 = 0x1d00`. Two registers may not share a byte, which only a file's registers could.
fn registers(body: &str) -> Result<Vec<(u64, u64)>> {
    let mut registers = Vec::new();
    for line in body.lines().filter(|line| !line.is_empty()) {
        let number = |text: &str| u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok();
        let register = line.split_once('=').and_then(|(register, value)| Some((number(register)?, number(value)?)));
        let register =
            register.ok_or_else(|| Error::cannot_use(line, "a register must be written 0xNUMBER = 0xVALUE"))?;
        if registers.iter().any(|(other, _)| register.0.abs_diff(*other) < REGISTER_BYTES) {
            return Err(Error::cannot_use(line, "the recorded registers of a CPU must be 8 or more apart"));
        }
        registers.push(register);
    }
    Ok(registers)
}

fn write(entry: &Entry, path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match &entry.content {
        Content::Link(target) => symlink(target, path),
        Content::Integer(integer) => fs::write(path, integer.to_le_bytes()),
        Content::Registers(registers) => {
            let file = fs::File::create(path)?;
            registers.iter().try_for_each(|(register, value)| file.write_all_at(&value.to_le_bytes(), *register))
        }
        Content::Text { text, mode } => {
            fs::write(path, text)?;
            fs::set_permissions(path, fs::Permissions::from_mode(*mode))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "\
# source: this test

=== sys/a/text
one
two
=== sys/a/empty
=== sys/link -> a/text
=== sys/a/secret !read
42
=== sys/a/fixed !write
43
=== dev/cpu/0/msr !msr
0x199 = 0x1d00
0xc0010299 = 0xa1003
=== dev/cpu_dma_latency !s32
2000000000
";

    #[test]
    fn a_machine_is_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let host = unpack(MACHINE, folder.path()).unwrap();
        assert_eq!(host.read("sys/a/text"), Ok("one\ntwo".to_owned()));
        assert_eq!(host.read("sys/link"), host.read("sys/a/text"));
        assert_eq!(host.read("sys/a/empty"), Ok(String::new()));
        assert_eq!(host.read("sys/a/fixed"), Ok("43".to_owned()));
        assert_eq!(fs::read(host.path("dev/cpu_dma_latency")).unwrap(), 2_000_000_000_i32.to_le_bytes());
        let mut register = [0; 8];
        fs::File::open(host.path("dev/cpu/0/msr")).unwrap().read_exact_at(&mut register, 0x199).unwrap();
        assert_eq!(u64::from_le_bytes(register), 0x1d00);
    }

    #[test]
    fn what_is_read_is_written_alike() {
        let written: String = parse(MACHINE).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(written, MACHINE.split_once("\n\n").unwrap().1);
    }

    #[test]
    fn permissions_hold_for_root_too() {
        let folder = tempfile::tempdir().unwrap();
        let host = unpack(MACHINE, folder.path()).unwrap();
        let refused = |done: Result<String>| done.unwrap_err().to_string();
        assert_eq!(refused(host.read("sys/a/secret")), "cannot read /sys/a/secret: permission denied");
        let written = host.write("sys/a/fixed", "44").map(|()| String::new());
        assert_eq!(refused(written), "cannot write '44' to /sys/a/fixed: permission denied");
        host.write("sys/a/text", "44").unwrap();
    }

    #[test]
    fn what_is_no_machine_is_refused_with_its_line() {
        for (text, line) in [
            ("# source\nstray\n", "line 2"),
            ("=== a\n1\n=== a\n2\n", "line 3"),
            ("=== /etc/passwd\n", "line 1"),
            ("=== a/../../b\n", "line 1"),
            ("=== \n", "line 1"),
            ("=== a -> b\ntext\n", "line 1"),
            ("=== a !run\n", "line 1"),
            ("=== a\n1\n2\n=== b !s32\n3000000000\n", "line 4"),
            ("=== dev/cpu/0/msr !msr\n409 = 1\n", "line 1"),
            ("=== dev/cpu/0/msr !msr\n0x199 = 0x1\n0x19a = 0x2\n", "line 1"),
            ("=== sys/a !msr\n0x199 = 0x1\n", "line 1"),
            ("=== a\n1\n=== b/c -> /etc\n", "line 3"),
            ("=== b/c -> ../../etc\n", "line 1"),
            ("=== b/c -> d/../../../etc\n", "line 1"),
            ("=== a -> \n", "line 1"),
            ("=== b/c -> ..\n", "line 1"),
            ("=== b/c -> ../dev/cpu/0/msr\n", "line 1"),
            ("=== dev/b -> cpu\n", "line 1"),
            ("=== a/b -> c\n=== a/b/d\n1\n", "line 2"),
            ("=== a/b/d\n1\n=== a/b -> c\n", "line 1"),
        ] {
            assert_eq!(parse(text).unwrap_err().place.as_deref(), Some(line), "{text}");
        }
    }
}
