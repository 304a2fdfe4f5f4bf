//! Whatever a disk gives for a journal: its entries are the kernel's attributes, and written again they are read again.

#![no_main]

use std::path::{Component, Path};

use bayop_agent::journal::{Loaded, decode, encode};
use bayop_knobs::control::Control;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    check(decode(bytes));
    check(decode(&summed(bytes)));
});

/// The same lines, each behind its right sum: no chance finds one.
fn summed(bytes: &[u8]) -> Vec<u8> {
    let line = |line: &[u8]| {
        let json = line.get(9..).unwrap_or_default();
        [format!("{:08x} ", crc32fast::hash(json)).as_bytes(), json, b"\n"].concat()
    };
    bytes.split(|byte| *byte == b'\n').filter(|text| !text.is_empty()).flat_map(line).collect()
}

fn check(loaded: Loaded) {
    for entry in &loaded.entries {
        assert!(is_of_the_kernel(&entry.control), "{:?}", entry.control);
        assert!(entry.knobs().count() > 0 && !entry.restore_command().is_empty());
    }
    let boot_id = loaded.boot_id.unwrap_or_default();
    let again = decode(encode(&boot_id, &loaded.entries).as_bytes());
    assert_eq!(again, Loaded { boot_id: Some(boot_id), entries: loaded.entries, damage: None });
}

/// Said another way than `Control::is_within` says it.
fn is_of_the_kernel(control: &Control) -> bool {
    let plain = |path: &str| Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    match control {
        Control::File { path } => plain(path) && ["sys/", "proc/", "dev/"].iter().any(|top| path.starts_with(top)),
        Control::Coalesce { device, .. } | Control::Napi { device, .. } | Control::Indirection { device } => {
            plain(device) && Path::new(device).components().count() == 1 && !device.contains('/')
        }
        Control::Msr { .. } | Control::DmaLatency => true,
    }
}
