//! TCP with mutual TLS: a client without a certificate of the configured authority gets nothing.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use ring::digest;
use rustls::RootCertStore;
use rustls::crypto::ring as provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, pem};
use rustls::server::WebPkiClientVerifier;
use rustls::{ServerConfig, ServerConnection, version::TLS13};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use webpki::{BorrowedCertRevocationList, EndEntityCert};

use super::crl::Signer;
use crate::config::Tls;
use crate::peer::Peer;
use crate::{files, log};
use bayop_core::{Error, Result, reason};

/// TLS 1.3 with the configured certificate, for clients that the configured authority signed.
///
/// # Errors
/// A file can't be read or is not what it should be.
pub fn acceptor(files: &Tls) -> Result<TlsAcceptor> {
    let provider = Arc::new(provider::default_provider());
    let mut authorities = RootCertStore::empty();
    for certificate in certificates(&files.client_ca, "tls.client_ca")? {
        authorities.add(certificate).map_err(|error| refused("tls.client_ca", &files.client_ca, &error))?;
    }
    let revoked = files.revoked.as_ref().map_or(Ok(Vec::new()), |path| revocations(path, &authorities))?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(authorities), provider.clone())
        .with_crls(revoked)
        .allow_unknown_revocation_status()
        .build()
        .map_err(|error| refused("tls.client_ca", &files.client_ca, &error))?;
    let key = PrivateKeyDer::from_pem_slice(&contents(&files.key, "tls.key")?);
    let key = key.map_err(|error| refused("tls.key", &files.key, &error))?;
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .expect("the provider has TLS 1.3")
        .with_client_cert_verifier(verifier)
        .with_single_cert(certificates(&files.certificate, "tls.certificate")?, key)
        .map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => Error::input("tls.key is not the key of tls.certificate")
                .at(files.key.display())
                .hint("openssl pkey -pubout and openssl x509 -pubkey print the same for a pair"),
            error => refused("tls.certificate", &files.certificate, &error),
        })?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Listens at the configured address.
///
/// # Errors
/// It is in use or not this machine's.
pub async fn listen(files: &Tls) -> Result<TcpListener> {
    TcpListener::bind(files.listen).await.map_err(|error| {
        Error::unsupported(format!("cannot listen at {}: {}", files.listen, reason(&error))).at("tls.listen")
    })
}

/// The bytes of a file, unless the service can't read it. It is root without CAP_DAC_OVERRIDE: a file's mode binds it,
/// also where it does not bind the root who runs `check-config`.
fn contents(path: &Path, key: &str) -> Result<Vec<u8>> {
    let unreadable = |error| Error::unreadable(path, &error).at(key);
    let metadata = fs::metadata(path).map_err(unreadable)?;
    let is_own = metadata.uid() == nix::unistd::geteuid().as_raw();
    if !(metadata.mode() & 0o004 != 0 || is_own && metadata.mode() & 0o400 != 0) {
        let (mode, user) = (metadata.mode() & 0o7777, metadata.uid());
        return Err(Error::input(format!("{} has mode {mode:04o} and belongs to user {user}", path.display()))
            .rule("the agent must be able to read it without root's privileges")
            .at(key)
            .hint(format!("chown root {0}; chmod 0600 {0}", path.display())));
    }
    files::read(path).map_err(unreadable)
}

fn certificates(path: &Path, key: &str) -> Result<Vec<CertificateDer<'static>>> {
    let pem = contents(path, key)?;
    let read = CertificateDer::pem_slice_iter(&pem).collect::<std::result::Result<Vec<_>, _>>();
    let certificates = read.map_err(|error| refused(key, path, &error))?;
    if certificates.is_empty() {
        return Err(refused(key, path, &pem::Error::NoItemsFound));
    }
    Ok(certificates)
}

/// The lists of a file. One that has an authority's name and not its signature revokes nothing; one of another name does
/// where that is an intermediate authority of which a client has sent the certificate.
fn revocations(path: &Path, authorities: &RootCertStore) -> Result<Vec<CertificateRevocationListDer<'static>>> {
    const KEY: &str = "tls.revoked";
    let pem = contents(path, KEY)?;
    let lists = CertificateRevocationListDer::pem_slice_iter(&pem).collect::<std::result::Result<Vec<_>, _>>();
    let lists = lists.map_err(|error| refused(KEY, path, &error))?;
    if lists.is_empty() {
        return Err(refused(KEY, path, &pem::Error::NoItemsFound));
    }
    for list in &lists {
        BorrowedCertRevocationList::from_der(list).map_err(|error| refused(KEY, path, &error))?;
        let wrong = |why: &str| Error::input(format!("cannot use {} as {KEY}: {why}", path.display()));
        match Signer::of(list, &authorities.roots) {
            Signer::Authority => {}
            Signer::Other => log::say(format_args!(
                "warning: {KEY} has a list of an issuer that is not in tls.client_ca: it counts only for clients who send \
                 that intermediate ({})",
                path.display()
            )),
            Signer::Namesake => {
                return Err(wrong("it has a list of somebody else")
                    .rule("the certificate of tls.client_ca that a list names must have signed it")
                    .hint("openssl crl -noout -CAfile says whether it has"));
            }
            Signer::Unknown => {
                return Err(wrong("it has a list with a signature of an unknown kind")
                    .rule("lists must be signed with Ed25519, ECDSA, or RSA of 2048 bits or more, and SHA-2")
                    .hint("openssl crl -noout -text says with what"));
            }
        }
    }
    Ok(lists)
}

/// Who holds the certificate that a client has proved to be its own.
pub fn peer(connection: &ServerConnection) -> Peer {
    let certificate = connection.peer_certificates().and_then(<[_]>::first).expect("the verifier asks for one");
    let parsed = EndEntityCert::try_from(certificate).expect("the verifier has read it");
    let name = parsed.valid_dns_names().next().map(str::to_owned);
    Peer::Certificate(name.unwrap_or_else(|| {
        let digest = digest::digest(&digest::SHA256, certificate);
        let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256:{hex}")
    }))
}

fn refused(key: &str, path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::input(format!("cannot use {} as {key}: {error}", path.display())).rule("it must be a PEM file")
}
