//! Who asks, and what they may.

use std::fmt;

use nix::unistd::{Uid, User};
use serde::Deserialize;

use bayop_core::{Error, Result};

/// Who is at the other end of a connection, as the kernel or their certificate says it: not what they call themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// A user of this machine, by the Unix socket (SO_PEERCRED, unix(7)).
    User(Uid),
    /// The holder of a certificate, by its first DNS name, or else by `sha256:` and its digest.
    Certificate(String),
}

impl fmt::Display for Peer {
    /// As the configuration names them: `user:alice`, `user:1000` where the number has no name,
    /// `certificate:brain.example`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(uid) => match User::from_uid(*uid) {
                Ok(Some(user)) => write!(f, "user:{}", user.name),
                _ => write!(f, "user:{uid}"),
            },
            Self::Certificate(name) => write!(f, "certificate:{name}"),
        }
    }
}

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Read what the machine shows.
    Observe,
    /// Take the lease, and apply and calibrate under it.
    Apply,
    /// Put everything back, whoever holds the lease.
    Restore,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Apply => "apply",
            Self::Restore => "restore",
        }
    }
}

/// Who has which role: peers as they are logged, or `*`. A role that nobody is named for is everybody's who may connect.
/// root has every role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Roles {
    observe: Option<Vec<String>>,
    apply: Option<Vec<String>>,
    restore: Option<Vec<String>>,
}

impl Roles {
    /// Refuses a name that can be nobody's.
    ///
    /// # Errors
    /// It does not say of what kind it is.
    pub fn check(&self) -> Result<()> {
        let names = [&self.observe, &self.apply, &self.restore].into_iter().flatten().flatten();
        let is_name = |name: &str| {
            let (kind, name) = name.split_once(':').unwrap_or_default();
            ["user", "certificate"].contains(&kind) && !name.is_empty()
        };
        match names.into_iter().find(|name| *name != "*" && !is_name(name)) {
            Some(name) => Err(Error::cannot_use(name, "a peer must be user:NAME, certificate:NAME or *")),
            None => Ok(()),
        }
    }

    /// Refuses who has not the role.
    ///
    /// # Errors
    /// The configuration names others for it.
    pub fn allow(&self, peer: &Peer, role: Role) -> Result<()> {
        let named = match role {
            Role::Observe => &self.observe,
            Role::Apply => &self.apply,
            Role::Restore => &self.restore,
        };
        let is_named = |names: &Vec<String>| names.iter().any(|name| *name == "*" || *name == peer.to_string());
        if *peer == Peer::User(Uid::from_raw(0)) || named.as_ref().is_none_or(is_named) {
            return Ok(());
        }
        Err(Error::forbidden(format!("{peer} has not the role {}", role.name()))
            .value(peer)
            .hint(format!("add it to {} in [roles] of the agent's configuration", role.name())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(text: &str) -> Roles {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_role_is_of_those_who_are_named_and_of_root() {
        let roles = roles("apply = ['certificate:brain', 'user:65533']\nrestore = []");
        let peers =
            [Peer::Certificate("brain".into()), Peer::User(Uid::from_raw(65_533)), Peer::User(Uid::from_raw(0))];
        let [brain, user, root] = &peers;
        let stranger = Peer::Certificate("stranger".into());
        for (peer, role, allowed) in [
            (brain, Role::Apply, true),
            (user, Role::Apply, true),
            (&stranger, Role::Apply, false),
            (&stranger, Role::Observe, true),
            (brain, Role::Restore, false),
            (root, Role::Restore, true),
        ] {
            assert_eq!(roles.allow(peer, role).is_ok(), allowed, "{peer} {role:?}");
        }
    }

    #[test]
    fn a_name_says_whose_it_is() {
        assert!(roles("apply = ['*', 'user:alice', 'certificate:sha256:00']").check().is_ok());
        for wrong in ["alice", "group:wheel", "user:", ":alice", ""] {
            assert!(roles(&format!("apply = ['{wrong}']")).check().is_err(), "{wrong}");
        }
    }
}
