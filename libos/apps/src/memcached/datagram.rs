//! memcached's UDP protocol (its doc/protocol.txt): a header in front of a request, and of each piece of its answer.
//!
//! All that a datagram asks for is answered by one message, as the document has it. 1.6 makes a message of each item and
//! each answer, all of the same number, of which a client takes the first for the whole.

use libos_net::service::{Output, Service as _};
use libos_net::tcp::Queue;

use super::{Memcached, Session};

/// The length of a header: the request's number, which datagram of the message it is, of how many, and two bytes of zero.
const HEADER_LEN: usize = 8;
/// How long a datagram is at most.
const MAX_LEN: usize = 1400;

impl Memcached {
    /// Answers a request that is one datagram. One of several is dropped, as 1.6 drops it, and so is what has not come
    /// whole; an answer so long that a connection would have to wait is not given.
    pub(super) fn answer_datagram(&mut self, now_us: u64, datagram: &[u8], answer: &mut dyn FnMut(&[u8])) {
        let Some((&[n0, n1, _, _, 0, 1, _, _], request)) = datagram.split_first_chunk::<HEADER_LEN>() else { return };
        let mut queue = Queue::default();
        let mut output = Output::new(&mut queue);
        self.serve(now_us, &mut Session::default(), request, &mut output);
        if output.is_full() {
            return;
        }
        let pieces = queue.bytes().chunks(MAX_LEN - HEADER_LEN);
        let [t0, t1] = (pieces.len() as u16).to_be_bytes();
        let mut whole = [0; MAX_LEN];
        for (sequence, piece) in (0u16..).zip(pieces) {
            let [s0, s1] = sequence.to_be_bytes();
            let (header, data) = whole[..HEADER_LEN + piece.len()].split_at_mut(HEADER_LEN);
            header.copy_from_slice(&[n0, n1, s0, s1, t0, t1, 0, 0]);
            data.copy_from_slice(piece);
            answer(&whole[..HEADER_LEN + piece.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    use libos_net::service::Service;
    use proptest::prelude::*;

    use super::super::PORT;
    use super::super::operations::{Storing, Verb};
    use super::*;

    fn memcached() -> Memcached {
        Memcached::new(8 << 20, 1_000_000_000, 1, 1, 1000).with_datagrams()
    }

    /// The datagrams that answer one.
    fn answers(server: &mut Memcached, datagram: &[u8]) -> Vec<Vec<u8>> {
        let mut answers = Vec::new();
        assert!(server.serve_datagram(0, PORT, datagram, &mut |answer| answers.push(answer.to_vec())));
        answers
    }

    /// A request in a header.
    fn asked(request: &[u8]) -> Vec<u8> {
        [&[0xAB, 0xCD, 0, 0, 0, 1, 0, 0], request].concat()
    }

    /// The message that answers a request; empty where nothing does.
    fn said(server: &mut Memcached, request: &[u8]) -> Vec<u8> {
        let answers = answers(server, &asked(request));
        let mut message = Vec::new();
        for (sequence, answer) in answers.iter().enumerate() {
            let (header, piece) = answer.split_at(HEADER_LEN);
            assert_eq!(header, [0xAB, 0xCD, 0, sequence as u8, 0, answers.len() as u8, 0, 0]);
            assert!(answer.len() == MAX_LEN || sequence == answers.len() - 1 && !piece.is_empty());
            message.extend_from_slice(piece);
        }
        message
    }

    #[test]
    fn a_request_is_answered_under_its_number() {
        let server = &mut memcached();
        assert_eq!(said(server, b"set a 5 0 1\r\nx\r\n"), b"STORED\r\n");
        assert_eq!(said(server, b"get a\r\n"), b"VALUE a 5 1\r\nx\r\nEND\r\n");
        let header = [1, 2, 7, 7, 0, 1, 9, 9];
        let answer = [&[1, 2, 0, 0, 0, 1, 0, 0], &b"END\r\n"[..]].concat();
        assert_eq!(answers(server, &[&header, &b"get b\r\n"[..]].concat()), [answer]);
    }

    #[test]
    fn several_commands_are_answered_by_one_message() {
        let server = &mut memcached();
        let request = b"set a 0 0 1\r\nx\r\nset b 0 0 1 noreply\r\ny\r\nget a b\r\nbogus\r\nget b\r\nquit\r\nget a\r\n";
        let answer = "STORED\r\nVALUE a 0 1\r\nx\r\nVALUE b 0 1\r\ny\r\nEND\r\nERROR\r\nVALUE b 0 1\r\ny\r\nEND\r\n";
        assert_eq!(said(server, request), answer.as_bytes());
    }

    #[test]
    fn each_datagram_may_speak_another_protocol() {
        let server = &mut memcached();
        let get = [&[0x80, 0, 0, 1][..], &[0; 7], &[1], &[0; 12], b"a"].concat();
        said(server, b"set a 0 0 1\r\nx\r\n");
        let answer = said(server, &[&get[..], &get].concat());
        assert_eq!((answer.len(), answer[0], &answer[28..30]), (2 * 29, 0x81, &b"x\x81"[..]));
        assert_eq!(said(server, b"get a\r\n"), b"VALUE a 0 1\r\nx\r\nEND\r\n");
    }

    #[test]
    fn a_long_answer_is_cut_and_a_longer_one_not_given() {
        let server = &mut memcached();
        for len in [1370, 1369, 1371, 20_000, 65_000] {
            let value = vec![b'v'; len];
            let command = Storing { verb: Verb::Set, key: b"v", flags: 0, expires_s: 0 };
            server.store(0, &command, &value).unwrap();
            let expected = [std::format!("VALUE v 0 {len}\r\n").as_bytes(), &value, b"\r\nEND\r\n"].concat();
            assert_eq!(said(server, b"get v\r\n"), expected);
        }
        assert_eq!(said(server, b"get v v\r\n"), b"");
        assert_eq!(said(server, b"get v\r\n").len(), 65_024);
    }

    #[test]
    fn what_has_not_come_whole_is_forgotten() {
        let server = &mut memcached();
        for part in [&b"get a"[..], b"set a 0 0 5\r\nab", b"\x80\x00\x00\x01", b""] {
            assert_eq!(said(server, part), b"");
            assert_eq!(said(server, b"get a\r\n"), b"END\r\n");
        }
    }

    #[test]
    fn one_of_several_datagrams_is_dropped_and_so_is_one_without_a_header() {
        let server = &mut memcached();
        for of in [[0, 0], [0, 2], [1, 1]] {
            let datagram = [&[0, 7, 0, 0, of[0], of[1], 0, 0], &b"version\r\n"[..]].concat();
            assert_eq!(answers(server, &datagram), [[0; 0]; 0]);
        }
        for len in 0..=HEADER_LEN {
            assert_eq!(answers(server, &asked(b"")[..len]), [[0; 0]; 0]);
        }
    }

    #[test]
    fn datagrams_are_answered_only_on_its_port_and_where_that_is_asked_for() {
        let refuses = |server: &mut Memcached, port| {
            !server.serve_datagram(0, port, &asked(b"version\r\n"), &mut |_| panic!("there is no answer"))
        };
        assert!(refuses(&mut memcached(), PORT + 1));
        assert!(refuses(&mut Memcached::new(8 << 20, 1_000_000_000, 1, 1, 1000), PORT));
    }

    proptest! {
        #[test]
        fn foreign_datagrams_are_answered_or_not(
            text in prop::collection::vec("(get|set|gat|incr|cas|stats|touch)|[ak]|[0-9]{1,3}|[ -~]|\r\n", 0..12),
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            is_binary: bool,
        ) {
            let server = &mut memcached();
            said(server, text.join(" ").as_bytes());
            said(server, &[if is_binary { &[0x80][..] } else { &[] }, &bytes].concat());
            answers(server, &bytes);
            prop_assert_eq!(said(server, b"get none\r\n"), b"END\r\n");
        }
    }
}
