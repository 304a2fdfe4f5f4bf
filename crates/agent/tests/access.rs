//! Who gets in: the group of the socket, and holders of a certificate.

mod common;
#[path = "../../knobs/tests/needs/mod.rs"]
mod needs;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use common::{Machine, answer};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, CertificateRevocationListParams, DnType, IsCa, KeyIdMethod,
    KeyPair, KeyUsagePurpose, PKCS_ED25519, RevokedCertParams, SerialNumber, date_time_ymd,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;

/// What a Python program does when somebody else runs it with the machine's socket and `arguments`.
fn python_as(uid: u32, gid: u32, program: &str, machine: &Machine, arguments: &[&str]) -> Output {
    let mut python = Command::new("python3");
    python.args(["-c", program]).arg(machine.socket()).args(arguments);
    python.uid(uid).gid(gid).current_dir("/").output().unwrap()
}

#[test]
fn only_root_and_the_group_may_use_the_socket() {
    let config = "group = \"nogroup\"\n";
    let machine = Machine::with_config(config);
    let Some(group) = nix::unistd::Group::from_name("nogroup").unwrap() else {
        return needs::unsupported("this system has no group nogroup");
    };
    if !needs::has_root() {
        return;
    }
    let agent = machine.serve();
    // It answers once the socket belongs to the group; root may connect before.
    agent.get("/v1/status");
    let metadata = fs::metadata(machine.socket()).unwrap();
    assert_eq!((metadata.mode() & 0o7777, metadata.gid()), (0o660, group.gid.as_raw()));
    let connects = |gid: u32| {
        let program = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
        let output = python_as(65_533, gid, program, &machine, &[]);
        assert!(output.status.success() || String::from_utf8_lossy(&output.stderr).contains("PermissionError"));
        output.status.success()
    };
    assert!(connects(group.gid.as_raw()), "a member of the group is let in");
    assert!(!connects(12_345), "a stranger is not");
}

#[test]
fn a_socket_is_only_made_in_a_safe_folder_and_never_in_place_of_something_else() {
    let machine = Machine::new();
    fs::set_permissions(machine.path("run"), fs::Permissions::from_mode(0o777)).unwrap();
    let refused = machine.run("serve", &[]);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    assert!(String::from_utf8(refused.stderr).unwrap().contains("chmod go-w"));
    fs::set_permissions(machine.path("run"), fs::Permissions::from_mode(0o755)).unwrap();

    fs::write(machine.socket(), "a file").unwrap();
    assert_eq!(machine.run("serve", &[]).status.code(), Some(4));
    assert_eq!(fs::read_to_string(machine.socket()).unwrap(), "a file");
    fs::remove_file(machine.socket()).unwrap();

    // A killed agent leaves its socket; the next one replaces it.
    machine.serve().kill();
    assert!(machine.socket().exists());
    assert_eq!(machine.serve().stop(), Some(0));
    assert!(!machine.socket().exists());
}

/// A certificate authority and what it signs.
struct Authority {
    certificate: Certificate,
    key: KeyPair,
}

impl Authority {
    fn new() -> Self {
        Self::with_key(KeyPair::generate().unwrap())
    }

    fn with_key(key: KeyPair) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        Self { certificate: params.self_signed(&key).unwrap(), key }
    }

    /// An authority of that name.
    fn named(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        Self { certificate: Self::params(name).self_signed(&key).unwrap(), key }
    }

    /// One of that name that this one vouches for.
    fn intermediate(&self, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        Self { certificate: Self::params(name).signed_by(&key, &self.certificate, &self.key).unwrap(), key }
    }

    fn params(name: &str) -> CertificateParams {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params
    }

    /// The list of what it has taken back, PEM.
    fn revoked(&self, certificates: &[&Certificate]) -> String {
        let revoked = |certificate: &&Certificate| RevokedCertParams {
            serial_number: certificate.params().serial_number.clone().unwrap(),
            revocation_time: date_time_ymd(2020, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(2100, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: certificates.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.certificate, &self.key).unwrap().pem().unwrap()
    }

    fn sign(&self, name: &str) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.serial_number = Some(name.bytes().collect::<Vec<_>>().into());
        (params.signed_by(&key, &self.certificate, &self.key).unwrap(), key)
    }
}

/// A machine that serves TCP at a port, with an authority for both sides, and `config` besides.
fn serving_tcp(config: &str) -> (Machine, u16, Authority) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let files = "certificate = \"FOLDER/agent.pem\"\nkey = \"FOLDER/agent.key\"\nclient_ca = \"FOLDER/clients.pem\"\n";
    let machine = Machine::with_config(&format!("[tls]\nlisten = \"127.0.0.1:{port}\"\n{files}{config}"));
    let authority = Authority::new();
    let (certificate, key) = authority.sign("agent.test");
    fs::write(machine.path("agent.pem"), certificate.pem()).unwrap();
    fs::write(machine.path("agent.key"), key.serialize_pem()).unwrap();
    fs::write(machine.path("clients.pem"), authority.certificate.pem()).unwrap();
    (machine, port, authority)
}

/// A GET over TLS as a client with that certificate; none when it gets no answer.
fn get(port: u16, server: &Authority, client: Option<&(Certificate, KeyPair)>) -> Option<u16> {
    get_through(port, server, client, &[])
}

/// The same, with the certificates of intermediate authorities.
fn get_through(
    port: u16,
    server: &Authority,
    client: Option<&(Certificate, KeyPair)>,
    through: &[&Authority],
) -> Option<u16> {
    let mut roots = RootCertStore::empty();
    roots.add(server.certificate.der().clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match client {
        Some((certificate, key)) => {
            let through = through.iter().map(|authority| &authority.certificate);
            let chain: Vec<CertificateDer> =
                std::iter::once(certificate).chain(through).map(|each| each.der().clone()).collect();
            builder.with_client_auth_cert(chain, PrivateKeyDer::try_from(key.serialize_der()).unwrap()).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    let name = ServerName::try_from("agent.test").unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(("127.0.0.1", port)).unwrap());
    stream.write_all(b"GET /v1/status HTTP/1.1\r\nhost: agent.test\r\nconnection: close\r\n\r\n").ok()?;
    answer(stream).map(|(status, _)| status)
}

#[test]
fn tcp_is_for_holders_of_a_certificate() {
    let (machine, port, authority) = serving_tcp("");
    let stranger = Authority::new();
    let agent = machine.serve();

    assert_eq!(get(port, &authority, Some(&authority.sign("brain.test"))), Some(200));
    assert_eq!(get(port, &authority, None), None, "no certificate");
    assert_eq!(get(port, &authority, Some(&stranger.sign("brain.test"))), None, "another authority's certificate");

    let mut plain = TcpStream::connect(("127.0.0.1", port)).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    plain.write_all(b"GET /v1/status HTTP/1.1\r\nhost: agent.test\r\n\r\n").unwrap();
    let mut answered = Vec::new();
    let _ = plain.read_to_end(&mut answered);
    assert!(!String::from_utf8_lossy(&answered).contains("HTTP/"), "plain HTTP is not answered");

    agent.get("/v1/status");
    assert_eq!(machine.log().matches("event=tls_refused").count(), 3, "{}", machine.log());
}

#[test]
fn a_revoked_certificate_is_none() {
    let (machine, port, authority) = serving_tcp("revoked = \"FOLDER/revoked.pem\"\n");
    let (thief, brain) = (authority.sign("thief.test"), authority.sign("brain.test"));
    fs::write(machine.path("revoked.pem"), authority.revoked(&[&thief.0])).unwrap();
    let agent = machine.serve();
    assert_eq!(get(port, &authority, Some(&brain)), Some(200));
    assert_eq!(get(port, &authority, Some(&thief)), None);
    agent.get("/v1/status");
    assert!(machine.log().contains("event=tls_refused"));
}

#[test]
fn a_list_that_no_authority_has_signed_is_refused() {
    const ECDSA_WITH_SHA256: [u8; 8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
    let (machine, _, authority) = serving_tcp("revoked = \"FOLDER/revoked.pem\"\n");
    let thief = authority.sign("thief.test").0;
    let (namesake, other) = (Authority::new(), Authority::named("another authority"));
    let own = authority.revoked(&[&thief]);
    let said = |lists: &str| {
        fs::write(machine.path("revoked.pem"), lists).unwrap();
        let checked = machine.run("check-config", &[]);
        (checked.status.code(), String::from_utf8(checked.stderr).unwrap())
    };
    for lists in [namesake.revoked(&[&thief]), own.clone() + &namesake.revoked(&[])] {
        let (code, message) = said(&lists);
        assert_eq!(code, Some(2), "{message}");
        let wrong = "revoked.pem as tls.revoked: it has a list of somebody else; the certificate of tls.client_ca that a \
            list names must have signed it";
        assert!(message.contains(wrong), "{message}");
        assert_eq!(machine.run("serve", &[]).status.code(), Some(2));
    }
    // A flipped bit in the name of what it is signed with, ECDSA with SHA-256 (RFC 5758, section 3.2), at both places.
    let mut der = CertificateRevocationListDer::from_pem_slice(own.as_bytes()).unwrap().to_vec();
    let found = |der: &[u8]| der.windows(8).rposition(|bytes| bytes == ECDSA_WITH_SHA256);
    while let Some(at) = found(&der) {
        der[at + 7] = 0x01;
    }
    fs::write(machine.path("list.der"), der).unwrap();
    let pem = Command::new("openssl").args(["crl", "-inform", "DER", "-in"]).arg(machine.path("list.der")).output();
    let (code, message) = said(&String::from_utf8(pem.unwrap().stdout).unwrap());
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("it has a list with a signature of an unknown kind; lists must be signed"), "{message}");
    assert_eq!(said(&own), (Some(0), String::new()));
    // Any of several authorities, with a key of any kind.
    let third = Authority::with_key(KeyPair::generate_for(&PKCS_ED25519).unwrap());
    let authorities = [&authority, &other, &third].map(|authority| authority.certificate.pem()).concat();
    fs::write(machine.path("clients.pem"), authorities).unwrap();
    assert_eq!(said(&(own.clone() + &other.revoked(&[]) + &third.revoked(&[]))), (Some(0), String::new()));
    assert_eq!(said(&namesake.revoked(&[])).0, Some(2));
}

#[test]
fn a_list_of_an_intermediate_counts_for_clients_who_send_it() {
    let (machine, port, authority) = serving_tcp("revoked = \"FOLDER/revoked.pem\"\n");
    let intermediate = authority.intermediate("intermediate");
    let (thief, brain) = (intermediate.sign("thief.test"), intermediate.sign("brain.test"));
    fs::write(machine.path("revoked.pem"), intermediate.revoked(&[&thief.0])).unwrap();
    let warning = "warning: tls.revoked has a list of an issuer that is not in tls.client_ca: it counts only for clients \
        who send that intermediate (";
    let checked = machine.run("check-config", &[]);
    assert_eq!(checked.status.code(), Some(0));
    assert!(String::from_utf8(checked.stderr).unwrap().starts_with(warning));
    let _agent = machine.serve();
    assert_eq!(get_through(port, &authority, Some(&brain), &[&intermediate]), Some(200));
    assert_eq!(get_through(port, &authority, Some(&thief), &[&intermediate]), None);
    assert_eq!(get(port, &authority, Some(&brain)), None, "nobody knows the intermediate");
    assert!(machine.log().contains(warning), "{}", machine.log());
}

#[test]
fn who_asks_is_logged_and_may_do_what_the_roles_say() {
    let roles = "[roles]\nobserve = [\"certificate:brain.test\"]\napply = []\nrestore = [\"user:nobody\"]\n";
    let (machine, port, authority) = serving_tcp(roles);
    let agent = machine.serve();
    assert_eq!(get(port, &authority, Some(&authority.sign("brain.test"))), Some(200));
    assert_eq!(get(port, &authority, Some(&authority.sign("other.test"))), Some(403));
    if !needs::has_root() {
        return;
    }
    // root may everything, and is named.
    agent.post("/v1/lease", json!({"holder": "somebody else", "ttl_s": 60}));
    let granted = "event=lease_granted holder=\"somebody else\" ttl_s=60 by=user:root\n";
    assert!(machine.log().contains(granted), "{}", machine.log());
    agent.post("/v1/restore", json!({}));
    // Who is refused may be answered before all is sent.
    let request = "
import contextlib, http.client, socket, sys
path, method, url, body = sys.argv[1:]
connection = http.client.HTTPConnection('agent')
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(path)
with contextlib.suppress(BrokenPipeError):
    connection.request(method, url, body)
print(connection.getresponse().status, end='')
";
    for (path, status) in [("/v1/status", "403"), ("/v1/lease", "403"), ("/v1/restore", "200")] {
        fs::set_permissions(machine.socket(), fs::Permissions::from_mode(0o666)).unwrap();
        let method = if path == "/v1/status" { "GET" } else { "POST" };
        let body = if path == "/v1/lease" { r#"{"holder":"root","ttl_s":60}"# } else { "{}" };
        let answered = python_as(65_534, 65_534, request, &machine, &[method, path, body]);
        assert_eq!(String::from_utf8_lossy(&answered.stdout), status, "{path}: {answered:?}");
    }
    assert!(machine.log().contains("reason=\"request of user:root\"") || !machine.log().contains("event=restored"));
}

#[test]
fn silent_strangers_keep_nobody_out() {
    let (machine, port, authority) = serving_tcp("");
    let agent = machine.serve();
    let strangers: Vec<_> = (0..100).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    let start = std::time::Instant::now();
    assert_eq!(get(port, &authority, Some(&authority.sign("brain.test"))), Some(200));
    agent.get("/v1/status");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    drop(strangers);
}

#[test]
fn a_state_folder_that_somebody_could_lead_elsewhere_is_refused() {
    if !needs::has_root() {
        return;
    }
    let machine = Machine::new();
    let (theirs, roots) = (machine.path("theirs"), machine.path("roots"));
    fs::create_dir(&theirs).unwrap();
    fs::create_dir(&roots).unwrap();
    fs::set_permissions(&roots, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(roots.join("journal.new"), "root's own").unwrap();
    std::os::unix::fs::symlink(&roots, theirs.join("state")).unwrap();
    std::os::unix::fs::lchown(theirs.join("state"), Some(65_533), None).unwrap();
    let config = fs::read_to_string(machine.path("agent.toml")).unwrap();
    let elsewhere = config.replace(machine.path("state").to_str().unwrap(), theirs.join("state").to_str().unwrap());
    fs::write(machine.path("agent.toml"), elsewhere).unwrap();
    for (what, hint) in
        [("a link of theirs", "theirs/state"), ("a folder of theirs", "theirs"), ("one they may write", "theirs")]
    {
        let refused = machine.run("serve", &[]);
        let message = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(4), "{what}: {message}");
        assert!(message.contains(hint), "{what}: {message}");
        if what == "a link of theirs" {
            std::os::unix::fs::lchown(theirs.join("state"), Some(0), None).unwrap();
            std::os::unix::fs::chown(&theirs, Some(65_533), None).unwrap();
        } else {
            std::os::unix::fs::chown(&theirs, Some(0), None).unwrap();
            fs::set_permissions(&theirs, fs::Permissions::from_mode(0o777)).unwrap();
        }
    }
    assert_eq!(fs::read_to_string(roots.join("journal.new")).unwrap(), "root's own");
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&roots, fs::Permissions::from_mode(0o1777)).unwrap();
    let refused = machine.run("serve", &[]);
    assert_eq!(refused.status.code(), Some(4), "a folder in which everybody may write: {refused:?}");
}

#[test]
fn a_lock_that_others_could_take_is_closed_to_them() {
    let machine = Machine::new();
    let lock = machine.path("state/lock");
    for before in [None, Some(0o644)] {
        if let Some(mode) = before {
            fs::set_permissions(&lock, fs::Permissions::from_mode(mode)).unwrap();
        }
        let restore = machine.command("restore");
        let mut loose = Command::new("sh");
        loose.args(["-c", "umask 022 && exec \"$0\" \"$@\""]).arg(restore.get_program()).args(restore.get_args());
        assert!(loose.output().unwrap().status.success());
        assert_eq!(fs::metadata(&lock).unwrap().mode() & 0o7777, 0o600, "{before:?}");
    }
}

#[test]
fn a_key_that_the_service_can_not_use_is_found_by_check_config() {
    let tls = "certificate = \"FOLDER/agent.pem\"\nkey = \"FOLDER/agent.key\"\nclient_ca = \"FOLDER/clients.pem\"\n";
    let machine = Machine::with_config(&format!("[tls]\nlisten = \"127.0.0.1:0\"\n{tls}"));
    let authority = Authority::new();
    let (certificate, key) = authority.sign("agent.test");
    fs::write(machine.path("agent.pem"), certificate.pem()).unwrap();
    fs::write(machine.path("clients.pem"), authority.certificate.pem()).unwrap();
    let said = || {
        let checked = machine.run("check-config", &[]);
        (checked.status.code(), String::from_utf8(checked.stderr).unwrap())
    };
    let refused = |words: &[&str]| {
        let (code, message) = said();
        assert_eq!(code, Some(2), "{message}");
        assert!(words.iter().all(|word| message.contains(word)), "{words:?}: {message}");
    };
    refused(&["error: cannot read ", "agent.key: no such file (tls.key)"]);
    fs::write(machine.path("agent.key"), "not a key").unwrap();
    refused(&["agent.key as tls.key", "it must be a PEM file"]);
    fs::write(machine.path("agent.key"), authority.sign("other.test").1.serialize_pem()).unwrap();
    refused(&["agent.key", "tls.key is not the key of tls.certificate"]);
    fs::write(machine.path("agent.key"), key.serialize_pem()).unwrap();
    assert_eq!(said().0, Some(0), "{}", said().1);
    // The hardened service is a root whom a file's mode binds.
    fs::set_permissions(machine.path("agent.key"), fs::Permissions::from_mode(0o000)).unwrap();
    refused(&["agent.key", "mode 0000", "chmod 0600"]);
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(machine.path("agent.key"), Some(65_533), None).unwrap();
        fs::set_permissions(machine.path("agent.key"), fs::Permissions::from_mode(0o600)).unwrap();
        refused(&["mode 0600 and belongs to user 65533", "chown root"]);
    }
}

#[test]
fn tcp_without_its_files_is_refused() {
    let tls = "[tls]\nlisten = \"127.0.0.1:0\"\ncertificate = \"/absent/a.pem\"\nkey = \"/absent/a.key\"\n";
    for (config, word) in
        [(tls.to_owned(), "mutual TLS"), (format!("{tls}client_ca = \"/absent/c.pem\"\n"), "tls.client_ca")]
    {
        let refused = Machine::with_config(&config).run("serve", &[]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(String::from_utf8(refused.stderr).unwrap().contains(word));
    }
}
