//! Network devices in sysfs.

use std::fs;
use std::path::Path;

use crate::sysfs::NET;

/// The driver of a network device in the trees under `root`.
pub(crate) fn driver(root: &Path, device: &str) -> Option<String> {
    let link = fs::read_link(root.join(driver_link(device))).ok()?;
    link.file_name()?.to_str().map(str::to_owned)
}

/// The link that leads to the driver of a network device.
pub(crate) fn driver_link(device: &str) -> String {
    format!("{NET}/{device}/device/driver")
}
