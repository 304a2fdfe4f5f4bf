//! How a client of PostgreSQL begins: who it is, and that it is so (PostgreSQL's documentation, "Message Flow", start-up).

use std::fmt;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
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

/// What is asked in clear before TLS begins ("SSL Session Encryption").
#[derive(Default)]
pub(crate) struct TlsRequest {
    written: usize,
}

impl TlsRequest {
    /// A length, and a number that is no version of the protocol.
    const BYTES: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

    /// Goes on with asking; true once the server is ready for TLS, and false while its word is awaited.
    ///
    /// # Errors
    /// It speaks none, or not the protocol.
    pub(crate) fn go_on(&mut self, stream: &mut TcpStream) -> io::Result<bool> {
        let later = |error: io::Error| match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(0),
            _ => Err(error),
        };
        if self.written < Self::BYTES.len() {
            self.written += stream.write(&Self::BYTES[self.written..]).or_else(later)?;
        }
        // No more than the answer: what a liar sends beside it in clear is not taken for what TLS protects.
        let mut answer = [0];
        match stream.read(&mut answer) {
            Ok(0) => Err(io::Error::new(ErrorKind::UnexpectedEof, "the server closed the connection")),
            Ok(_) => match answer {
                [b'S'] => Ok(true),
                [b'N'] => Err(io::Error::other("it speaks no TLS")),
                _ => Err(not_spoken()),
            },
            Err(error) => later(error).map(|_| false),
        }
    }
}

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
    use std::net::TcpListener;

    use super::*;

    fn who(password: Option<&str>) -> Arc<SqlQuery> {
        let text = |text: &str| text.to_owned();
        let database = Some(text("shop"));
        Arc::new(SqlQuery { texts: Vec::new(), user: text("ann"), password: password.map(text), database })
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

    /// How a request for TLS ends with a server that answers this.
    fn tls_answered(answer: &'static [u8]) -> io::Result<bool> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        stream.set_nonblocking(true).unwrap();
        let mut request = TlsRequest::default();
        assert!(!request.go_on(&mut stream).unwrap(), "nothing is answered yet");
        let (mut server, _) = listener.accept().unwrap();
        let mut asked = [0; 8];
        server.read_exact(&mut asked).unwrap();
        assert_eq!(asked, TlsRequest::BYTES);
        server.write_all(answer).unwrap();
        drop(server);
        stream.set_nonblocking(false).unwrap();
        request.go_on(&mut stream)
    }

    #[test]
    fn tls_begins_when_the_server_is_ready_for_it() {
        assert!(tls_answered(b"S").unwrap());
        for (answer, why) in [
            (&b"N"[..], "it speaks no TLS"),
            (b"E", "it does not speak PostgreSQL's protocol"),
            (b"", "the server closed the connection"),
        ] {
            assert_eq!(tls_answered(answer).unwrap_err().to_string(), why);
        }
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
