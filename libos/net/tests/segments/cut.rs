//! A device that cuts segments: they are the same that the stack would have made itself.

use proptest::prelude::*;

use libos_net::wire::tcp::Flags;

use crate::client::{Client, FIRST};
use crate::support::Sent;

/// Whose segments have at most a thousand bytes; of the stack's device, how long a frame may be that it cuts.
fn client(max_cut_len: usize, is_selective: bool) -> Client {
    Client { is_selective, sent: Sent { max_cut_len, ..Sent::default() }, ..Client::new() }
}

#[test]
fn what_does_not_fit_into_a_segment_is_cut_by_the_device() {
    let mut client = client(16_000, false);
    let first = client.opens();
    let echo = client.says(Flags::ACK, FIRST + 1, first, &[b'x'; 9_500]);
    assert_eq!(echo.iter().map(|each| each.payload.len()).collect::<Vec<_>>(), [[1000; 9].as_slice(), &[500]].concat());
    assert!(echo.iter().all(|each| each.flags.has(Flags::PSH) == (each.payload.len() == 500)));
    assert_eq!(client.sent.cut, 1);
    let mut again = client.waits(300_000);
    assert_eq!((again.len(), again[0].sequence, again[0].payload.len()), (1, first, 1000), "one after a timeout");
    again = client.says(Flags::ACK, FIRST + 9_501, first + 1000, &[]);
    assert_eq!(again.iter().map(|each| each.sequence).collect::<Vec<_>>(), [first + 1000, first + 2000]);
    assert_eq!(client.sent.cut, 1);
}

#[test]
fn what_is_longer_than_a_window_leaves_as_whole_segments() {
    let mut client = client(16_000, false);
    let first = client.opens();
    let echo = client.says_with_window(Flags::ACK, FIRST + 1, first, &[b'x'; 9_500], 4_300);
    assert_eq!(echo.iter().map(|each| each.payload.len()).collect::<Vec<_>>(), [1000; 4]);
    assert!(echo.iter().all(|each| !each.flags.has(Flags::PSH)));
}

#[test]
fn what_a_device_has_joined_is_acknowledged_like_its_segments() {
    let mut client = client(16_000, false);
    let first = client.opens();
    // The client's window is closed: the echo can't leave.
    let said = client.says_with_window(Flags::ACK, FIRST + 1, first, &[b'x'; 1_001], 0);
    assert_eq!(said.iter().map(|each| each.acknowledgment).collect::<Vec<_>>(), [FIRST + 1_002]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn whoever_cuts_them_the_segments_are_the_same(
        steps in prop::collection::vec(
            (0usize..20_000, 0u16..60_000, 0u32..=100, (0u32..30, 0u32..6), 0u64..400_000),
            1..40,
        ),
        is_selective: bool,
        closes: bool,
    ) {
        let mut clients = [0, 1_100, 2_500, 16_000].map(|max_cut_len| client(max_cut_len, is_selective));
        let [first, ..] = clients.each_mut().map(Client::opens);
        let (mut next, mut acknowledged, mut end) = (FIRST + 1, first, first);
        let last = steps.len() - 1;
        for (at, (len, window, percent, (start, segments), pause_us)) in steps.into_iter().enumerate() {
            let mut payload = vec![b'x'; len];
            if closes && at == last {
                payload.push(b'!');
            }
            acknowledged = acknowledged + end.since(acknowledged).max(0) as u32 * percent / 100;
            let selected = acknowledged + 1000 * start..acknowledged + 1000 * (start + segments);
            let [own, others @ ..] = clients.each_mut().map(|client| {
                let mut answers = client.says_with_window(Flags::ACK, next, acknowledged, &payload, window);
                client.next = next;
                answers.extend(client.has(acknowledged, std::slice::from_ref(&selected)));
                answers.extend(client.waits(pause_us));
                answers
            });
            for other in others {
                prop_assert_eq!(&own, &other);
            }
            for answer in &own {
                prop_assert!(answer.payload.len() <= 1000);
                next = answer.acknowledgment;
                let answer_end = answer.sequence + answer.payload.len() as u32;
                end = if answer_end.since(end) > 0 { answer_end } else { end };
            }
        }
    }
}
