//! Where requests come from.

use crate::database::{DISTRICTS, Database, Scale};
use crate::names::Constants;
use crate::random::Random;
use crate::schema::Customer;
use crate::store::{Conflict, Transaction};

/// Draws requests for one warehouse, one after another. They don't wait for a person to read and type.
#[derive(Clone, Debug)]
pub struct Terminal {
    scale: Scale,
    constants: Constants,
    pub(crate) warehouse: u32,
    pub(crate) random: Random,
}

/// How a request names a customer of a district.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// By its number.
    Number(u32),
    /// By the number of its last name, below 1,000. Of several with that name, the one in the middle by first name.
    LastName(u32),
}

impl Terminal {
    /// A terminal of a warehouse.
    pub fn new(scale: Scale, constants: Constants, warehouse: u32, random: Random) -> Self {
        Self { scale, constants, warehouse, random }
    }

    pub(crate) fn district(&mut self) -> u32 {
        self.random.uniform(1..=DISTRICTS)
    }

    /// Another warehouse, where there is one.
    pub(crate) fn other_warehouse(&mut self) -> u32 {
        if self.scale.warehouses == 1 {
            return self.warehouse;
        }
        let other = self.random.uniform(1..=self.scale.warehouses - 1);
        other + u32::from(other >= self.warehouse)
    }

    pub(crate) fn customer(&mut self) -> u32 {
        self.constants.customer(&mut self.random, self.scale.customers)
    }

    /// By last name in 60 % (clauses 2.5.1.2 and 2.6.1.2).
    pub(crate) fn who(&mut self) -> Who {
        if self.random.chance(60) {
            Who::LastName(self.constants.last_name(&mut self.random))
        } else {
            Who::Number(self.customer())
        }
    }

    pub(crate) fn item(&mut self) -> u32 {
        self.constants.item(&mut self.random, self.scale.items)
    }

    /// An item that does not exist.
    pub(crate) fn unused_item(&self) -> u32 {
        self.scale.items + 1
    }
}

impl Who {
    /// The number of the customer, and its row.
    pub(crate) fn read<'db>(
        self,
        transaction: &mut Transaction<'_, 'db>,
        database: &'db Database,
        warehouse: u32,
        district: u32,
    ) -> Result<(u32, Customer), Conflict> {
        let number = match self {
            Self::Number(number) => number,
            Self::LastName(name) => {
                let named = database.named(warehouse, district, name);
                named[(named.len() - 1) / 2] // the n/2-th, rounded up: clause 2.5.2.2
            }
        };
        let index = database.scale.customer(warehouse, district, number);
        Ok((number, transaction.read(&database.customers, index)?))
    }
}
