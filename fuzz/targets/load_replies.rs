//! What a server sends to the load generator is a reply, no reply, or the beginning of one; and stays what it is when it
//! comes in parts.

#![no_main]

use bayop_load::http_request::HttpRequest;
use bayop_load::protocol::echo::Echo;
use bayop_load::protocol::http::Http;
use bayop_load::protocol::memcached_binary::MemcachedBinary;
use bayop_load::protocol::memcached_text::MemcachedText;
use bayop_load::protocol::postgresql::PostgreSql;
use bayop_load::protocol::redis::Redis;
use bayop_load::protocol::{Kind, Protocol};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for kind in [Kind::Get, Kind::Set] {
        check(&MemcachedText, kind, bytes);
        check(&MemcachedBinary, kind, bytes);
        check(&Redis, kind, bytes);
        check(&Http::new("host", &HttpRequest::get("/")), kind, bytes);
        check(&PostgreSql::new("SELECT 1"), kind, bytes);
        check(&Echo::new(b"ping".to_vec()), kind, bytes);
    }
});

fn check(protocol: &impl Protocol, kind: Kind, bytes: &[u8]) {
    let read = |end: usize| protocol.parse(kind, &bytes[..end]);
    match read(bytes.len()) {
        Ok(Some(reply)) => {
            assert!((1..=bytes.len()).contains(&reply.len) && reply.body.len() <= reply.len);
            assert_eq!(read(reply.len), Ok(Some(reply)), "what follows a reply changes it");
            for early in [reply.len / 2, reply.len - 1] {
                assert_eq!(read(early), Ok(None), "the first {early} bytes of a reply are none yet");
            }
        }
        Ok(None) => assert_eq!(read(bytes.len() / 2), Ok(None)),
        Err(garbage) => {
            assert!(!matches!(read(bytes.len() / 2), Ok(Some(_))), "{garbage} after it began with a reply");
        }
    }
    if let Ok(Some(len)) = protocol.pass_over(bytes) {
        assert!((1..=bytes.len()).contains(&len));
        assert_eq!(protocol.pass_over(&bytes[..len - 1]), Ok(None), "what is not all there is passed over");
    }
}
