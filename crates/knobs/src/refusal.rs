//! What is said of a kernel file that did not let itself be read or written.

use std::io::{self, ErrorKind};

use bayop_core::{Error, Kind, reason};

/// What an error says of the one who refuses: that it does not offer what was asked, or that it failed at it, and may not
/// the next time.
pub(crate) fn kind(error: &io::Error) -> Kind {
    match error.raw_os_error() {
        Some(libc::EIO | libc::EINTR | libc::ENOMEM | libc::ENOBUFS | libc::EMFILE | libc::ENFILE | libc::EAGAIN) => {
            Kind::Failed
        }
        _ => Kind::Unsupported,
    }
}

/// The error of `act`: `read`, `write '3' to`.
pub(crate) fn refusal(act: &str, path: &str, error: &io::Error) -> Error {
    let refused = Error::new(kind(error), format!("cannot {act} /{path}: {}", reason(error)));
    match (error.kind(), path.contains("/cpuidle/state")) {
        // The kernel asks for CAP_SYS_ADMIN (drivers/cpuidle/sysfs.c, store_state_disable).
        (ErrorKind::PermissionDenied, true) => {
            refused.hint(format!("run as root; {}", in_the_service("idle-states.conf")))
        }
        (ErrorKind::PermissionDenied, false) => refused.hint("run as root"),
        _ => refused,
    }
}

/// What lets the hardened service do what root may: a drop-in for its unit.
pub(crate) fn in_the_service(drop_in: &str) -> String {
    format!("the service bayop-agent needs its drop-in {drop_in} (docs/install.md)")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_refusal_by_the_hardened_unit_names_the_drop_in() {
        let refused = |path| refusal("write", path, &io::Error::from_raw_os_error(libc::EPERM)).hint.unwrap();
        assert_eq!(&*refused("sys/class/powercap/intel-rapl:0/enabled"), "run as root");
        let hint = refused("sys/devices/system/cpu/cpu0/cpuidle/state3/disable");
        let drop_in = hint.split(' ').find(|word| word.ends_with(".conf")).unwrap();
        assert!(
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/drop-ins")).join(drop_in).exists(),
            "{hint}"
        );
    }
}
