//! A connection, what its service remembers of it, and whose it is.

use crate::tcp::Connection;

#[derive(Debug)]
pub(super) struct Entry<Session> {
    pub connection: Connection,
    pub session: Session,
    /// The service knows of it, and it is not one too many.
    pub is_open: bool,
    /// Other cores find it by the exchange.
    pub is_listed: bool,
    /// The core by whose queue its SYN came.
    pub home: usize,
}
