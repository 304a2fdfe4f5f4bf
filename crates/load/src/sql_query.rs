//! What PostgreSQL is asked, and by whom, as a plan has it.

use serde::{Deserialize, Serialize};

use bayop_core::Error;

/// A query. `{n}` in its text is the number of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlQuery {
    /// What is asked.
    pub text: String,
    /// Who asks.
    pub user: String,
    /// What he is asked for where the server wants to know whether it is he.
    pub password: Option<String>,
    /// The database; none is the one with the user's name.
    pub database: Option<String>,
}

impl SqlQuery {
    /// Checks what can't be sent.
    ///
    /// # Errors
    /// The first rule that does not hold, with the field as its place.
    pub fn check(&self) -> Result<(), Error> {
        let database = self.database.as_deref().unwrap_or("-");
        for (text, place) in [(&*self.text, "query"), (&self.user, "user"), (database, "database")] {
            if text.trim().is_empty() || text.contains('\0') {
                let rule = format!("a {place} must have characters, and no zero byte");
                return Err(Error::cannot_use(text.escape_debug(), rule).at(place));
            }
        }
        Ok(())
    }
}
