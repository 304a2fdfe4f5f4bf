//! Model-specific registers by `/dev/cpu/N/msr` (msr(4)): 8 bytes at the offset that is the register's number.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use crate::host::{Host, Look};
use crate::refusal::{in_the_service, refusal};
use bayop_core::{Error, Result};

/// What lets a register be read and written at all.
fn hint() -> String {
    let kernel =
        "modprobe msr, with msr.allow_writes=on on the kernel's command line; under Secure Boot the kernel refuses";
    format!("{kernel}; {}", in_the_service("msr.conf"))
}

pub(super) fn read(host: &Host, cpu: u32, register: u32) -> Result<u64> {
    host.note(|| Look::Register(cpu, register));
    let path = path(cpu);
    let mut bytes = [0; 8];
    OpenOptions::new()
        .read(true)
        .open(host.path(&path))
        .and_then(|file| file.read_exact_at(&mut bytes, u64::from(register)))
        .map_err(|error| refusal(&format!("read register {register:#x} of"), &path, &error).hint(hint()))?;
    Ok(u64::from_le_bytes(bytes))
}

pub(super) fn write(host: &Host, cpu: u32, register: u32, value: u64) -> Result<()> {
    let path = path(cpu);
    OpenOptions::new()
        .write(true)
        .open(host.path(&path))
        .and_then(|file| file.write_all_at(&value.to_le_bytes(), u64::from(register)))
        .map_err(|error| {
            refusal(&format!("write {value:#x} to register {register:#x} of"), &path, &error)
                .value(format!("{value:#x}"))
                .hint(hint())
        })
}

/// The number that `0x1d00` is.
pub(super) fn parse(text: &str) -> Result<u64> {
    text.strip_prefix("0x")
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| Error::cannot_use(text, "a register's value must be hexadecimal, such as 0x1d00"))
}

fn path(cpu: u32) -> String {
    format!("dev/cpu/{cpu}/msr")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn a_value_is_read_back(value in any::<u64>()) {
            prop_assert_eq!(parse(&format!("{value:#x}")), Ok(value));
        }

        #[test]
        fn anything_else_is_refused(text in ".*") {
            prop_assume!(!text.starts_with("0x"));
            prop_assert!(parse(&text).is_err());
        }
    }

    #[test]
    fn a_refusal_names_the_drop_in_of_the_hardened_unit() {
        let absent = tempfile::tempdir().unwrap();
        let hint = read(&Host::recorded(absent.path()), 0, 0x199).unwrap_err().hint.unwrap();
        assert!(hint.contains("msr.conf (docs/install.md)"), "{hint}");
        assert!(
            std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/drop-ins/msr.conf")).exists()
        );
    }

    #[test]
    fn what_is_no_register_is_refused() {
        for text in ["", "0x", "0x+1", "0x1_0", "0x10000000000000000", "0x 1"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
