//! Servers by their names, and those that can't be reached.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

use bayop_core::{Error, reason};

/// The error of a server that does not let itself be connected to.
pub(crate) fn no_connection(server: SocketAddr, error: &io::Error) -> Error {
    Error::failed(format!("cannot connect to {server}: {}", reason(error)))
}

/// Addresses of `host:port` each.
///
/// # Errors
/// A name is unknown or has no port.
pub(crate) fn resolve(servers: &[String]) -> Result<Vec<SocketAddr>, Error> {
    let address = |server: &String| {
        let unknown = |why: String| {
            Error::input(format!("cannot find the server {server}: {why}"))
                .rule("it must be host:port")
                .at("servers")
                .hint("127.0.0.1:11211")
        };
        let mut addresses = server.to_socket_addrs().map_err(|error| unknown(reason(&error)))?;
        addresses.next().ok_or_else(|| unknown("it has no address".to_owned()))
    };
    servers.iter().map(address).collect()
}
