//! The latency limit of all CPUs, by a request that lasts as long as its file is open
//! (Documentation/power/pm_qos_interface.rst, "From User Space").

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::refusal::refusal;
use bayop_core::{Error, Result};

/// The file that holds the limit while it is open.
pub(crate) const PATH: &str = "dev/cpu_dma_latency";

/// The text of no request.
const NONE: &str = "none";

/// What this process asks of `/dev/cpu_dma_latency`. Copies share one request.
#[derive(Debug, Clone)]
pub(crate) struct DmaLatency {
    path: Arc<Path>,
    /// In a recorded machine nobody takes a request back when its file is closed, so that is done here.
    is_live: bool,
    request: Arc<Mutex<Option<Request>>>,
}

#[derive(Debug)]
struct Request {
    file: File,
    latency_us: i32,
    before_us: i32,
}

impl DmaLatency {
    /// The one of the machine whose trees are under `root`.
    pub(crate) fn new(root: &Path, is_live: bool) -> Self {
        Self { path: root.join(PATH).into(), is_live, request: Arc::default() }
    }

    /// The least of the limits that all processes ask for.
    pub(crate) fn in_effect_us(&self) -> Result<i32> {
        let read = || {
            let mut bytes = [0; 4];
            File::open(&self.path)?.read_exact(&mut bytes)?;
            Ok(i32::from_ne_bytes(bytes))
        };
        match read().map_err(|error| refusal("read", PATH, &error))? {
            latency_us if latency_us < 0 => {
                Err(Error::malformed(latency_us, "a latency must not be negative").at(format!("/{PATH}")))
            }
            latency_us => Ok(latency_us),
        }
    }

    /// What this process asks for: microseconds, or `none`.
    pub(super) fn held(&self) -> String {
        self.lock().as_ref().map_or_else(|| NONE.to_owned(), |request| request.latency_us.to_string())
    }

    /// Asks for that many microseconds, or with `none` for nothing any more.
    pub(super) fn request(&self, text: &str) -> Result<()> {
        let latency_us = match text {
            NONE => None,
            _ => {
                let latency_us: i32 = text.parse().ok().filter(|&us| us >= 0).ok_or_else(|| {
                    Error::cannot_use(text, format!("a latency must be microseconds from 0 to {}, or none", i32::MAX))
                })?;
                Some(latency_us)
            }
        };
        let before_us = self.in_effect_us()?;
        let mut held = self.lock();
        self.replace(&mut held, latency_us, before_us)
            .map_err(|error| refusal(&format!("write '{text}' to"), PATH, &error).value(text))
    }

    fn replace(&self, held: &mut Option<Request>, latency_us: Option<i32>, before_us: i32) -> io::Result<()> {
        match (held.take(), latency_us) {
            (Some(mut request), Some(latency_us)) => {
                // One file keeps the limit without a gap between the old value and the new.
                let written = request.write(latency_us);
                *held = Some(request);
                written
            }
            (None, Some(latency_us)) => {
                let file = OpenOptions::new().read(true).write(true).open(&self.path)?;
                let mut request = Request { file, latency_us, before_us };
                request.write(latency_us)?;
                *held = Some(request);
                Ok(())
            }
            (Some(request), None) if !self.is_live => request.file.write_all_at(&request.before_us.to_ne_bytes(), 0),
            (_, None) => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Request>> {
        // A panic elsewhere leaves the request whole: it is replaced in one step.
        self.request.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Request {
    fn write(&mut self, latency_us: i32) -> io::Result<()> {
        self.file.write_all_at(&latency_us.to_ne_bytes(), 0)?;
        self.latency_us = latency_us;
        Ok(())
    }
}

/// A shell that holds the file open asks the same.
pub(super) fn command(text: &str) -> String {
    match text.parse::<i32>() {
        Ok(latency_us) => format!("exec 3<> /{PATH} && printf '0x%08x' {latency_us} >&3"),
        Err(_) => format!("# /{PATH} needs no command: the kernel took the request back when its process ended"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_held_replaced_and_taken_back() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("dev")).unwrap();
        let path = root.path().join(PATH);
        std::fs::write(&path, 2_000_000_000_i32.to_ne_bytes()).unwrap();
        let latency = DmaLatency::new(root.path(), false);
        let copy = latency.clone();
        assert_eq!((latency.held(), latency.in_effect_us()), ("none".to_owned(), Ok(2_000_000_000)));
        latency.request("20").unwrap();
        copy.request("10").unwrap();
        assert_eq!((latency.held(), latency.in_effect_us()), ("10".to_owned(), Ok(10)));
        copy.request("none").unwrap();
        assert_eq!((latency.held(), latency.in_effect_us()), ("none".to_owned(), Ok(2_000_000_000)));
    }

    #[test]
    fn what_is_no_latency_is_refused() {
        let latency = DmaLatency::new(Path::new("/nowhere"), false);
        for text in ["", "-1", "1.5", "2147483648", "None"] {
            assert_eq!(latency.request(text).unwrap_err().kind, bayop_core::Kind::Input, "{text}");
        }
        assert_eq!(latency.request("1").unwrap_err().kind, bayop_core::Kind::Unsupported);
    }

    #[test]
    fn a_file_without_a_latency_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("dev")).unwrap();
        for bytes in [&[1, 2, 3][..], &(-1_i32).to_ne_bytes()] {
            std::fs::write(root.path().join(PATH), bytes).unwrap();
            assert!(DmaLatency::new(root.path(), false).in_effect_us().is_err());
        }
    }
}
