//! Replies of every protocol: whole, split at every byte, followed by others, and as garbage.

use bayop_load::http_request::HttpRequest;
use bayop_load::protocol::echo::Echo;
use bayop_load::protocol::http::Http;
use bayop_load::protocol::memcached_binary::MemcachedBinary;
use bayop_load::protocol::memcached_text::MemcachedText;
use bayop_load::protocol::postgresql::PostgreSql;
use bayop_load::protocol::redis::Redis;
use bayop_load::protocol::{Kind, Outcome, Protocol};
use proptest::prelude::*;

/// A reply is recognised as soon as, and only when, its last byte is there, whatever follows and was seen of it before.
fn check_reply(protocol: &impl Protocol, kind: Kind, bytes: &[u8], outcome: Outcome, body: &[u8]) {
    let mut seen = 0;
    for end in 0..bytes.len() {
        assert_eq!(protocol.go_on(kind, &bytes[..end], &mut seen), Ok(None));
        assert!(seen <= end);
    }
    assert_eq!(protocol.go_on(kind, bytes, &mut seen), protocol.parse(kind, bytes));
    for end in 0..bytes.len() {
        let early = protocol.parse(kind, &bytes[..end]);
        assert_eq!(early, Ok(None), "{:?} of {:?}", &bytes[..end].escape_ascii().to_string(), kind);
    }
    for next in [&b""[..], b"x", bytes] {
        let stream = [bytes, next].concat();
        let reply = protocol.parse(kind, &stream).unwrap().unwrap();
        assert_eq!((reply.len, reply.outcome, reply.body), (bytes.len(), outcome, body));
    }
}

fn check_garbage(protocol: &impl Protocol, kind: Kind, bytes: &[u8]) {
    let message = protocol.parse(kind, bytes).expect_err(&bytes.escape_ascii().to_string()).to_string();
    assert!(message.contains("was expected, but the server sent"), "{message}");
}

/// A response of memcached's binary protocol to a GET (with flags) or a SET.
fn binary(kind: Kind, status: u16, body: &[u8]) -> Vec<u8> {
    let extras: &[u8] = if kind == Kind::Get && status == 0 { &[0; 4] } else { b"" };
    let mut bytes = vec![0x81, if kind == Kind::Get { 0 } else { 1 }, 0, 0, extras.len() as u8, 0];
    bytes.extend(status.to_be_bytes());
    bytes.extend(((extras.len() + body.len()) as u32).to_be_bytes());
    bytes.extend([0; 12]);
    bytes.extend(extras);
    bytes.extend(body);
    bytes
}

#[test]
fn memcached_text() {
    let p = MemcachedText;
    check_reply(&p, Kind::Get, b"END\r\n", Outcome::Miss, b"");
    check_reply(&p, Kind::Get, b"VALUE k 0 5\r\nhello\r\nEND\r\n", Outcome::Hit, b"hello");
    check_reply(&p, Kind::Get, b"VALUE k 0 0\r\n\r\nEND\r\n", Outcome::Hit, b"");
    check_reply(&p, Kind::Get, b"VALUE k 0 7 99\r\n\r\nEND\r\n\r\nEND\r\n", Outcome::Hit, b"\r\nEND\r\n");
    check_reply(&p, Kind::Set, b"STORED\r\n", Outcome::Stored, b"");
    check_reply(&p, Kind::Set, b"SERVER_ERROR out of memory\r\n", Outcome::Refused, b"SERVER_ERROR out of memory");
    check_reply(&p, Kind::Get, b"ERROR\r\n", Outcome::Refused, b"ERROR");
    for bytes in [
        &b"STORED\r\n"[..],
        b"VALUE k 0 -1\r\n",
        b"VALUE k 0\r\n",
        b"VALUE k 0 99999999999\r\n",
        b"VALUE k 0 2\r\nabc\r\nEND\r\n",
        b"HTTP/1.1 400 Bad Request\r\n",
        b"\n",
        &[b'x'; 70_000],
    ] {
        check_garbage(&p, Kind::Get, bytes);
    }
    check_garbage(&p, Kind::Set, b"END\r\n");
}

#[test]
fn memcached_binary() {
    let p = MemcachedBinary;
    check_reply(&p, Kind::Get, &binary(Kind::Get, 0, b"hello"), Outcome::Hit, b"hello");
    check_reply(&p, Kind::Get, &binary(Kind::Get, 1, b"Not found"), Outcome::Miss, b"Not found");
    check_reply(&p, Kind::Set, &binary(Kind::Set, 0, b""), Outcome::Stored, b"");
    check_reply(&p, Kind::Set, &binary(Kind::Set, 0x82, b"Out of memory"), Outcome::Refused, b"Out of memory");
    check_garbage(&p, Kind::Get, b"E");
    check_garbage(&p, Kind::Get, &binary(Kind::Set, 0, b""));
    let mut huge = binary(Kind::Get, 0, b"");
    huge[8] = 0xff;
    check_garbage(&p, Kind::Get, &huge);
    let mut shorter_than_its_key = binary(Kind::Get, 0, b"");
    shorter_than_its_key[3] = 9;
    check_garbage(&p, Kind::Get, &shorter_than_its_key);
}

#[test]
fn redis() {
    check_reply(&Redis, Kind::Get, b"$5\r\nhello\r\n", Outcome::Hit, b"hello");
    check_reply(&Redis, Kind::Get, b"$0\r\n\r\n", Outcome::Hit, b"");
    check_reply(&Redis, Kind::Get, b"$-1\r\n", Outcome::Miss, b"");
    check_reply(&Redis, Kind::Set, b"+OK\r\n", Outcome::Stored, b"");
    check_reply(&Redis, Kind::Set, b"-OOM command not allowed\r\n", Outcome::Refused, b"OOM command not allowed");
    for bytes in [&b"+OK\r\n"[..], b"$-2\r\n", b"$9999999999\r\n", b"$1\r\nabc", b":1\r\n", b"$5\n"] {
        check_garbage(&Redis, Kind::Get, bytes);
    }
}

#[test]
fn http_responses() {
    let p = Http::new("h", &HttpRequest::get("/"));
    let page = b"HTTP/1.1 200 OK\r\nServer: x\r\ncontent-length: 5\r\n\r\nhello";
    check_reply(&p, Kind::Get, page, Outcome::Hit, b"hello");
    check_reply(&p, Kind::Get, b"HTTP/1.1 304 Not Modified\r\n\r\n", Outcome::Hit, b"");
    check_reply(&p, Kind::Get, b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", Outcome::Miss, b"");
    let error = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
    check_reply(&p, Kind::Get, error, Outcome::Refused, b"HTTP/1.1 503 Busy");
    assert_eq!(p.parse(Kind::Get, error).unwrap().unwrap().status, Some(503));
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n";
    check_reply(&p, Kind::Get, chunked, Outcome::Hit, b"5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n");
    for (head, closes) in [
        ("HTTP/1.1 200 OK\r\nConnection: close", true),
        ("HTTP/1.1 200 OK\r\nConnection: foo,\tClose", true),
        ("HTTP/1.1 200 OK\r\nConnection: foo\r\nconnection: close", true),
        ("HTTP/1.1 200 OK\r\nConnection: closed", false),
        ("HTTP/1.1 200 OK", false),
        ("HTTP/1.0 200 OK", true),
        ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive", false),
        ("HTTP/1.0 200 OK\r\nConnection: keep-alive, close", true),
    ] {
        let response = format!("{head}\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(p.parse(Kind::Get, response.as_bytes()).unwrap().unwrap().closes, closes, "{head}");
    }
    let twice = b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nhi";
    check_reply(&p, Kind::Get, twice, Outcome::Hit, b"hi");
    for bytes in [
        &b"STORED\r\n\r\n"[..],
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 0\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
    ] {
        check_garbage(&p, Kind::Get, bytes);
    }
}

#[test]
fn interim_responses_come_before_the_one_that_counts() {
    let p = Http::new("h", &HttpRequest::get("/"));
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 9\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n";
    let page = format!("{interim}HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    check_reply(&p, Kind::Get, page.as_bytes(), Outcome::Hit, b"hello");
    let busy = format!("{interim}HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    check_reply(&p, Kind::Get, busy.as_bytes(), Outcome::Refused, b"HTTP/1.1 503 Busy");
    assert_eq!(p.parse(Kind::Get, busy.as_bytes()).unwrap().unwrap().status, Some(503));
    check_garbage(&p, Kind::Get, interim.repeat(1000).as_bytes());
}

#[test]
fn a_body_of_many_chunks_is_read_once_and_has_an_end() {
    let p = Http::new("h", &HttpRequest::get("/"));
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut seen = 0;
    let chunks = head.to_owned() + &"1\r\na\r\n".repeat(1000);
    assert_eq!(p.go_on(Kind::Get, chunks.as_bytes(), &mut seen), Ok(None));
    assert_eq!(seen, chunks.len());
    check_garbage(&p, Kind::Get, format!("{head}1;{}", "x".repeat(1 << 16)).as_bytes());
    // Each of the two is allowed by itself.
    let size = 300 << 20;
    let first = format!("{head}{size:x}\r\n");
    let second = format!("\r\n{size:x}\r\n");
    let mut input = vec![0; first.len() + size + second.len()];
    input[..first.len()].copy_from_slice(first.as_bytes());
    input[first.len() + size..].copy_from_slice(second.as_bytes());
    check_garbage(&p, Kind::Get, &input);
}

#[test]
fn an_answer_of_many_rows_is_read_once() {
    let rows = message(b'D', b"\0\0").repeat(1000);
    let mut seen = 0;
    assert_eq!(PostgreSql::new("SELECT 1").go_on(Kind::Get, &rows, &mut seen), Ok(None));
    assert_eq!(seen, rows.len());
}

/// A message of PostgreSQL's: its kind, its length, which counts itself, and its content.
fn message(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind][..], &(content.len() as u32 + 4).to_be_bytes(), content].concat()
}

#[test]
fn postgresql() {
    let p = PostgreSql::new("SELECT 1");
    let ready = message(b'Z', b"I");
    let answer = |messages: &[Vec<u8>]| [&messages.concat()[..], &ready].concat();
    let row = [message(b'T', b"\0\0"), message(b'D', b"\0\0")].concat();
    let found = answer(&[row, message(b'C', b"SELECT 1\0")]);
    check_reply(&p, Kind::Get, &found, Outcome::Hit, b"");
    let missing = answer(&[message(b'T', b"\0\0"), message(b'C', b"SELECT 0\0")]);
    check_reply(&p, Kind::Get, &missing, Outcome::Miss, b"");
    check_reply(&p, Kind::Get, &answer(&[message(b'C', b"INSERT 0 1\0")]), Outcome::Hit, b"");
    check_reply(&p, Kind::Get, &answer(&[message(b'C', b"UPDATE 0\0")]), Outcome::Miss, b"");
    check_reply(&p, Kind::Get, &answer(&[message(b'I', b"")]), Outcome::Miss, b"");
    let copied =
        answer(&[message(b'H', b"\0\0\0"), message(b'd', b"1\n"), message(b'c', b""), message(b'C', b"COPY 1\0")]);
    check_reply(&p, Kind::Get, &copied, Outcome::Hit, b"");
    let error = |severity: &str| {
        let fields = format!("SFEHLER\0V{severity}\0C42P01\0Mno such table\0\0");
        message(b'E', fields.as_bytes())
    };
    let refused = answer(&[message(b'C', b"SELECT 1\0"), error("ERROR"), message(b'N', b"Sx\0\0")]);
    check_reply(&p, Kind::Get, &refused, Outcome::Refused, b"no such table");
    let fatal = error("FATAL");
    check_reply(&p, Kind::Get, &fatal, Outcome::Refused, b"no such table");
    assert!(p.parse(Kind::Get, &fatal).unwrap().unwrap().closes);
    let asks_for_data = answer(&[message(b'G', b"\0\0\0")]);
    for bytes in [
        &asks_for_data[..],
        b"HTTP/1.1 400 Bad Request\r\n",
        b"Z\0\0\0\x03",
        b"D\xff\xff\xff\xff",
        b"D\x7f\xff\xff\xff",
    ] {
        check_garbage(&p, Kind::Get, bytes);
    }
    let notice = message(b'N', b"Sx\0\0");
    (0..notice.len()).for_each(|end| assert_eq!(p.pass_over(&notice[..end]), Ok(None)));
    assert_eq!(p.pass_over(&answer(std::slice::from_ref(&notice))), Ok(Some(notice.len())));
}

#[test]
fn a_query_has_the_number_of_the_record() {
    let mut out = Vec::new();
    PostgreSql::new("SELECT {n}, {n}").encode(Kind::Get, b"0042", b"", 0, &mut out);
    assert_eq!(out, message(b'Q', b"SELECT 42, 42\0"));
}

#[test]
fn echo() {
    let p = Echo::new(b"ping".to_vec());
    check_reply(&p, Kind::Get, b"ping", Outcome::Hit, b"ping");
    check_garbage(&p, Kind::Get, b"pong");
}

#[test]
fn requests_are_what_the_protocols_prescribe() {
    fn encoded(protocol: &impl Protocol, kind: Kind) -> Vec<u8> {
        let mut out = Vec::new();
        protocol.encode(kind, b"key", b"value", 7, &mut out);
        out
    }
    assert_eq!(encoded(&MemcachedText, Kind::Get), b"get key\r\n");
    assert_eq!(encoded(&MemcachedText, Kind::Set), b"set key 0 0 5\r\nvalue\r\n");
    assert_eq!(encoded(&Redis, Kind::Get), b"*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n");
    assert_eq!(encoded(&Redis, Kind::Set), b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n");
    assert_eq!(
        encoded(&Http::new("h:80", &HttpRequest::get("/x")), Kind::Get),
        b"GET /x HTTP/1.1\r\nHost: h:80\r\n\r\n"
    );
    let get = encoded(&MemcachedBinary, Kind::Get);
    assert_eq!(get[12..16], [0, 0, 0, 7]);
    assert_eq!((get.len(), &get[..4], get[11], &get[24..]), (27, &[0x80, 0, 0, 3][..], 3, &b"key"[..]));
    let set = encoded(&MemcachedBinary, Kind::Set);
    assert_eq!((set.len(), set[1], set[4], set[11], &set[32..]), (40, 1, 8, 16, &b"keyvalue"[..]));
}

proptest! {
    #[test]
    fn no_bytes_make_a_parser_panic_or_reply_beyond_the_input(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        start in prop::sample::select(vec!["", "VALUE k 0 ", "$", "C\0\0\0\u{4}E\0\0\0", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "\u{1}"]),
    ) {
        fn check(protocol: &impl Protocol, input: &[u8]) {
            for kind in [Kind::Get, Kind::Set] {
                if let Ok(Some(reply)) = protocol.parse(kind, input) {
                    assert!(reply.len > 0 && reply.len <= input.len());
                }
            }
        }
        let input = [start.as_bytes(), &bytes].concat();
        check(&MemcachedText, &input);
        check(&Redis, &input);
        check(&Http::new("h", &HttpRequest::get("/")), &input);
        check(&Echo::new(b"ping".to_vec()), &input);
        check(&PostgreSql::new("SELECT 1"), &input);
        check(&MemcachedBinary, &[&[0x81][..], &input].concat());
    }

    #[test]
    fn values_of_any_content_come_back(value in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = [format!("VALUE k 0 {}\r\n", value.len()).as_bytes(), &value, b"\r\nEND\r\n"].concat();
        check_reply(&MemcachedText, Kind::Get, &text, Outcome::Hit, &value);
        let bulk = [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n"].concat();
        check_reply(&Redis, Kind::Get, &bulk, Outcome::Hit, &value);
        check_reply(&MemcachedBinary, Kind::Get, &binary(Kind::Get, 0, &value), Outcome::Hit, &value);
    }
}
