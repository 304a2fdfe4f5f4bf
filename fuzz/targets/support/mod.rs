//! What targets have in common.

use libos_net::service::{Output, Served, Service};
use libos_net::tcp::{INPUT_LIMIT, Queue};

/// What a connection answers to some parts, and whether it is closed then.
pub fn converse<'a, S: Service>(
    service: &mut S,
    session: &mut S::Session,
    parts: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<u8>, bool) {
    let (mut waiting, mut answered) = (Vec::new(), Vec::new());
    for part in parts {
        waiting.extend_from_slice(part);
        while !waiting.is_empty() {
            let mut queue = Queue::default();
            let input = &waiting[..waiting.len().min(INPUT_LIMIT)];
            let Served { taken, close } = service.serve(0, session, input, &mut Output::new(&mut queue));
            answered.extend_from_slice(queue.bytes());
            waiting.drain(..taken);
            if close {
                return (answered, true);
            }
            if taken == 0 {
                assert!(waiting.len() < INPUT_LIMIT, "it waits for more than it can have");
                break;
            }
        }
    }
    (answered, false)
}
