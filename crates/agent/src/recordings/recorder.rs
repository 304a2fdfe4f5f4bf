//! The recorder at the other end of a socket: told a device, it prints lines of JSON and records until one of us ends.

use std::path::Path;
use std::time::Duration;

use bayop_core::{Error, Kind, Result, reason};
use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout};

use super::kept::Chunk;
use super::quota::Quota;

/// How long it may say nothing: loading its programs takes a moment, and then it speaks twenty times a second.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a line has at most, in bytes.
const MOST_LINE: u64 = 1 << 20;
/// What a moment has at most: of these bytes, so many records.
const MOST_CHUNK: u64 = 16 << 20;
/// Over so long, at least, a rate is a rate.
const RATE_OVER: Duration = Duration::from_secs(1);

/// A recorder that records, after its first line.
pub(super) type Stream = BufReader<UnixStream>;

/// Has it record a device. Returns its first line.
///
/// # Errors
/// It can't be reached, says nothing in time, or refuses: why, is in its own log.
pub(super) async fn connect(path: &Path, device: &str) -> Result<(Map<String, Value>, Stream)> {
    let unreachable = |error: std::io::Error| {
        broken(format!("the recorder at {} can't be reached: {}", path.display(), reason(&error)))
            .hint("systemctl start bayop-recorder.socket")
    };
    let mut stream = UnixStream::connect(path).await.map_err(unreachable)?;
    stream.write_all(format!("{device}\n").as_bytes()).await.map_err(unreachable)?;
    let mut stream = BufReader::new(stream);
    let header = soon(line(&mut stream)).await?;
    Ok((header, stream))
}

/// Hands on what it records, records of so many bytes, for as long as `take` wants more. Returns why there is no more;
/// None when `take` wants none.
pub(super) async fn follow(
    mut stream: Stream,
    record_bytes: usize,
    quota: &Quota,
    mut take: impl FnMut(Chunk) -> bool,
) -> Option<Error> {
    let (mut since, mut records) = (Instant::now(), 0);
    loop {
        let chunk = match chunk(&mut stream, record_bytes).await {
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
pub(super) async fn chunk(stream: &mut Stream, record_bytes: usize) -> Result<Chunk> {
    let record_bytes = record_bytes as u64;
    soon(async {
        let head = line(stream).await?;
        // Its last line counts all that it has recorded.
        let records = head.get("records").and_then(Value::as_u64).filter(|_| !head.contains_key("duration_s"));
        let records = records.filter(|records| *records <= MOST_CHUNK / record_bytes).ok_or_else(ended)?;
        let mut bytes = vec![0; (records * record_bytes) as usize];
        stream.read_exact(&mut bytes).await.map_err(|_| ended())?;
        Ok(Chunk { head, bytes })
    })
    .await
}

async fn soon<T>(said: impl Future<Output = Result<T>>) -> Result<T> {
    let silent = |_| broken(format!("the recorder has said nothing in {} s", PATIENCE.as_secs()));
    timeout(PATIENCE, said).await.map_err(silent)?
}

async fn line(stream: &mut Stream) -> Result<Map<String, Value>> {
    let mut line = Vec::new();
    let read = stream.take(MOST_LINE).read_until(b'\n', &mut line).await;
    read.ok().and_then(|_| serde_json::from_slice(&line).ok()).ok_or_else(ended)
}

fn ended() -> Error {
    broken("the recorder has ended".to_owned()).hint("journalctl --unit 'bayop-recorder@*' says why")
}

fn broken(wrong: String) -> Error {
    Error::new(Kind::Failed, wrong).at("interrupts.recorder")
}
