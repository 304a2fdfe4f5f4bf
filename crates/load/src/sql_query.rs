//! What PostgreSQL is asked, and by whom, as a plan has it.

use serde::{Deserialize, Serialize};

use crate::mix;
use bayop_core::Error;

/// One of the things that are asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlText {
    /// What it is called in the report of a mix.
    pub name: String,
    /// How often it is asked, relative to the plan's others.
    pub weight: f64,
    /// The query; `{n}` in it is the number of a record.
    pub text: String,
}

/// What is asked, and by whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlQuery {
    /// What is asked, by weight.
    pub texts: Vec<SqlText>,
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
        mix::check(self.texts.iter().map(|query| query.weight))?;
        let database = self.database.as_deref().unwrap_or("-");
        let texts = self.texts.iter().map(|query| (&*query.text, "query"));
        for (text, place) in texts.chain([(&*self.user, "user"), (database, "database")]) {
            if text.trim().is_empty() || text.contains('\0') {
                let rule = format!("a {place} must have characters, and no zero byte");
                return Err(Error::cannot_use(text.escape_debug(), rule).at(place));
            }
        }
        Ok(())
    }
}
