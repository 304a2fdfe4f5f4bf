//! Interrupts that a recorder behind a socket records for those who ask the agent.

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use common::{Agent, Machine};
use serde_json::{Value, json};

const HEADER: &str =
    r#"{"device": "eth0", "queues": [{"irq": 24, "name": "eth0-rx-0"}], "record_bytes": 2, "fields": []}"#;
const PATIENCE: Duration = Duration::from_secs(20);

/// A recorder that says what a test has it say.
struct Recorder {
    /// The device that each connection asked for.
    asked: Receiver<String>,
    says: Sender<Vec<u8>>,
    /// That a connection was ended by the agent.
    ended: Receiver<()>,
}

impl Recorder {
    fn listen(machine: &Machine) -> Self {
        let listener = UnixListener::bind(machine.path("recorder.sock")).unwrap();
        let ((told, asked), (says, lines), (closed, ended)) = (mpsc::channel(), mpsc::channel(), mpsc::channel());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                told.send(device_of(&stream)).unwrap();
                record(stream, &lines, &closed);
            }
        });
        Self { asked, says, ended }
    }

    fn says(&self, text: &str) {
        self.says.send(text.as_bytes().to_vec()).unwrap();
    }

    fn says_records(&self, records: &str, lost: u64) {
        let head = json!({"records": records.len() / 2, "lost": lost, "time_s": 1.5, "delay_us": 20.0, "energy": null});
        self.says(&format!("{head}\n{records}"));
    }
}

fn device_of(stream: &UnixStream) -> String {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    line
}

/// Says what it is told to, until the other side ends or it is told nothing.
fn record(mut stream: UnixStream, lines: &Receiver<Vec<u8>>, closed: &Sender<()>) {
    stream.write_all(format!("{HEADER}\n").as_bytes()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    loop {
        if matches!(stream.read(&mut [0]), Ok(0)) {
            closed.send(()).unwrap();
            return;
        }
        match lines.recv_timeout(Duration::from_millis(20)) {
            Ok(line) if line.is_empty() => return,
            Ok(line) => stream.write_all(&line).unwrap(),
            Err(_) => {}
        }
    }
}

fn machine(more: &str) -> Machine {
    let quota = "[interrupts]\nrecorder = \"FOLDER/recorder.sock\"\ndevices = [\"eth0\"]\n";
    Machine::with_config(&format!("mode = \"observe\"\n{quota}{more}"))
}

/// What is answered from a number on: the line, and the records.
fn since(agent: &Agent, number: u64) -> (Value, String) {
    let text = agent.get(&format!("/v1/interrupts?device=eth0&since={number}"));
    // Without records an answer is nothing but JSON.
    let Some(text) = text.as_str() else { return (text, String::new()) };
    let (line, records) = text.split_once('\n').unwrap();
    (serde_json::from_str(line).unwrap(), records.to_owned())
}

/// Asks from a number on until there is something.
fn records(agent: &Agent, number: u64) -> (Value, String) {
    let start = std::time::Instant::now();
    loop {
        let answer = since(agent, number);
        if !answer.1.is_empty() {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "{}", answer.0);
        thread::sleep(Duration::from_millis(10));
    }
}

fn refused(agent: &Agent, query: &str) -> (u16, Value) {
    let (status, answer) = agent.request("GET", &format!("/v1/interrupts{query}"), Value::Null);
    (status, answer["error"].clone())
}

#[test]
fn the_first_who_asks_begins_a_recording_for_all() {
    let machine = machine("");
    let (recorder, agent) = (Recorder::listen(&machine), machine.serve());
    recorder.says_records("", 0);
    let (head, _) = since(&agent, 1 << 63);
    assert_eq!(recorder.asked.recv_timeout(PATIENCE).unwrap(), "eth0\n");
    assert_eq!(
        (&head["next"], &head["queues"][0]["name"], &head["time_s"]),
        (&json!(0), &json!("eth0-rx-0"), &json!(1.5))
    );
    recorder.says_records("aabbcc", 4);
    let (head, told) = records(&agent, 1);
    assert_eq!(
        (&head["records"], &head["next"], &head["lost"], told.as_str()),
        (&json!(2), &json!(3), &json!(0), "bbcc")
    );
    assert_eq!((&head["lost_by_recorder"], &head["delay_us"]), (&json!(4), &json!(20.0)));
    assert_eq!(records(&agent, 0).1, "aabbcc");
    assert!(recorder.asked.try_recv().is_err(), "one recording serves all");
}

#[test]
fn a_recording_that_nobody_asks_for_any_more_ends() {
    let machine = machine("");
    let (recorder, agent) = (Recorder::listen(&machine), machine.serve());
    recorder.says_records("aa", 0);
    records(&agent, 0);
    let start = std::time::Instant::now();
    while recorder.ended.try_recv().is_err() {
        assert!(start.elapsed() < PATIENCE, "it goes on");
        recorder.says_records("bb", 0);
        thread::sleep(Duration::from_millis(100));
    }
    assert!(start.elapsed() > Duration::from_secs(8), "{:?}", start.elapsed());
    // Who asks later begins another, without the records of this one.
    while recorder.asked.try_recv().is_ok() {}
    recorder.says_records("cc", 0);
    let (head, told) = records(&agent, 0);
    assert_eq!((&head["device"], recorder.asked.recv_timeout(PATIENCE).unwrap().as_str()), (&json!("eth0"), "eth0\n"));
    assert!(told.chars().all(|record| "bc".contains(record)), "{told}");
}

#[test]
fn more_than_the_quota_ends_a_recording_and_who_asks_again_begins_anew() {
    let machine = machine("most_per_s = 100\n");
    let (recorder, agent) = (Recorder::listen(&machine), machine.serve());
    recorder.says_records("aa", 0);
    records(&agent, 0);
    let mut next = 0;
    let (status, error) = loop {
        recorder.says_records(&"bb".repeat(50), 0);
        thread::sleep(Duration::from_millis(50));
        let (status, answer) = agent.request("GET", &format!("/v1/interrupts?device=eth0&since={next}"), Value::Null);
        match answer.as_str().map(|text| text.lines().next().unwrap().to_owned()) {
            Some(line) => next = serde_json::from_str::<Value>(&line).unwrap()["next"].as_u64().unwrap(),
            None if status == 200 => {}
            None => break (status, answer["error"].clone()),
        }
    };
    assert_eq!(status, 409);
    assert!(error["rule"].as_str().unwrap().contains("at most 100 (interrupts.most_per_s)"), "{error}");
    recorder.ended.recv_timeout(PATIENCE).unwrap();
    recorder.says_records("cc", 0);
    assert!(since(&agent, 0).0["device"] == "eth0");
}

#[test]
fn memory_is_bounded_and_what_made_room_is_counted() {
    let machine = machine("keep_mb = 1\nmost_per_s = 10000000\n");
    let (recorder, agent) = (Recorder::listen(&machine), machine.serve());
    recorder.says_records(&"aa".repeat(400_000), 0);
    recorder.says_records(&"bb".repeat(400_000), 0);
    records(&agent, 700_000);
    let (mut head, mut told) = records(&agent, 0);
    assert_eq!(head["lost"], json!(300_000));
    // An answer has no more than a part, so that what nobody reads takes little.
    while head["left"] != json!(0) {
        let (next, more) = records(&agent, head["next"].as_u64().unwrap());
        assert!((1..=1 << 17).contains(&more.len()), "{next}");
        told.push_str(&more);
        head = next;
    }
    assert_eq!(told.len(), 1_000_000);
}

#[test]
fn what_can_not_be_recorded_is_said() {
    let machine = machine("");
    let agent = machine.serve();
    for (query, status, word) in [
        ("?device=eth1", 403, "interrupts.devices: eth0"),
        ("?device=eth0", 502, "recorder.sock can't be reached"),
        ("", 400, "device=DEVICE&since=NUMBER"),
        ("?device=eth0&since=-1", 400, "device=DEVICE&since=NUMBER"),
        ("?device=eth0&since=1&more=2", 400, "device=DEVICE&since=NUMBER"),
    ] {
        let (told, error) = refused(&agent, query);
        assert_eq!(told, status, "{query}: {error}");
        assert!(error.to_string().contains(word), "{query}: {error}");
    }
    let silent = Machine::new();
    let (status, error) = refused(&silent.serve(), "?device=eth0");
    assert_eq!(status, 403);
    assert!(error["rule"].as_str().unwrap().contains("[interrupts]"), "{error}");
}

#[test]
fn a_recorder_that_ends_or_talks_nonsense_harms_nobody() {
    let machine = machine("");
    let (recorder, agent) = (Recorder::listen(&machine), machine.serve());
    for nonsense in [
        "\n",
        "{}\n",
        "[1]\n",
        "{\"records\": -1}\n",
        "{\"records\": 99999999999}\n",
        "{\"records\": 1, \"duration_s\": 1}\n",
        "\u{1}\u{2}\n",
    ] {
        recorder.says(nonsense);
        let (status, error) = refused(&agent, "?device=eth0");
        assert_eq!((status, error["wrong"].as_str()), (502, Some("the recorder has ended")), "{nonsense}");
        recorder.ended.recv_timeout(PATIENCE).unwrap();
    }
    recorder.says_records("aa", 0);
    assert_eq!(records(&agent, 0).1, "aa");
    recorder.says("");
    let start = std::time::Instant::now();
    while agent.request("GET", "/v1/interrupts?device=eth0&since=1", Value::Null).0 == 200 {
        assert!(start.elapsed() < PATIENCE, "it is taken for alive");
    }
    assert_eq!(agent.get("/v1/status")["mode"], "observe");
}
