//! Stays in idle states that a counter behind a socket counts for those who ask the agent.

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use common::{Agent, Machine};
use serde_json::{Value, json};

const SHAPE: &str = r#"{"states": [["POLL", 0, 0], ["C1", 2, 2]], "bounds_us": [0.0, 1.024]}"#;
const PATIENCE: Duration = Duration::from_secs(20);
/// So long after one could not be begun, none is.
const PAUSE: Duration = Duration::from_millis(2100);

/// A counter that says what a test has it say, each time it is asked.
struct Counter {
    /// That it was asked, by the number of the connection.
    asked: Receiver<usize>,
    says: Sender<String>,
}

impl Counter {
    fn listen(machine: &Machine, shape: &'static str) -> Self {
        let listener = UnixListener::bind(machine.path("counter.sock")).unwrap();
        let ((told, asked), (says, lines)) = (mpsc::channel(), mpsc::channel());
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                count(stream.unwrap(), shape, || told.send(number).unwrap(), &lines);
            }
        });
        Self { asked, says }
    }

    fn will_say(&self, line: impl ToString) {
        self.says.send(line.to_string()).unwrap();
    }
}

/// Says a line each time it is asked, until it has to say nothing or is asked no more.
fn count(mut stream: UnixStream, shape: &str, mut told: impl FnMut(), lines: &Receiver<String>) {
    writeln!(stream, "{shape}").unwrap();
    let mut asking = BufReader::new(stream.try_clone().unwrap()).lines();
    while asking.next().is_some_and(|line| line.is_ok()) {
        told();
        match lines.recv_timeout(PATIENCE).unwrap() {
            line if line.is_empty() => return,
            line => writeln!(stream, "{line}").unwrap(),
        }
    }
}

fn machine() -> Machine {
    Machine::with_config("mode = \"observe\"\n[idle]\ncounter = \"FOLDER/counter.sock\"\n")
}

fn counted(stays: u64) -> Value {
    json!({"duration_s": 0.5, "stays": [[0, 1, 1, stays]]})
}

fn refused(agent: &Agent) -> (u16, Value) {
    let (status, answer) = agent.request("GET", "/v1/idle", Value::Null);
    (status, answer["error"].clone())
}

#[test]
fn one_counting_serves_all_who_ask() {
    let machine = machine();
    let (counter, agent) = (Counter::listen(&machine, SHAPE), machine.serve());
    counter.will_say(counted(3));
    let first = agent.get("/v1/idle");
    let began_s = first["began_s"].as_f64().unwrap();
    let expected = json!({"states": [["POLL", 0, 0], ["C1", 2, 2]], "bounds_us": [0.0, 1.024], "began_s": began_s,
        "duration_s": 0.5, "stays": [[0, 1, 1, 3]], "experts": [], "forecasts": []});
    assert_eq!(first, expected);
    counter.will_say(counted(8));
    let second = agent.get("/v1/idle");
    assert_eq!((&second["began_s"], &second["stays"]), (&first["began_s"], &json!([[0, 1, 1, 8]])));
    let asked: Vec<_> = counter.asked.try_iter().collect();
    assert_eq!(asked, [0, 0]);
}

#[test]
fn a_counting_that_has_ended_begins_anew() {
    let machine = machine();
    let (counter, agent) = (Counter::listen(&machine, SHAPE), machine.serve());
    counter.will_say(counted(8));
    let first = agent.get("/v1/idle");
    // It ends when it is asked, as one does that is killed.
    counter.will_say("");
    counter.will_say(counted(1));
    let second = agent.get("/v1/idle");
    assert!(second["began_s"].as_f64().unwrap() > first["began_s"].as_f64().unwrap());
    assert_eq!(second["stays"], json!([[0, 1, 1, 1]]));
}

#[test]
fn what_experts_have_forecast_is_added_up_over_all_countings() {
    const EXPERTS: &str = r#"{"states": [["POLL", 0, 0]], "bounds_us": [0.0], "experts": ["residency", "network"]}"#;
    let machine = machine();
    let (counter, agent) = (Counter::listen(&machine, EXPERTS), machine.serve());
    let counted = |forecasts: Value| json!({"duration_s": 0.5, "stays": [], "forecasts": forecasts});
    assert_eq!(agent.metric(r#"bayop_idle_predictions_total{expert="residency"}"#), None, "nothing was counted yet");
    counter.will_say(counted(json!([[0, 0, 10, 4, 500, 600], [1, 0, 5, 5, 0, 900]])));
    assert_eq!(agent.get("/v1/idle")["forecasts"][1], json!([1, 0, 5, 5, 0, 900]));
    counter.will_say(counted(json!([[0, 0, 12, 6, 1500, 610], [1, 0, 5, 5, 0, 900], [0, 1, 3, 1, 40, 390]])));
    assert_eq!(agent.get("/v1/idle")["experts"], json!(["residency", "network"]));
    // It ends, and another one begins. What it says of an expert that there is not is nobody's.
    counter.will_say("");
    counter.will_say(counted(json!([[0, 0, 2, 0, 1000, 500], [0, 7, 9, 9, 9, 9]])));
    agent.get("/v1/idle");
    for (metric, value) in [
        (r#"predictions_total{expert="residency"}"#, 19.0),
        (r#"predictions_total{expert="network"}"#, 3.0),
        (r#"hits_total{expert="residency"}"#, 11.0),
        (r#"loss_seconds_total{expert="residency"}"#, 0.0025),
    ] {
        assert_eq!(agent.metric(&format!("bayop_idle_{metric}")), Some(value), "{metric}");
    }
}

#[test]
fn who_leaves_before_the_answer_ends_nothing_for_others() {
    let machine = machine();
    let (counter, agent) = (Counter::listen(&machine, SHAPE), machine.serve());
    counter.will_say(counted(3));
    let began_s = agent.get("/v1/idle")["began_s"].clone();
    counter.asked.recv_timeout(PATIENCE).unwrap();
    for stays in 4..7 {
        let mut leaving = UnixStream::connect(machine.socket()).unwrap();
        write!(leaving, "GET /v1/idle HTTP/1.1\r\nhost: agent\r\n\r\n").unwrap();
        counter.asked.recv_timeout(PATIENCE).unwrap();
        drop(leaving);
        thread::sleep(Duration::from_millis(50));
        counter.will_say(counted(stays));
    }
    counter.will_say(counted(9));
    assert_eq!(agent.get("/v1/idle")["began_s"], began_s);
    assert_eq!(counter.asked.recv_timeout(PATIENCE), Ok(0), "the connection is the first");
}

#[test]
fn who_has_waited_for_a_counter_that_failed_has_the_same_answer() {
    let machine = machine();
    let (counter, agent) = (Counter::listen(&machine, SHAPE), machine.serve());
    counter.will_say("");
    let first = refused(&agent);
    assert_eq!((first.0, refused(&agent)), (502, first.clone()), "none was begun for the second");
    assert_eq!(counter.asked.try_iter().count(), 1);
}

#[test]
fn what_can_not_be_counted_is_said() {
    let (status, error) = refused(&Machine::with_config("mode = \"observe\"").serve());
    assert_eq!(status, 403);
    assert!(error["rule"].as_str().unwrap().contains("[idle]"), "{error}");
    let machine = machine();
    let (status, error) = refused(&machine.serve());
    assert_eq!(status, 502);
    assert!(error["wrong"].as_str().unwrap().contains("counter.sock can't be reached"), "{error}");
    assert_eq!(error["hint"], "systemctl start bayop-idle-counter.socket");
}

#[test]
fn the_doctor_says_whether_it_is_there() {
    let machine = machine();
    let agent = machine.serve();
    let finding = || -> Value {
        let examination = agent.get("/v1/doctor");
        let findings = examination["findings"].as_array().unwrap();
        findings.iter().find(|finding| finding["check"] == "idle.counter").unwrap().clone()
    };
    let missing = finding();
    assert_eq!(missing["status"], "missing");
    assert_eq!(missing["remedy"], "systemctl enable --now bayop-idle-counter.socket");
    let _counter = Counter::listen(&machine, SHAPE);
    assert_eq!(finding()["status"], "ok");
}

#[test]
fn a_counter_that_talks_nonsense_harms_nobody() {
    let machine = machine();
    let (counter, agent) = (Counter::listen(&machine, SHAPE), machine.serve());
    for nonsense in ["{}", "[]", "\u{1}", r#"{"duration_s": 1, "stays": [[0, 1, -1, 1]]}"#, r#"{"stays": []}"#] {
        counter.will_say(nonsense);
        let (status, error) = refused(&agent);
        assert_eq!((status, error["wrong"].as_str()), (502, Some("the counter has ended")), "{nonsense}");
        thread::sleep(PAUSE);
    }
    counter.will_say(counted(1));
    assert_eq!(agent.get("/v1/idle")["stays"], json!([[0, 1, 1, 1]]));
    assert_eq!(agent.get("/v1/status")["mode"], "observe");
}

#[test]
fn a_counter_without_states_is_none() {
    let machine = machine();
    let (_counter, agent) = (Counter::listen(&machine, "{\"states\": []}"), machine.serve());
    let (status, error) = refused(&agent);
    assert_eq!((status, error["hint"].as_str().unwrap()), (502, "journalctl --unit 'bayop-idle-counter@*' says why"));
}
