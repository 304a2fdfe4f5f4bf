//! What a test needs of the machine. Without it the test ends at once and says so to `make test`, which prints what did
//! not run: a line in the file that BAYOPTEST_SKIPPED names (tests/support/needs.py). With BAYOPTEST_NO_SKIP it fails.

#![allow(dead_code)] // no program of tests needs all of it

use std::io::Write as _;
use std::path::Path;

/// Says that this test does not run, and the command with which it would.
pub fn lacking(lack: &str, command: &str) {
    assert!(std::env::var_os("BAYOPTEST_NO_SKIP").is_none(), "{lack}; get it by: {command}");
    note(lack, command);
}

/// Says that this test can't run on this machine, whoever calls it.
pub fn unsupported(lack: &str) {
    note(lack, "another machine");
}

fn note(lack: &str, command: &str) {
    let line = format!("{lack}; get it by: {command}\n");
    eprint!("skipped: {line}");
    if let Some(path) = std::env::var_os("BAYOPTEST_SKIPPED") {
        // One write, which the kernel appends whole, whatever other tests write meanwhile.
        let mut file = std::fs::File::options().create(true).append(true).open(path).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}

/// Whether root runs this test; says so if not.
pub fn has_root() -> bool {
    let root = std::fs::metadata("/proc/self").is_ok_and(|process| std::os::unix::fs::MetadataExt::uid(&process) == 0);
    if !root {
        lacking("only root may do this", "sudo make test");
    }
    root
}

/// Whether all these programs are installed; says which one is not.
pub fn has_programs(names: &[&str]) -> bool {
    let paths = std::env::var("PATH").unwrap();
    let is_there = |name: &&&str| paths.split(':').any(|folder| Path::new(folder).join(name).exists());
    let missing = names.iter().find(|name| !is_there(name));
    if let Some(name) = missing {
        lacking(&format!("{name} is not installed"), "sudo make test");
    }
    missing.is_none()
}
