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
    /// Say what clients see.
    Push,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Apply => "apply",
            Self::Restore => "restore",
            Self::Push => "push",
        }
    }
}

/// Who has which role: peers as they are logged, or `*`. A role that is `*` or left out is everybody's who may connect,
/// but theirs who are named for `push` alone. root has every role.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Roles {
    observe: Option<Vec<String>>,
    apply: Option<Vec<String>>,
    restore: Option<Vec<String>>,
    push: Option<Vec<String>>,
}

impl Roles {
    /// Refuses a name that can be nobody's.
    ///
    /// # Errors
    /// It does not say of what kind it is.
    pub fn check(&self) -> Result<()> {
        let names = [&self.observe, &self.apply, &self.restore, &self.push].into_iter().flatten().flatten();
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
            Role::Push => &self.push,
        };
        let name = peer.to_string();
        let is_named = named.iter().flatten().any(|named| *named == name);
        let is_everybodys = named.as_ref().is_none_or(|names| names.iter().any(|named| named == "*"));
        let is_allowed = is_named || is_everybodys && (role == Role::Push || !self.only_pushes(&name));
        if *peer == Peer::User(Uid::from_raw(0)) || is_allowed {
            return Ok(());
        }
        Err(Error::forbidden(format!("{peer} has not the role {}", role.name()))
            .value(peer)
            .hint(format!("add it to {} in [roles] of the agent's configuration", role.name())))
    }

    /// Whether users of this machine are named for the role `push`, who need not be in the socket's group.
    pub fn has_local_pushers(&self) -> bool {
        self.push.iter().flatten().any(|named| named == "*" || named.starts_with("user:"))
    }

    fn only_pushes(&self, name: &str) -> bool {
        let has = |names: &Option<Vec<String>>| names.iter().flatten().any(|named| named == name);
        has(&self.push) && ![&self.observe, &self.apply, &self.restore].into_iter().any(has)
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
    fn who_is_named_for_pushing_alone_does_nothing_else() {
        let roles = roles("apply = ['certificate:brain']\npush = ['certificate:brain', 'certificate:pusher']");
        let [brain, pusher, other] = ["brain", "pusher", "other"].map(|name| Peer::Certificate(name.to_owned()));
        for (peer, allowed) in [
            (&brain, vec![Role::Observe, Role::Apply, Role::Restore, Role::Push]),
            (&pusher, vec![Role::Push]),
            (&other, vec![Role::Observe, Role::Restore]),
        ] {
            let all = [Role::Observe, Role::Apply, Role::Restore, Role::Push];
            let found: Vec<_> = all.into_iter().filter(|role| roles.allow(peer, *role).is_ok()).collect();
            assert_eq!(found, allowed, "{peer}");
        }
    }

    #[test]
    fn who_pushes_alone_is_not_of_everybody() {
        let roles = roles("observe = ['*']\nrestore = ['*', 'user:0']\npush = ['certificate:pusher', 'user:0']");
        let is_allowed = |name: &str, role| roles.allow(&Peer::Certificate(name.into()), role).is_ok();
        for role in [Role::Observe, Role::Apply, Role::Restore] {
            assert!(!is_allowed("pusher", role) && is_allowed("other", role), "{role:?}");
            assert!(roles.allow(&Peer::User(Uid::from_raw(0)), role).is_ok(), "{role:?}");
        }
        assert!(is_allowed("pusher", Role::Push) && !is_allowed("other", Role::Push));
    }

    #[test]
    fn a_name_says_whose_it_is() {
        assert!(roles("apply = ['*', 'user:alice', 'certificate:sha256:00']").check().is_ok());
        for wrong in ["alice", "group:wheel", "user:", ":alice", ""] {
            assert!(roles(&format!("apply = ['{wrong}']")).check().is_err(), "{wrong}");
        }
    }
}
