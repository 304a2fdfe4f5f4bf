//! The recorder: told a device, it prints lines of JSON and records until one of us ends.

use std::time::Duration;

use bayop_core::{Error, Kind, Result};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::kept::Chunk;
use super::quota::Quota;
use crate::helper::{Connection, Helper};

/// What a moment has at most: of these bytes, so many records.
const MOST_CHUNK: u64 = 16 << 20;
/// Over so long, at least, a rate is a rate.
const RATE_OVER: Duration = Duration::from_secs(1);

/// Has it record a device. Returns its first line.
///
/// # Errors
/// It can't be reached, says nothing in time, or refuses: why, is in its own log.
pub(super) async fn connect(helper: &Helper, device: &str) -> Result<(Map<String, Value>, Connection)> {
    let mut recorder = helper.connect().await?;
    recorder.tell(device).await?;
    let header = recorder.line().await?;
    Ok((header, recorder))
}

/// Hands on what it records, records of so many bytes, for as long as `take` wants more. Returns why there is no more;
/// None when `take` wants none.
pub(super) async fn follow(
    mut recorder: Connection,
    record_bytes: usize,
    quota: &Quota,
    mut take: impl FnMut(Chunk) -> bool,
) -> Option<Error> {
    let (mut since, mut records) = (Instant::now(), 0);
    loop {
        let chunk = match chunk(&mut recorder, record_bytes).await {
            Ok(chunk) => chunk,
            Err(error) => return Some(error),
        };
        records += chunk.head.get("records").and_then(Value::as_u64).unwrap_or(0);
        if !take(chunk) {
            return None;
        }
        if since.elapsed() >= RATE_OVER {
            let per_s = records as f64 / since.elapsed().as_secs_f64();
            if per_s > quota.most_per_s as f64 {
                let wrong = format!("the recording has ended: {per_s:.0} records came in a second");
                let rule = format!("there must be at most {} (interrupts.most_per_s)", quota.most_per_s);
                let hint = "raise it in the agent's configuration, or record where it is quieter";
                return Some(Error::new(Kind::Conflict, wrong).rule(rule).hint(hint));
            }
            (since, records) = (Instant::now(), 0);
        }
    }
}

/// The records of its next moment, each of so many bytes.
///
/// # Errors
/// It has ended, or says nothing in time.
pub(super) async fn chunk(recorder: &mut Connection, record_bytes: usize) -> Result<Chunk> {
    let length = |head: &Map<String, Value>| {
        // Its last line counts all that it has recorded.
        let records = head.get("records").and_then(Value::as_u64).filter(|_| !head.contains_key("duration_s"))?;
        (records <= MOST_CHUNK / record_bytes as u64).then_some(records as usize * record_bytes)
    };
    let (head, bytes) = recorder.next(length).await?;
    Ok(Chunk { head, bytes })
}
