//! Interrupts, recorded for as long as somebody asks for them.
//!
//! The agent may not load eBPF programs. Who may is `bayop-interrupts-record`, a process of its own behind a socket that
//! root alone can open: told a device, it prints what it records, until the connection ends.
//!
//! ```text
//!   GET /v1/interrupts ──► [Recordings] ──► [recorder]     one connection for each device that is asked for
//!                               └─────────► [kept]         its newest records, each with a number that grows by one
//! ```

mod kept;
mod recorder;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde::Deserialize;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use bayop_core::{Error, Kind, Result};
use kept::Kept;

/// Nobody asks any more who has not for so long: the recording ends.
const SILENCE: Duration = Duration::from_secs(10);

/// The `[interrupts]` table: what may be recorded, and what that may take.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Where the recorder listens.
    #[serde(default = "default_recorder")]
    pub recorder: PathBuf,
    /// The network devices whose interrupts may be recorded.
    pub devices: Vec<String>,
    /// How much memory the newest records of all devices together may take, in MB.
    #[serde(default = "default_keep_mb")]
    pub keep_mb: u64,
    /// A device that interrupts more often is not recorded any further: what recording takes grows with it.
    #[serde(default = "default_most_per_s")]
    pub most_per_s: u64,
}

fn default_recorder() -> PathBuf {
    "/run/bayop/recorder.sock".into()
}

fn default_keep_mb() -> u64 {
    16
}

fn default_most_per_s() -> u64 {
    100_000
}

impl Quota {
    /// Refuses what can't be meant.
    ///
    /// # Errors
    /// A number is out of bounds, or the path is relative.
    pub fn check(&self) -> Result<()> {
        for (key, value, most) in [("keep_mb", self.keep_mb, 1_024), ("most_per_s", self.most_per_s, 10_000_000)] {
            if !(1..=most).contains(&value) {
                return Err(Error::cannot_use(value, format!("{key} must be from 1 to {most}")));
            }
        }
        if self.devices.is_empty() {
            return Err(Error::input("devices names none").rule("there must be one at least"));
        }
        if !self.recorder.is_absolute() {
            return Err(Error::cannot_use(self.recorder.display(), "recorder must be an absolute path"));
        }
        Ok(())
    }
}

/// What is recorded now.
#[derive(Debug, Clone, Default)]
pub struct Recordings {
    quota: Option<Arc<Quota>>,
    /// By device. Whoever starts a recording keeps others waiting: two would cost twice.
    running: Arc<tokio::sync::Mutex<BTreeMap<String, Running>>>,
}

#[derive(Debug)]
struct Running {
    state: Arc<Mutex<State>>,
    reader: AbortHandle,
}

#[derive(Debug)]
struct State {
    kept: Kept,
    asked: Instant,
    /// Why nothing comes any more.
    ended: Option<Error>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Recordings {
    /// Nothing is recorded yet, and nothing ever without a quota.
    pub fn new(quota: Option<Quota>) -> Self {
        Self { quota: quota.map(Arc::new), running: Arc::default() }
    }

    /// The records of a device from a number on, behind a line of JSON that says what they are; as many as an answer has.
    /// The first who asks for a device begins its recording.
    ///
    /// # Errors
    /// The configuration does not allow it; the recorder can't be reached, refuses, or has ended.
    pub async fn since(&self, device: &str, number: u64) -> Result<Vec<u8>> {
        let quota = self.quota.as_ref().ok_or_else(|| {
            Error::new(Kind::Forbidden, "this agent records no interrupts")
                .rule("its configuration must have the table [interrupts]")
                .hint("docs/interrupts.md, \"By the agent\"")
        })?;
        if !quota.devices.iter().any(|allowed| allowed == device) {
            return Err(Error::new(Kind::Forbidden, "the interrupts of this device are not to be recorded")
                .value(device)
                .rule(format!("device must be one of interrupts.devices: {}", quota.devices.join(", ")))
                .at("device"));
        }
        let mut running = self.running.lock().await;
        if !running.contains_key(device) {
            running.insert(device.to_owned(), begin(quota, device).await?);
        }
        let state = running[device].state.clone();
        let mut state = locked(&state);
        state.asked = Instant::now();
        let answer = state.kept.since(number);
        // What has come is told first; then why there is no more, once, and whoever asks again begins anew.
        if answer.records == 0 {
            if let Some(error) = state.ended.take() {
                drop(state);
                running.remove(device);
                return Err(error);
            }
        }
        Ok(answer.text)
    }
}

async fn begin(quota: &Arc<Quota>, device: &str) -> Result<Running> {
    let (header, mut stream) = recorder::connect(&quota.recorder, device).await?;
    let mut kept = Kept::new(header, quota.keep_mb as usize * 1_000_000 / quota.devices.len())?;
    let record_bytes = kept.record_bytes();
    // It says at once what time it is, and what is so then.
    kept.add(recorder::chunk(&mut stream, record_bytes).await?);
    let state = Arc::new(Mutex::new(State { kept, asked: Instant::now(), ended: None }));
    let (quota, of_reader) = (quota.clone(), state.clone());
    let reader = tokio::spawn(async move {
        let error = recorder::follow(stream, record_bytes, &quota, |chunk| {
            let mut state = locked(&of_reader);
            state.kept.add(chunk);
            state.asked.elapsed() < SILENCE
        })
        .await;
        locked(&of_reader).ended = Some(error);
    });
    Ok(Running { state, reader: reader.abort_handle() })
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("nobody has panicked")
}
