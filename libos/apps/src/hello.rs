//! The smallest web server: one answer to every request. It is also how a service is written.

use libos_net::service::{Output, Served, Service};
use libos_net::wire::ipv4::Address;

/// Where it listens.
pub const PORT: u16 = 80;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 6\r\n\r\nhello\n";
const REFUSAL: &[u8] = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
const MAX_REQUEST_LEN: usize = 8 << 10;

/// Says hello.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hello;

impl Service for Hello {
    type Session = ();

    fn accept(&self, _peer: Address, port: u16) -> Option<()> {
        (port == PORT).then_some(())
    }

    fn serve(&mut self, _now_us: u64, (): &mut (), input: &[u8], output: &mut Output) -> Served {
        let mut taken = 0;
        while !output.is_full() {
            let Some(len) = input[taken..].windows(4).position(|end| end == b"\r\n\r\n") else { break };
            let request = &input[taken..taken + len];
            taken += len + 4;
            if !request.starts_with(b"GET ") {
                output.write(REFUSAL);
                return Served { taken, close: true };
            }
            output.write(ANSWER);
        }
        let is_endless = input.len() - taken > MAX_REQUEST_LEN;
        Served { taken, close: is_endless }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use libos_net::tcp::Queue;

    use super::*;

    fn served(input: &[u8]) -> (Served, Vec<u8>) {
        let mut queue = Queue::default();
        let served = Hello.serve(0, &mut (), input, &mut Output::new(&mut queue));
        (served, queue.bytes().to_vec())
    }

    #[test]
    fn each_whole_request_is_answered() {
        let (done, answers) = served(b"GET / HTTP/1.1\r\nhost: a\r\n\r\nGET /b HTTP/1.1\r\n\r\nGET /c");
        assert_eq!(done, Served { taken: 46, close: false });
        assert_eq!(answers, [ANSWER, ANSWER].concat());
    }

    #[test]
    fn what_is_no_get_is_refused() {
        assert_eq!(served(b"POST / HTTP/1.1\r\n\r\n"), (Served { taken: 19, close: true }, REFUSAL.to_vec()));
    }

    #[test]
    fn a_request_that_does_not_end_is_not_kept_for_ever() {
        assert!(served(&[b'a'; MAX_REQUEST_LEN + 1]).0.close);
    }
}
