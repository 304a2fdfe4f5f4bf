//! What a client sends to the library OS's memcached is answered alike however it comes in parts.

#![no_main]

mod support;

use libfuzzer_sys::fuzz_target;
use libos_apps::memcached::{Memcached, PORT, Session};
use libos_net::service::{OUTPUT_LIMIT, Service as _};
use support::converse;

/// A longer line may be found too long only when some of it was answered.
const PATIENCE: usize = 2 << 10;

fuzz_target!(|bytes: &[u8]| {
    let Some((&cut, bytes)) = bytes.split_first() else { return };
    let whole = answer([bytes]);
    if bytes.len() <= PATIENCE {
        let cut = bytes.len() * usize::from(cut) / 256;
        assert_eq!(answer([&bytes[..cut], &bytes[cut..]]), whole, "it depends on where the bytes are cut: after {cut}");
        assert_eq!(answer(bytes.chunks(1)), whole, "it depends on whether bytes come together");
    }
    let mut datagrams = 0;
    memcached().serve_datagram(0, PORT, bytes, &mut |answer| {
        assert!(answer.len() <= 1400);
        datagrams += 1;
    });
    assert!(datagrams <= 1 + OUTPUT_LIMIT / 1392);
});

fn memcached() -> Memcached {
    Memcached::new(2 << 20, 1_000_000_000, 1, 1, 1000).with_datagrams()
}

/// What a connection answers to some parts, and whether it is closed then.
fn answer<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, bool) {
    converse(&mut memcached(), &mut Session::default(), parts)
}
