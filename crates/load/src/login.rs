//! How a client of PostgreSQL begins: who it is, and that it is so (PostgreSQL's documentation, "Message Flow", start-up).

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator as _;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{Header, Message};
use postgres_protocol::message::frontend::{password_message, sasl_initial_response, sasl_response, startup_message};

use crate::input::Input;
use crate::sql_query::SqlQuery;

/// Longest message that is waited for; what is longer does not come from PostgreSQL.
const MOST_BYTES: usize = 64 * 1024;

/// The server asks for a password, and there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeedsPassword;

impl fmt::Display for NeedsPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it asks for a password, and none is given")
    }
}

impl std::error::Error for NeedsPassword {}

/// A login under way.
pub(crate) struct Login {
    who: Arc<SqlQuery>,
    scram: Option<ScramSha256>,
}

impl Login {
    /// Says who asks.
    ///
    /// # Errors
    /// It can't be said.
    pub(crate) fn begin(who: Arc<SqlQuery>, out: &mut Vec<u8>) -> io::Result<Self> {
        let database = who.database.as_deref().unwrap_or(&who.user);
        let parameters = [("user", &*who.user), ("database", database), ("application_name", "bayop")];
        say(out, |words| startup_message(parameters, words))?;
        Ok(Self { who, scram: None })
    }

    /// Takes what the server has said, and answers; true once it takes queries.
    ///
    /// # Errors
    /// The server refuses, wants a password that is not there, or does not speak the protocol.
    pub(crate) fn go_on(&mut self, input: &mut Input, out: &mut Vec<u8>) -> io::Result<bool> {
        while let Some(message) = next_message(input)? {
            match message {
                Message::AuthenticationOk
                | Message::BackendKeyData(_)
                | Message::ParameterStatus(_)
                | Message::NoticeResponse(_) => {}
                Message::ReadyForQuery(_) => return Ok(true),
                Message::AuthenticationCleartextPassword => {
                    let password = self.password()?;
                    say(out, |words| password_message(password, words))?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let hash = md5_hash(self.who.user.as_bytes(), self.password()?, body.salt());
                    say(out, |words| password_message(hash.as_bytes(), words))?;
                }
                Message::AuthenticationSasl(body) if body.mechanisms().any(|name| Ok(name == SCRAM_SHA_256))? => {
                    let scram = ScramSha256::new(self.password()?, ChannelBinding::unsupported());
                    say(out, |words| sasl_initial_response(SCRAM_SHA_256, scram.message(), words))?;
                    self.scram = Some(scram);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = self.scram.as_mut().ok_or_else(not_spoken)?;
                    scram.update(body.data())?;
                    say(out, |words| sasl_response(scram.message(), words))?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    self.scram.as_mut().ok_or_else(not_spoken)?.finish(body.data())?;
                }
                Message::ErrorResponse(body) => {
                    let text = body.fields().find(|field| Ok(field.type_() == b'M'))?;
                    let text = text.map(|field| String::from_utf8_lossy(field.value_bytes()).into_owned());
                    return Err(io::Error::other(text.unwrap_or_else(|| "it refuses and does not say why".to_owned())));
                }
                _ => return Err(io::Error::other("it wants to know by other means than a password who asks")),
            }
        }
        Ok(false)
    }

    fn password(&self) -> io::Result<&[u8]> {
        self.who.password.as_deref().map(str::as_bytes).ok_or_else(|| io::Error::other(NeedsPassword))
    }
}

/// Appends a message.
fn say(out: &mut Vec<u8>, message: impl FnOnce(&mut BytesMut) -> io::Result<()>) -> io::Result<()> {
    let mut words = BytesMut::new();
    message(&mut words)?;
    out.extend_from_slice(&words);
    Ok(())
}

/// The next complete message; none while it is incomplete.
fn next_message(input: &mut Input) -> io::Result<Option<Message>> {
    let Some(header) = Header::parse(input.bytes()).map_err(|_| not_spoken())? else { return Ok(None) };
    let len = 1 + usize::try_from(header.len()).map_err(|_| not_spoken())?;
    if len > MOST_BYTES {
        return Err(not_spoken());
    }
    let Some(bytes) = input.bytes().get(..len) else { return Ok(None) };
    let message = Message::parse(&mut BytesMut::from(bytes)).map_err(|_| not_spoken())?;
    input.consume(len);
    Ok(message)
}

fn not_spoken() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "it does not speak PostgreSQL's protocol")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(password: Option<&str>) -> Arc<SqlQuery> {
        let text = |text: &str| text.to_owned();
        let database = Some(text("shop"));
        Arc::new(SqlQuery { text: text("SELECT 1"), user: text("ann"), password: password.map(text), database })
    }

    fn message(kind: u8, content: &[u8]) -> Vec<u8> {
        [&[kind][..], &(content.len() as u32 + 4).to_be_bytes(), content].concat()
    }

    fn authentication(kind: u32, content: &[u8]) -> Vec<u8> {
        message(b'R', &[&kind.to_be_bytes()[..], content].concat())
    }

    /// What is said to a server that says this, byte by byte, and how it ends.
    fn answers(password: Option<&str>, said: &[u8]) -> (Vec<u8>, io::Result<bool>) {
        let (mut input, mut out) = (Input::new(), Vec::new());
        let mut login = Login::begin(who(password), &mut out).unwrap();
        out.clear();
        for (at, &byte) in said.iter().enumerate() {
            input.room(1)[0] = byte;
            input.filled(1);
            match login.go_on(&mut input, &mut out) {
                Ok(is_done) => assert!(!is_done || at + 1 == said.len()),
                error => return (out, error),
            }
            if at + 1 == said.len() {
                return (out, Ok(input.bytes().is_empty()));
            }
        }
        unreachable!("a server says something")
    }

    #[test]
    fn it_says_who_asks() {
        let mut out = Vec::new();
        Login::begin(who(None), &mut out).unwrap();
        let parameters = b"user\0ann\0database\0shop\0application_name\0bayop\0\0";
        assert_eq!(out, [&(out.len() as u32).to_be_bytes()[..], &[0, 3, 0, 0], parameters].concat());
    }

    #[test]
    fn who_is_trusted_may_ask() {
        let parameter = message(b'S', b"TimeZone\0UTC\0");
        let key = message(b'K', &[0; 8]);
        let said = [authentication(0, b""), parameter, key, message(b'Z', b"I")].concat();
        let (out, is_done) = answers(None, &said);
        assert!(out.is_empty() && is_done.unwrap());
    }

    #[test]
    fn a_password_is_said_as_the_server_wants_it() {
        let (plain, _) = answers(Some("secret"), &authentication(3, b""));
        assert_eq!(plain, message(b'p', b"secret\0"));
        // md5 of md5("secretann") in hexadecimal and the salt, by md5sum(1).
        let (hashed, _) = answers(Some("secret"), &authentication(5, b"salt"));
        assert_eq!(hashed, message(b'p', b"md5b8f5ba9f485dba302ec0963f7ee9ba8f\0"));
        let (scram, _) = answers(Some("secret"), &authentication(10, b"SCRAM-SHA-256\0\0"));
        assert!(scram.starts_with(b"p") && scram[5..].starts_with(b"SCRAM-SHA-256\0"), "{}", scram.escape_ascii());
    }

    #[test]
    fn what_it_cannot_do_is_said() {
        let refusal = message(b'E', b"SFATAL\0Mno such database\0\0");
        for (password, said, why) in [
            (None, authentication(3, b""), "it asks for a password, and none is given"),
            (None, authentication(10, b"SCRAM-SHA-256\0\0"), "it asks for a password, and none is given"),
            (Some("x"), authentication(7, b""), "it wants to know by other means than a password who asks"),
            (Some("x"), authentication(10, b"OTHER\0\0"), "it wants to know by other means than a password who asks"),
            (Some("x"), authentication(11, b"r=x"), "it does not speak PostgreSQL's protocol"),
            (None, refusal, "no such database"),
            (None, message(b'E', b"\0"), "it refuses and does not say why"),
            (None, b"HTTP/1.1 400 Bad Request".to_vec(), "it does not speak PostgreSQL's protocol"),
            (None, message(b'?', b""), "it does not speak PostgreSQL's protocol"),
        ] {
            let (_, end) = answers(password, &said);
            assert_eq!(end.unwrap_err().to_string(), why);
        }
    }
}
