//! Interrupts, recorded for as long as somebody asks for them.
//!
//! Told a device, the helper `bayop-interrupts-record` prints what it records, until the connection ends.
//!
//! ```text
//!   GET /v1/interrupts ──► [Recordings] ──► [recorder]     one connection for each device that is asked for
//!                               └─────────► [kept]         its newest records, each with a number that grows by one
//! ```

mod kept;
mod quota;
mod recorder;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::helper::Helper;
use bayop_core::{Error, Kind, Result};
use kept::Kept;

pub use quota::Quota;

/// Nobody asks any more who has not for so long: the recording ends.
const SILENCE: Duration = Duration::from_secs(10);

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
        // What nobody has asked for any more is over, and its records are of another time.
        running.retain(|_, recording| locked(&recording.state).asked.elapsed() < SILENCE);
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
    let (header, mut recorder) = recorder::connect(&Helper::recorder(&quota.recorder), device).await?;
    let mut kept = Kept::new(header, quota.keep_mb as usize * 1_000_000 / quota.devices.len())?;
    let record_bytes = kept.record_bytes();
    // It says at once what time it is, and what is so then.
    kept.add(recorder::chunk(&mut recorder, record_bytes).await?);
    let state = Arc::new(Mutex::new(State { kept, asked: Instant::now(), ended: None }));
    let (quota, of_reader) = (quota.clone(), state.clone());
    let reader = tokio::spawn(async move {
        let ended = recorder::follow(recorder, record_bytes, &quota, |chunk| {
            let mut state = locked(&of_reader);
            state.kept.add(chunk);
            state.asked.elapsed() < SILENCE
        })
        .await;
        locked(&of_reader).ended = ended;
    });
    Ok(Running { state, reader: reader.abort_handle() })
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("nobody has panicked")
}
