//! Times of requests from a recorded trace.
//!
//! A trace is a CSV file without a header whose first column is the time in seconds, ascending: the format of Twitter's
//! cache-trace (`timestamp,key,key size,value size,client id,operation,TTL`). A file whose name ends in `.zst` is
//! decompressed on the way. Files are read as a stream: they are much larger than memory.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use ruzstd::decoding::StreamingDecoder;

use crate::clock::SECOND_NS;
use bayop_core::{Error, open_regular};

const BUFFER_BYTES: usize = 1 << 20;
/// More than any line of a trace has, without its end.
const MOST_LINE_BYTES: usize = 64 * 1024;
/// Most bins: a trace of a century by the hour.
const MOST_BINS: usize = 1_000_000;

/// Requests in each bin of `bin_s` seconds since the first request; a last bin that is not complete is left out.
///
/// # Errors
/// The file can't be read, or a line does not begin with a time that is not before the last one's.
pub fn counts(path: &Path, bin_s: f64) -> Result<Vec<u64>, Error> {
    let mut counts: Vec<u64> = Vec::new();
    let mut first_s = None;
    for_each_time(path, |line, time_s| {
        let bin = ((time_s - *first_s.get_or_insert(time_s)) / bin_s) as usize;
        if bin >= MOST_BINS {
            return Err(Error::cannot_use(time_s, "a trace must have at most a million bins").at(place(path, line)));
        }
        counts.resize(counts.len().max(bin + 1), 0);
        counts[bin] += 1;
        Ok(true)
    })?;
    counts.pop();
    Ok(counts)
}

/// Times of the first `most` requests in seconds since the first one.
///
/// Where times are whole seconds, the requests of a second are spread evenly over it, because the trace does not say
/// more.
///
/// # Errors
/// The file can't be read, or a line does not begin with a time that is not before the last one's.
pub fn times_s(path: &Path, most: usize) -> Result<Vec<f64>, Error> {
    let mut times_s: Vec<f64> = Vec::new();
    for_each_time(path, |_, time_s| {
        times_s.push(time_s);
        Ok(times_s.len() < most)
    })?;
    let first_s = times_s.first().copied().unwrap_or(0.0);
    let are_whole = times_s.iter().all(|time_s| time_s.fract() == 0.0);
    if are_whole {
        for second in times_s.chunk_by_mut(|a, b| a == b) {
            let count = second.len() as f64;
            second.iter_mut().enumerate().for_each(|(at, time_s)| *time_s += at as f64 / count);
        }
    }
    times_s.iter_mut().for_each(|time_s| *time_s -= first_s);
    Ok(times_s)
}

/// Gives every time with its line's number to `take`, until that returns false.
fn for_each_time(path: &Path, mut take: impl FnMut(usize, f64) -> Result<bool, Error>) -> Result<(), Error> {
    let unreadable = |error: io::Error| Error::unreadable(path, &error);
    let mut reader = open(path).map_err(unreadable)?;
    let mut line = Vec::new();
    let mut last_s = f64::NEG_INFINITY;
    for number in 1.. {
        line.clear();
        let mut bounded = (&mut reader).take(MOST_LINE_BYTES as u64 + 2);
        if bounded.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
            break;
        }
        let content = line.strip_suffix(b"\n").unwrap_or(&line);
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        if content.len() > MOST_LINE_BYTES {
            let wrong = Error::input("a line of the trace is too long");
            let rule = format!("it must have {MOST_LINE_BYTES} bytes at most");
            return Err(wrong.rule(rule).at(place(path, number)));
        }
        let column = content.split(|&byte| byte == b',').next().unwrap_or_default();
        let time_s = std::str::from_utf8(column).ok().and_then(|text| text.trim().parse::<f64>().ok());
        let sound = time_s.filter(|&time_s| time_s.is_finite() && time_s >= last_s && time_s < 1e9 * SECOND_NS as f64);
        let Some(time_s) = sound else {
            let rule = "a line of a trace must begin with a time in seconds that is not before the last one's";
            let begin = String::from_utf8_lossy(&column[..column.len().min(40)]);
            return Err(Error::cannot_use(begin, rule).at(place(path, number)));
        };
        last_s = time_s;
        if !take(number, time_s)? {
            break;
        }
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = BufReader::with_capacity(BUFFER_BYTES, open_regular(path)?);
    let stream: Box<dyn Read> = if path.extension().is_some_and(|extension| extension == "zst") {
        Box::new(StreamingDecoder::new(file).map_err(io::Error::other)?)
    } else {
        Box::new(file)
    };
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, stream)))
}

fn place(path: &Path, line: usize) -> String {
    format!("{}, line {line}", path.display())
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// What is said of a trace by both of its readers, which must not wait for anything.
    fn said(path: &Path) -> String {
        let (sender, ends) = channel();
        for read in [|path: &Path| counts(path, 1.0).err(), |path: &Path| times_s(path, usize::MAX).err()] {
            let (sender, path) = (sender.clone(), path.to_owned());
            thread::spawn(move || sender.send(read(&path).unwrap().to_string()));
        }
        let [one, other] = [(); 2].map(|()| ends.recv_timeout(Duration::from_secs(20)).unwrap());
        assert_eq!(one, other);
        one
    }

    #[test]
    fn what_has_no_end_is_no_trace() {
        let folder = std::env::temp_dir().join(format!("bayop-trace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let pipe = folder.join("pipe.csv");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let turn = folder.join("loop.csv");
        std::os::unix::fs::symlink(&turn, &turn).unwrap();
        for path in [Path::new("/dev/zero"), &pipe, &folder, &turn] {
            assert_eq!(said(path), format!("cannot read {}: it is no regular file", path.display()));
        }
        let long = folder.join("long.csv");
        let line = |bytes: usize| format!("1,{}", "k".repeat(bytes - 2));
        std::fs::write(&long, format!("{}\n{}", line(100), line(MOST_LINE_BYTES + 1))).unwrap();
        let wrong = "a line of the trace is too long; it must have 65536 bytes at most";
        assert_eq!(said(&long), format!("{wrong} ({}, line 2)", long.display()));
        for end in ["", "\n", "\r\n"] {
            std::fs::write(&long, line(MOST_LINE_BYTES) + end).unwrap();
            assert_eq!(times_s(&long, 2), Ok(vec![0.0]), "{end:?}");
            std::fs::write(&long, line(MOST_LINE_BYTES + 1) + end).unwrap();
            assert_eq!(said(&long), format!("{wrong} ({}, line 1)", long.display()), "{end:?}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
