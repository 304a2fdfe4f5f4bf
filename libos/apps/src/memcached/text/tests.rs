//! Whole conversations, and the same in pieces.

use libos_net::service::Service as _;
use libos_net::tcp::Queue;
use proptest::prelude::*;

use super::super::Session;
use super::super::client::Client;
use super::super::store::MAX_VALUE_LEN;
use super::*;

extern crate std;
use std::string::String;
use std::vec::Vec;

impl Client {
    fn says(&mut self, question: &str) -> String {
        String::from_utf8(self.send(question.replace('\n', "\r\n").as_bytes())).unwrap().replace("\r\n", "\n")
    }
}

/// A question and its answer, line by line.
fn talk(client: &mut Client, lines: &[(&str, &str)]) {
    for (question, answer) in lines {
        assert_eq!(client.says(&std::format!("{question}\n")), *answer, "{question}");
    }
}

#[test]
fn stores_and_gets() {
    talk(
        &mut Client::new(),
        &[
            ("get a", "END\n"),
            ("set a 5 0 3\nabc", "STORED\n"),
            ("get a", "VALUE a 5 3\nabc\nEND\n"),
            ("gets a", "VALUE a 5 3 1\nabc\nEND\n"),
            ("get b a  a", "VALUE a 5 3\nabc\nVALUE a 5 3\nabc\nEND\n"),
            ("set e 4294967295 0 0\n", "STORED\n"),
            ("get e", "VALUE e 4294967295 0\n\nEND\n"),
            ("add a 1 0 1\nx", "NOT_STORED\n"),
            ("add b 1 0 1\nx", "STORED\n"),
            ("replace c 1 0 1\nx", "NOT_STORED\n"),
            ("replace b 2 0 1\ny", "STORED\n"),
            ("append b 9 0 2\nzz", "STORED\n"),
            ("prepend b 9 0 1\n-", "STORED\n"),
            ("get b", "VALUE b 2 4\n-yzz\nEND\n"),
            ("append none 0 0 1\nx", "NOT_STORED\n"),
            ("delete b", "DELETED\n"),
            ("delete b", "NOT_FOUND\n"),
            ("delete a 0", "DELETED\n"),
            ("delete a 5", "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\n"),
        ],
    );
}

#[test]
fn a_unique_number_is_a_condition() {
    talk(
        &mut Client::new(),
        &[
            ("cas a 0 0 1 1\nx", "NOT_FOUND\n"),
            ("set a 0 0 1\na", "STORED\n"),
            ("gets a", "VALUE a 0 1 1\na\nEND\n"),
            ("cas a 0 0 1 2\nb", "EXISTS\n"),
            ("cas a 0 0 1 1\nb", "STORED\n"),
            ("cas a 0 0 1 1\nc", "EXISTS\n"),
            ("get a", "VALUE a 0 1\nb\nEND\n"),
            ("cas a 0 0 1\n", "ERROR\nERROR\n"),
        ],
    );
}

#[test]
fn numbers_go_up_and_down() {
    talk(
        &mut Client::new(),
        &[
            ("incr a 1", "NOT_FOUND\n"),
            ("set a 3 0 1\n9", "STORED\n"),
            ("incr a 1", "10\n"),
            ("decr a 1", "9\n"),
            ("get a", "VALUE a 3 2\n9 \nEND\n"),
            ("decr a 100", "0\n"),
            ("set a 0 0 20\n18446744073709551615", "STORED\n"),
            ("incr a 2", "1\n"),
            ("incr a x", "CLIENT_ERROR invalid numeric delta argument\n"),
            ("incr a -1", "CLIENT_ERROR invalid numeric delta argument\n"),
            ("set a 0 0 2\nhi", "STORED\n"),
            ("incr a 1", "CLIENT_ERROR cannot increment or decrement non-numeric value\n"),
        ],
    );
}

#[test]
fn items_are_gone_when_their_time_has_come() {
    let mut client = Client::new();
    talk(
        &mut client,
        &[("set a 0 5 1\nx", "STORED\n"), ("set b 0 -1 1\nx", "STORED\n"), ("get a b", "VALUE a 0 1\nx\nEND\n")],
    );
    client.now_us = 4_999_999;
    talk(
        &mut client,
        &[("gat 100 a", "VALUE a 0 1\nx\nEND\n"), ("gats 7 none", "END\n"), ("touch none 1", "NOT_FOUND\n")],
    );
    client.now_us = 100_000_000;
    talk(&mut client, &[("touch a 10", "TOUCHED\n"), ("get a", "VALUE a 0 1\nx\nEND\n")]);
    client.now_us = 110_000_000;
    talk(&mut client, &[("get a", "END\n"), ("set a 0 0 1\nx", "STORED\n"), ("flush_all", "OK\n"), ("get a", "END\n")]);
    talk(&mut client, &[("set a 0 0 1\ny", "STORED\n"), ("flush_all 10", "OK\n"), ("get a", "VALUE a 0 1\ny\nEND\n")]);
    client.now_us = 120_000_000;
    talk(
        &mut client,
        &[("get a", "END\n"), ("add a 0 1000000121 1\ny", "STORED\n"), ("get a", "VALUE a 0 1\ny\nEND\n")],
    );
    client.now_us = 121_000_000;
    talk(&mut client, &[("get a", "END\n")]);
}

#[test]
fn who_wants_no_answer_gets_none() {
    talk(
        &mut Client::new(),
        &[
            ("set a 0 0 1 noreply\n1\nadd a 0 0 1 noreply\n2\nincr a 5 noreply\nget a", "VALUE a 0 1\n6\nEND\n"),
            ("touch a 0 noreply\nverbosity 1 noreply\ndelete a noreply\nflush_all noreply\nget a", "END\n"),
        ],
    );
}

#[test]
fn what_is_wrong_is_refused_and_the_next_command_served() {
    let long = "k".repeat(251);
    let mut client = Client::new();
    talk(
        &mut client,
        &[
            ("", "ERROR\n"),
            ("frobnicate", "ERROR\n"),
            ("get", "ERROR\n"),
            ("gat 0", "END\n"),
            ("gat", "ERROR\n"),
            ("gat x a", "CLIENT_ERROR invalid exptime argument\n"),
            ("set a 0 0", "ERROR\n"),
            ("set a x 0 1", "CLIENT_ERROR bad command line format\n"),
            ("set a 0 0 -1", "CLIENT_ERROR bad command line format\n"),
            ("set a 0 0 x noreply", ""),
            ("set a 0 0 2\nabc", "CLIENT_ERROR bad data chunk\nERROR\n"),
            ("touch a", "ERROR\n"),
            ("verbosity", "ERROR\n"),
            ("verbosity 1", "OK\n"),
            ("version", "VERSION 0.1.0-bayop-libos\n"),
            (&std::format!("get {long}"), "CLIENT_ERROR bad command line format\n"),
            (&std::format!("set {long} 0 0 1"), "CLIENT_ERROR bad command line format\n"),
            (&std::format!("delete {long}"), "CLIENT_ERROR bad command line format\n"),
        ],
    );
    let size = MAX_VALUE_LEN + 1;
    talk(
        &mut client,
        &[
            ("set a 0 0 1\nx", "STORED\n"),
            (&std::format!("set a 0 0 {size}\n{}", "v".repeat(size)), "SERVER_ERROR object too large for cache\n"),
            ("get a", "END\n"),
        ],
    );
    for verb in ["add", "replace", "append", "prepend", "cas"] {
        let unique = if verb == "cas" { " 1" } else { "" };
        let question = std::format!("{verb} b 0 0 {size}{unique}\n{}", "v".repeat(size));
        talk(
            &mut client,
            &[
                ("set b 0 0 1\nx", "STORED\n"),
                (&question, "SERVER_ERROR object too large for cache\n"),
                ("get b", "VALUE b 0 1\nx\nEND\n"),
            ],
        );
    }
    assert_eq!(client.says(&"x".repeat(MAX_LINE_LEN)), "CLIENT_ERROR line too long\n");
    assert!(client.is_closed);
}

#[test]
fn a_carriage_return_amid_a_key_is_part_of_it() {
    let mut client = Client::new();
    talk(&mut client, &[("set k 0 0 1\nv", "STORED\n"), ("set k\rk 0 0 1\nw", "STORED\n")]);
    for (question, answer) in [
        ("get k\rk", "VALUE k\rk 0 1\nw\nEND\n"),
        ("get k\r k", "VALUE k 0 1\nv\nEND\n"),
        ("get k k\rk", "VALUE k 0 1\nv\nVALUE k\rk 0 1\nw\nEND\n"),
        ("get k\r", "END\n"),
    ] {
        talk(&mut client, &[(question, answer)]);
    }
    let longest = "k".repeat(MAX_KEY_LEN);
    talk(&mut client, &[(&std::format!("get {longest}"), "END\n")]);
    assert_eq!(client.send(b"get k"), b"");
    assert_eq!(client.send(b"\r"), b"");
    assert_eq!(client.send(b"\n"), b"VALUE k 0 1\r\nv\r\nEND\r\n");
}

#[test]
fn a_get_of_many_keys_is_longer_than_a_line() {
    let mut client = Client::new();
    talk(&mut client, &[("set k 0 0 1\nv", "STORED\n")]);
    let keys = " k".repeat(5000);
    let answer = std::format!("{}END\n", "VALUE k 0 1\nv\n".repeat(5000));
    talk(&mut client, &[(&std::format!("get{keys}"), &answer), (&std::format!("gat 0{keys}"), &answer)]);
}

#[test]
fn the_last_word_is_quit() {
    let mut client = Client::new();
    assert_eq!(client.says("version\nquit\nversion\n"), "VERSION 0.1.0-bayop-libos\n");
    assert!(client.is_closed);
}

#[test]
fn what_was_done_is_counted() {
    let mut client = Client::new();
    client.says("set a 0 0 3\nabc\nget a b\ncas a 0 0 1 99\nx\nincr c 1\ndecr a 1\ntouch a 0\ndelete a\n");
    let stats = client.says("stats\n");
    for line in [
        "cmd_get 2",
        "get_hits 1",
        "get_misses 1",
        "cmd_set 2",
        "cas_badval 1",
        "incr_misses 1",
        "decr_hits 1",
        "touch_hits 1",
        "delete_hits 1",
        "curr_items 0",
        "total_items 1",
        "bytes 0",
        "limit_maxbytes 8388608",
    ] {
        assert!(stats.contains(&std::format!("STAT {line}\n")), "{line} in {stats}");
    }
    let anew = client.says("stats reset\nstats\n");
    assert!(anew.contains("STAT cmd_get 0\n") && anew.contains("STAT total_items 0\n"), "{anew}");
}

#[test]
fn a_miss_is_told_from_what_is_past_its_time_or_flushed() {
    let mut client = Client::new();
    client.says("set e 0 -1 1\nx\nget e\nget e\nset f 0 0 1\nx\nflush_all\nget f\nset l 0 0 1048577\n");
    let stats = client.says(&std::format!("{}\nstats\n", "x".repeat(1_048_577)));
    for line in ["get_misses 3", "get_expired 1", "get_flushed 1", "store_too_large 1"] {
        assert!(stats.contains(&std::format!("STAT {line}\n")), "{line} in {stats}");
    }
}

#[test]
fn there_are_settings_and_no_slab_classes() {
    let mut client = Client::new();
    let settings = client.says("stats settings\n");
    assert!(settings.starts_with("STAT maxbytes 8388608\nSTAT maxconns 1000\nSTAT tcpport 11211\n"), "{settings}");
    assert!(settings.ends_with("STAT flush_enabled yes\nSTAT dump_enabled no\nEND\n"), "{settings}");
    talk(&mut client, &[("stats items", "END\n"), ("stats slabs x", "END\n"), ("stats detail on", "ERROR\n")]);
}

#[test]
fn a_browser_is_hung_up_on() {
    for line in ["GET / HTTP/1.0", "PUT /asdf/asd/fasdfasdf/sadf HTTP/1.1", "DELETE HTTP/1.1", "HTTP/1.1"] {
        let mut client = Client::new();
        assert_eq!(
            (client.says(&std::format!("{line}\nversion\n")), client.is_closed),
            (String::new(), true),
            "{line}"
        );
    }
    let mut client = Client::new();
    let lines = [("GET / http/1.0", "ERROR\n"), ("get HTTP/1.0", "END\n"), ("delete HTTP/1.1", "NOT_FOUND\n")];
    talk(&mut client, &lines);
}

fn commands() -> impl Strategy<Value = Vec<u8>> {
    let key = "[a-d]{1,2}|[a-d]{250,251}";
    let command = prop_oneof![
        (key, "[ -~]{0,300}").prop_map(|(key, value)| std::format!("set {key} 1 0 {}\r\n{value}\r\n", value.len())),
        (key, "[0-9]{1,3}")
            .prop_map(|(key, value)| std::format!("add {key} 1 0 {} noreply\r\n{value}\r\n", value.len())),
        (key, key, "[ ]{1,3}").prop_map(|(a, b, space)| std::format!("get{space}{a}{space}{b}\r\n")),
        key.prop_map(|key| std::format!("gets {key}\n")),
        key.prop_map(|key| std::format!("gat 10 {key}\r\n")),
        key.prop_map(|key| std::format!("incr {key} 7\r\n")),
        key.prop_map(|key| std::format!("append {key} 0 0 2\r\nzz\r\n")),
        key.prop_map(|key| std::format!("delete {key}\r\n")),
        "[ -~]{0,30}\r?\n",
    ];
    prop::collection::vec(command, 0..20).prop_map(|commands| commands.concat().into_bytes())
}

proptest! {
    #[test]
    fn pieces_are_answered_like_the_whole(
        input in commands(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let whole = Client::new().send(&input);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.extend([0, input.len()]);
        cuts.sort_unstable();
        let mut client = Client::new();
        let pieces: Vec<u8> = cuts.windows(2).flat_map(|ends| client.send(&input[ends[0]..ends[1]])).collect();
        prop_assert_eq!(String::from_utf8_lossy(&pieces), String::from_utf8_lossy(&whole));
    }

    #[test]
    fn foreign_bytes_are_answered(input in prop::collection::vec(any::<u8>(), 0..4000)) {
        let mut client = Client::new();
        client.send(&input);
        prop_assert!(client.is_closed || client.kept.len() <= MAX_LINE_LEN);
    }
}

#[test]
fn numbers_are_read_as_memcached_reads_them() {
    let mut client = Client::new();
    for (value, sum) in
        [(" 1", "2"), ("\t1", "2"), ("+5", "6"), ("1 x", "2"), ("1\0", "2"), ("00000000000000000000041", "42")]
    {
        let set = std::format!("set a 0 0 {}\n{value}", value.len());
        talk(&mut client, &[(&set, "STORED\n"), ("incr a +1", &std::format!("{sum}\n"))]);
    }
    for value in ["", " ", "+", "-1", "++1", "+ 1", "1x", "18446744073709551616"] {
        let set = std::format!("set a 0 0 {}\n{value}", value.len());
        let refused = "CLIENT_ERROR cannot increment or decrement non-numeric value\n";
        talk(&mut client, &[(&set, "STORED\n"), ("incr a 1", refused)]);
    }
    // What follows a minus is negated, and refused where it would read as negative.
    talk(
        &mut client,
        &[
            ("set a 0 0 21\n-18446744073709551615", "STORED\n"),
            ("incr a 1", "2\n"),
            ("incr a -18446744073709551615", "3\n"),
            ("incr a -9223372036854775809", "9223372036854775810\n"),
            ("incr a -9223372036854775808", "CLIENT_ERROR invalid numeric delta argument\n"),
            ("incr a -18446744073709551616", "CLIENT_ERROR invalid numeric delta argument\n"),
            ("set a -18446744073709551615 0 1\nx", "STORED\n"),
            ("get a", "VALUE a 1 1\nx\nEND\n"),
        ],
    );
    // What is longer than a number stays as long.
    let spaces = " ".repeat(70_000);
    talk(
        &mut client,
        &[
            (&std::format!("set a 0 0 70002\n12{spaces}"), "STORED\n"),
            ("decr a 3", "9\n"),
            ("get a", &std::format!("VALUE a 0 70002\n9 {spaces}\nEND\n")),
            ("set b 4294967296 0 1\nx", "STORED\n"),
            ("set c -1 0 1\n", "CLIENT_ERROR bad command line format\nERROR\n"),
            ("set d 0 5000000000 1\nx", "STORED\n"),
            ("set e 0 -0 1\nx", "STORED\n"),
            ("get b d e", "VALUE b 0 1\nx\nVALUE e 0 1\nx\nEND\n"),
            ("touch e -0", "TOUCHED\n"),
            ("get e", "VALUE e 0 1\nx\nEND\n"),
        ],
    );
}

#[test]
fn noreply_is_a_word_like_others_where_it_means_nothing() {
    talk(
        &mut Client::new(),
        &[
            ("set noreply 0 0 1\nz", "STORED\n"),
            ("get noreply", "VALUE noreply 0 1\nz\nEND\n"),
            ("delete noreply", "DELETED\n"),
            ("delete noreply", "NOT_FOUND\n"),
            ("delete noreply noreply\ndelete noreply 0 noreply\ndelete a x noreply", ""),
            ("delete a 0 noreply noreply", "ERROR\n"),
            ("bogus noreply", "ERROR\n"),
            ("incr noreply", "ERROR\n"),
            ("incr a 0 0 noreply", "ERROR\n"),
            ("touch a 0 0 noreply", "ERROR\n"),
            ("flush_all 0 0 noreply", "ERROR\n"),
            ("stats x noreply", "ERROR\n"),
            ("stats reset noreply", "RESET\n"),
            ("version noreply", "VERSION 0.1.0-bayop-libos\n"),
            ("incr a 1 noreply\nincr a noreply\ntouch a 0 noreply\nverbosity x noreply\nflush_all x noreply", ""),
        ],
    );
}

#[test]
fn words_are_counted_as_memcached_does() {
    talk(
        &mut Client::new(),
        &[
            ("set a 0 0 1\n1", "STORED\n"),
            ("incr a 1 1", "2\n"),
            ("decr a 1 x", "1\n"),
            ("touch a 0 0", "TOUCHED\n"),
            ("delete a 0 0 0", "ERROR\n"),
            ("flush_all 1 2 3", "ERROR\n"),
            ("get a", "VALUE a 0 1\n1\nEND\n"),
            ("flush_all 0 2", "OK\n"),
            ("get a", "END\n"),
            ("flush_all x", "CLIENT_ERROR invalid exptime argument\n"),
            ("verbosity x", "CLIENT_ERROR bad command line format\n"),
            ("verbosity 1 2", "OK\n"),
            ("verbosity 1 2 3", "ERROR\n"),
        ],
    );
}

#[test]
fn a_line_with_a_key_that_is_too_long_gets_no_value() {
    let mut client = Client::new();
    let (longest, longer) = ("k".repeat(MAX_KEY_LEN), "k".repeat(MAX_KEY_LEN + 1));
    talk(&mut client, &[("set a 0 0 1\nv", "STORED\n")]);
    for get in ["get", "gets", "gat 0", "gats 0"] {
        for keys in [std::format!("a {longer}"), std::format!("a a  {longer} a")] {
            talk(&mut client, &[(&std::format!("{get} {keys}"), "CLIENT_ERROR bad command line format\n")]);
        }
    }
    talk(&mut client, &[(&std::format!("get a {longest}"), "VALUE a 0 1\nv\nEND\n")]);
}

#[test]
fn a_value_that_would_grow_too_large_is_not_stored() {
    let mut client = Client::new();
    let half = "v".repeat(MAX_VALUE_LEN / 2 + 1);
    let size = half.len();
    talk(&mut client, &[(&std::format!("set a 0 0 {size}\n{half}"), "STORED\n")]);
    for verb in ["append", "prepend"] {
        talk(&mut client, &[(&std::format!("{verb} a 0 0 {size}\n{half}"), "NOT_STORED\n")]);
    }
    talk(&mut client, &[("get a", &std::format!("VALUE a 0 {size}\n{half}\nEND\n"))]);
}

#[test]
fn a_connection_too_many_is_told_so_and_counted() {
    let mut client = Client::new();
    client.server = Memcached::new(8 << 20, 1_000_000_000, 1, 1, 1);
    let mut queue = Queue::default();
    assert!(client.server.opened(&client.session, &mut Output::new(&mut queue)));
    assert!(queue.is_empty());
    for _ in 0..2 {
        assert!(!client.server.opened(&Session::default(), &mut Output::new(&mut queue)));
    }
    assert_eq!(queue.bytes(), b"ERROR Too many open connections\r\n".repeat(2));
    let stats = client.says("stats\nstats settings\n");
    for line in
        ["max_connections 1", "maxconns 1", "curr_connections 1", "total_connections 1", "rejected_connections 2"]
    {
        assert!(stats.contains(&std::format!("STAT {line}\n")), "{line} in {stats}");
    }
    client.server.closed(Session::default());
    assert!(client.server.opened(&Session::default(), &mut Output::new(&mut queue)));
}
