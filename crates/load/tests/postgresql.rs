//! PostgreSQL that says something to a connection on which nothing is asked.

mod accepting;
mod common;

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bayop_load::report::Report;
use bayop_load::run::run;
use serde_json::json;

use accepting::accepting;

fn message(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind][..], &(content.len() as u32 + 4).to_be_bytes(), content].concat()
}

/// Lets everybody log in, answers queries, and says `more` in parts after every answer.
fn serve(mut socket: TcpStream, more: &[u8]) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    socket.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize - 4])?;
    socket.write_all(&[message(b'R', &[0; 4]), message(b'Z', b"I")].concat())?;
    let answer = [message(b'C', b"SELECT 1\0"), message(b'Z', b"I")].concat();
    loop {
        socket.read_exact(&mut [0])?;
        socket.read_exact(&mut length)?;
        socket.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize - 4])?;
        socket.write_all(&answer)?;
        for part in more.chunks(3) {
            socket.write_all(part)?;
        }
    }
}

/// What 100 queries/s see of a server that says this after every answer, and how many connections it had.
fn load(more: Vec<u8>) -> (Report, Arc<AtomicUsize>) {
    let more: &'static [u8] = more.leak();
    // The client may have gone.
    let (address, taken) = accepting(move |_, socket| drop(serve(socket, more)));
    let schedule = json!({"kind": "open", "pieces": [{"duration_s": 100.0, "qps": 100.0}], "gaps": "fixed"});
    let plan = common::plan(json!({
        "servers": [address], "dialect": "postgresql", "blocking": true, "schedule": schedule,
    }));
    (run(&plan, |_| false).unwrap(), taken)
}

#[test]
fn what_it_may_say_at_any_time_is_passed_over() {
    let notice = message(b'N', b"SNOTICE\0Mhello\0\0");
    let parameter = message(b'S', b"TimeZone\0UTC\0");
    let notification = message(b'A', b"\0\0\0\x01channel\0payload\0");
    let (report, taken) = load([notice, parameter, notification].concat());
    assert!(report.counts.intended > 90 && report.counts.answered == report.counts.intended, "{:?}", report.counts);
    assert!(report.troubles.is_empty(), "{:?}", report.troubles);
    assert_eq!(taken.load(Ordering::SeqCst), 1);
}

#[test]
fn why_it_ends_a_connection_is_told() {
    let why = "terminating connection due to administrator command";
    let fatal = message(b'E', format!("SFATAL\0VFATAL\0C57P01\0M{why}\0\0").as_bytes());
    let (silent, row) = (message(b'E', b"SFATAL\0\0"), message(b'D', b"\0\0"));
    for (more, said) in
        [(fatal, why), (silent, "an error without a text"), (row, "the server sent more than it was asked for")]
    {
        let (report, _) = load(more);
        let troubles: Vec<_> = report.troubles.into_keys().collect();
        // Some may come late, when the next query is asked.
        assert!(troubles.iter().any(|trouble| trouble.ends_with(&format!(": {said}"))), "{troubles:?}");
    }
}
