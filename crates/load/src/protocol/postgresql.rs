//! PostgreSQL: simple queries of version 3 of its protocol (PostgreSQL's documentation, "Frontend/Backend Protocol").

use postgres_protocol::message::backend::{
    COMMAND_COMPLETE_TAG, COPY_DATA_TAG, COPY_DONE_TAG, COPY_OUT_RESPONSE_TAG, DATA_ROW_TAG, EMPTY_QUERY_RESPONSE_TAG,
    ERROR_RESPONSE_TAG, Header, NOTICE_RESPONSE_TAG, NOTIFICATION_RESPONSE_TAG, PARAMETER_STATUS_TAG,
    READY_FOR_QUERY_TAG, ROW_DESCRIPTION_TAG,
};

use super::numbered::{Numbered, number};
use super::{Garbage, Kind, MOST_BODY_BYTES, Outcome, Protocol, Reply, UNASKED, in_words};

/// A query that differs by the number of a record, ready to be sent.
#[derive(Clone, Debug)]
pub struct PostgreSql {
    query: Numbered,
}

impl PostgreSql {
    /// Asks this, with the number of a record wherever it has `{n}`.
    pub fn new(query: &str) -> Self {
        Self { query: Numbered::new(query, b"\0") }
    }
}

const EXPECTED: &str = "PostgreSQL's answer to a query";
/// Bytes of a message's kind and of its length, which counts itself.
const HEADER_BYTES: usize = 5;

impl Protocol for PostgreSql {
    const STORES: bool = false;

    #[inline]
    fn names_records(&self) -> bool {
        self.query.differs()
    }

    #[inline]
    fn encode(&self, _kind: Kind, key: &[u8], _value: &[u8], _mark: u64, out: &mut Vec<u8>) {
        out.push(b'Q');
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        self.query.push(number(key), out);
        let length = (out.len() - start) as u32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }

    fn parse<'a>(&self, kind: Kind, input: &'a [u8]) -> Result<Option<Reply<'a>>, Garbage> {
        self.go_on(kind, input, &mut 0)
    }

    /// Messages up to the one that says that the server is ready for another query. A query that has found or changed
    /// no row is a miss.
    fn go_on<'a>(&self, _kind: Kind, input: &'a [u8], seen: &mut usize) -> Result<Option<Reply<'a>>, Garbage> {
        let (mut at, mut outcome, mut text) = (*seen, Outcome::Miss, &b""[..]);
        loop {
            if outcome == Outcome::Miss {
                // Rows, for the most part: nothing before here decides what the answer is.
                *seen = at;
            }
            let Some((tag, content)) = message(input, at)? else { return Ok(None) };
            at += HEADER_BYTES + content.len();
            match tag {
                READY_FOR_QUERY_TAG => return Ok(Some(Reply::new(at, outcome, text))),
                COMMAND_COMPLETE_TAG if outcome == Outcome::Miss && !content.ends_with(b" 0\0") => {
                    outcome = Outcome::Hit
                }
                ERROR_RESPONSE_TAG => {
                    (outcome, text) = (Outcome::Refused, field(content, b'M'));
                    if matches!(field(content, b'V'), b"FATAL" | b"PANIC") {
                        return Ok(Some(Reply { closes: true, ..Reply::new(at, outcome, text) }));
                    }
                }
                _ => {}
            }
        }
    }

    /// What is asynchronous ("Asynchronous Operations"), and the error with which an idle connection ends.
    fn pass_over(&self, input: &[u8]) -> Result<Option<usize>, String> {
        let Some(&tag) = input.first() else { return Ok(None) };
        if !matches!(tag, NOTICE_RESPONSE_TAG | NOTIFICATION_RESPONSE_TAG | PARAMETER_STATUS_TAG | ERROR_RESPONSE_TAG) {
            return Err(UNASKED.to_owned());
        }
        match message(input, 0).map_err(|garbage| garbage.to_string())? {
            Some((ERROR_RESPONSE_TAG, content)) => Err(in_words(field(content, b'M')).into_owned()),
            Some((_, content)) => Ok(Some(HEADER_BYTES + content.len())),
            None => Ok(None),
        }
    }
}

/// The message that begins `at` this place, by its kind and content; `None` while it is incomplete.
fn message(input: &[u8], at: usize) -> Result<Option<(u8, &[u8])>, Garbage> {
    let garbage = || Garbage::new(EXPECTED, input);
    let Some(header) = Header::parse(&input[at..]).map_err(|_| garbage())? else { return Ok(None) };
    let end = at + 1 + usize::try_from(header.len()).map_err(|_| garbage())?;
    if end > MOST_BODY_BYTES || !is_of_an_answer(header.tag()) {
        return Err(garbage());
    }
    Ok(input.get(at + HEADER_BYTES..end).map(|content| (header.tag(), content)))
}

/// Whether a message may stand in the answer to a query that copies nothing to the server.
fn is_of_an_answer(tag: u8) -> bool {
    matches!(
        tag,
        ROW_DESCRIPTION_TAG
            | DATA_ROW_TAG
            | COMMAND_COMPLETE_TAG
            | READY_FOR_QUERY_TAG
            | EMPTY_QUERY_RESPONSE_TAG
            | ERROR_RESPONSE_TAG
            | NOTICE_RESPONSE_TAG
            | NOTIFICATION_RESPONSE_TAG
            | PARAMETER_STATUS_TAG
            | COPY_OUT_RESPONSE_TAG
            | COPY_DATA_TAG
            | COPY_DONE_TAG
    )
}

/// A field of an error message ("Error and Notice Message Fields"); nothing where it has none of this kind.
fn field(content: &[u8], kind: u8) -> &[u8] {
    content.split(|byte| *byte == 0).find_map(|field| field.strip_prefix(&[kind])).unwrap_or_default()
}
