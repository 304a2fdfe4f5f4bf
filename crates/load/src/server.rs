//! Servers by their names: where they are, whether they are spoken to by TLS, and those that can't be reached.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{AlertDescription, ClientConfig, ClientConnection};

use crate::http2::{ALPN, NotHttp2, Template, templates};
use crate::login::NeedsPassword;
use crate::plan::{Dialect, Plan};
use crate::sql_query::SqlQuery;
use crate::tls::client_config;
use bayop_core::{Error, reason};

/// A server to connect to.
#[derive(Clone, Debug)]
pub struct Server {
    /// Where it is.
    pub address: SocketAddr,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// Who logs in, where the protocol begins with a login.
    pub(crate) who: Option<Arc<SqlQuery>>,
    /// What it is asked, where it speaks HTTP/2.
    pub(crate) templates: Option<Arc<[Template]>>,
}

impl Server {
    /// One that is spoken to without TLS.
    pub fn plain(address: SocketAddr) -> Self {
        Self { address, tls: None, who: None, templates: None }
    }

    /// The client's side of a new TLS connection; none where TLS is not spoken.
    ///
    /// # Errors
    /// The machine has no random numbers.
    pub fn client(&self) -> io::Result<Option<ClientConnection>> {
        let Some((config, name)) = &self.tls else { return Ok(None) };
        ClientConnection::new(config.clone(), name.clone()).map(Some).map_err(io::Error::other)
    }

    /// The error of one that does not let itself be connected to.
    pub(crate) fn no_connection(&self, error: &io::Error) -> Error {
        let failed = Error::failed(format!("cannot connect to {}: {}", self.address, reason(error)));
        if error.get_ref().is_some_and(|inner| inner.is::<NeedsPassword>()) {
            return failed.hint("--password-file FILE has it");
        }
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        if self.templates.is_some() && is_of_another_protocol(error, tls) {
            return failed.hint("--protocol http is HTTP/1.1");
        }
        match tls {
            Some(rustls::Error::InvalidCertificate(_)) => {
                failed.hint("--cacert FILE says who may have signed its certificate; --insecure does not look at it")
            }
            Some(_) => failed.hint("--tls must be left out where the server does not speak TLS"),
            None => failed,
        }
    }
}

/// Whether a server that was spoken to in HTTP/2 does not understand it, as far as it says so: some just hang up.
fn is_of_another_protocol(error: &io::Error, tls: Option<&rustls::Error>) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NotHttp2>())
        || matches!(tls, Some(rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)))
        || matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof)
}

/// The servers of a plan.
///
/// # Errors
/// A name is unknown or has no port, or nobody can be trusted by the plan's authorities.
pub(crate) fn resolve(plan: &Plan) -> Result<Vec<Server>, Error> {
    let templates = templates(plan)?;
    let applications = if templates.is_some() { vec![ALPN.to_vec()] } else { Vec::new() };
    let config = plan.tls.as_ref().map(|tls| client_config(tls, applications)).transpose()?;
    let who = (plan.dialect == Dialect::Postgresql).then(|| Arc::new(plan.workload.sql.clone()));
    let server = |text: &String| {
        let unknown = |why: String| {
            Error::input(format!("cannot find the server {text}: {why}"))
                .at("servers")
                .hint("HOST:PORT, such as web1:11211")
        };
        let mut addresses = text.to_socket_addrs().map_err(|error| unknown(reason(&error)))?;
        let address = addresses.next().ok_or_else(|| unknown("it has no address".to_owned()))?;
        let tls = config.clone().map(|config| {
            let host = text.rsplit_once(':').map_or(text.as_str(), |(host, _)| host);
            let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            let name = ServerName::try_from(host).map_err(|error| unknown(error.to_string()))?;
            Ok::<_, Error>((config, name))
        });
        Ok(Server { address, tls: tls.transpose()?, who: who.clone(), templates: templates.clone() })
    };
    plan.servers.iter().map(server).collect()
}
