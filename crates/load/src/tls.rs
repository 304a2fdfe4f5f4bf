//! TLS 1.2 and 1.3 on the client's side (RFC 8446, by rustls): requests become records, and records answers.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};
use serde::{Deserialize, Serialize};

use crate::input::Input;
use crate::received::{self, Received, closed};
use bayop_core::Error;

/// Bytes of records that are read at once: the longest record fits nearly.
const READ_BYTES: usize = 16 * 1024;

/// That servers are spoken to by TLS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// Certificates in PEM of who may have signed a server's; none: a server's certificate is not looked at.
    pub authorities: Option<String>,
}

/// What all connections of a run share, and by which a later handshake resumes an earlier one's session.
///
/// `applications` are the protocols that are spoken inside (RFC 7301); none leaves it open.
///
/// # Errors
/// There is no certificate among the authorities, or one that is none.
pub(crate) fn client_config(tls: &Tls, applications: Vec<Vec<u8>>) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("the provider has both versions");
    let mut config = match &tls.authorities {
        Some(pem) => builder.with_root_certificates(authorities(pem)?).with_no_client_auth(),
        None => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth(),
    };
    config.alpn_protocols = applications;
    Ok(Arc::new(config))
}

fn authorities(pem: &str) -> Result<RootCertStore, Error> {
    let refused = |why: String| {
        Error::input(format!("cannot trust by these authorities: {why}"))
            .rule("they must be certificates in PEM")
            .at("authorities")
    };
    let certificates = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| refused(error.to_string()))?;
    let mut store = RootCertStore::empty();
    // A system's bundle has some that no longer are what they should be; one that is left is enough.
    let (added, ignored) = store.add_parsable_certificates(certificates);
    match (added, ignored) {
        (0, 0) => Err(refused("there is none".to_owned())),
        (0, _) => Err(refused("none of them can be read".to_owned())),
        _ => Ok(store),
    }
}

/// A connection's state.
pub(crate) struct Session(ClientConnection);

impl Session {
    /// Before the first byte.
    pub(crate) fn new(mut client: ClientConnection) -> Self {
        // The plan says how much may be under way.
        client.set_buffer_limit(None);
        Self(client)
    }

    /// Goes on with the handshake, and reads once at most; true once it is done, and false when the server's next word
    /// is awaited.
    pub(crate) fn shake_hands(&mut self, stream: &mut TcpStream, input: &mut Input) -> io::Result<bool> {
        let (_, mut all) = self.send(stream, &mut Vec::new())?;
        if self.0.is_handshaking() {
            self.receive(stream, input)?;
            (_, all) = self.send(stream, &mut Vec::new())?;
        }
        Ok(all && !self.0.is_handshaking())
    }

    /// The protocol inside that the server has chosen.
    pub(crate) fn application(&self) -> Option<&[u8]> {
        self.0.alpn_protocol()
    }

    /// Whether bytes wait to be written.
    pub(crate) fn has_output(&self) -> bool {
        self.0.wants_write()
    }

    /// Takes all of `out`, and writes what the socket takes: how many bytes, and whether nothing is left.
    pub(crate) fn send(&mut self, stream: &mut TcpStream, out: &mut Vec<u8>) -> io::Result<(usize, bool)> {
        if !out.is_empty() {
            self.0.writer().write_all(out)?;
            out.clear();
        }
        let mut written = 0;
        while self.0.wants_write() {
            match self.0.write_tls(stream) {
                Ok(bytes) => written += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok((written, false)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok((written, true))
    }

    /// Reads once, and appends what the records hold to the input.
    pub(crate) fn receive(&mut self, stream: &mut TcpStream, input: &mut Input) -> io::Result<Received> {
        let mut sealed = [0; READ_BYTES];
        let received = received::read(stream, &mut sealed)?;
        let mut rest = &sealed[..received.bytes];
        while !rest.is_empty() {
            self.0.read_tls(&mut rest)?;
            let state = match self.0.process_new_packets() {
                Ok(state) => state,
                Err(error) => {
                    // The alert tells the server why; whether it leaves does not matter.
                    let _ = self.0.write_tls(stream);
                    return Err(io::Error::new(ErrorKind::InvalidData, error));
                }
            };
            let plain = state.plaintext_bytes_to_read();
            if plain == 0 && state.peer_has_closed() {
                return Err(closed());
            }
            self.0.reader().read_exact(&mut input.room(plain)[..plain])?;
            input.filled(plain);
        }
        Ok(received)
    }
}

/// Believes in every certificate, but not that a server holds the key of one whose signature is wrong.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
