//! Payment (clause 2.5): a customer pays, at home or elsewhere.

use alloc::format;

use crate::database::{Database, Scale, pair};
use crate::schema::History;
use crate::store::{Conflict, Text, Transaction, Worker};
use crate::terminal::{Terminal, Who};

/// Who pays how much, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    /// The warehouse where it is paid.
    pub warehouse: u32,
    /// The district where it is paid.
    pub district: u32,
    /// The warehouse of the customer.
    pub customer_warehouse: u32,
    /// The district of the customer.
    pub customer_district: u32,
    /// The customer of that district.
    pub who: Who,
    /// How much.
    pub amount_cents: i64,
}

/// A payment that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paid {
    /// The number of the customer.
    pub customer: u32,
    /// What the customer has afterwards.
    pub balance_cents: i64,
}

impl Payment {
    /// A request of clause 2.5.1.
    pub fn draw(terminal: &mut Terminal) -> Self {
        let (warehouse, district) = (terminal.warehouse, terminal.district());
        let (customer_warehouse, customer_district) = if terminal.random.chance(85) {
            (warehouse, district)
        } else {
            (terminal.other_warehouse(), terminal.district())
        };
        let (who, amount_cents) = (terminal.who(), terminal.random.uniform(100..=500_000).into());
        Self { warehouse, district, customer_warehouse, customer_district, who, amount_cents }
    }

    /// Takes the payment (clause 2.5.2).
    ///
    /// # Errors
    /// [`Conflict`] if it must be run again.
    pub fn run<'db>(&self, worker: &mut Worker<'db>, database: &'db Database, now_us: u64) -> Result<Paid, Conflict> {
        let mut transaction = Transaction::begin(worker, now_us);
        let warehouse_at = Scale::warehouse(self.warehouse);
        let mut warehouse = transaction.read(&database.warehouses, warehouse_at)?;
        warehouse.ytd_cents += self.amount_cents;
        transaction.update(&database.warehouses, warehouse_at, &warehouse);

        let district_at = Scale::district(self.warehouse, self.district);
        let mut district = transaction.read(&database.districts, district_at)?;
        district.ytd_cents += self.amount_cents;
        transaction.update(&database.districts, district_at, &district);

        let (number, mut customer) =
            self.who.read(&mut transaction, database, self.customer_warehouse, self.customer_district)?;
        customer.balance_cents -= self.amount_cents;
        customer.ytd_payment_cents += self.amount_cents;
        customer.payments += 1;
        if customer.has_bad_credit {
            let (customer_district, customer_warehouse) = (self.customer_district, self.customer_warehouse);
            let (district, warehouse, amount_cents) = (self.district, self.warehouse, self.amount_cents);
            let entry =
                format!("{number} {customer_district} {customer_warehouse} {district} {warehouse} {amount_cents} ");
            customer.data = Text::new(entry.bytes().chain(customer.data.bytes().iter().copied()));
        }
        let customer_at = database.scale.customer(self.customer_warehouse, self.customer_district, number);
        transaction.update(&database.customers, customer_at, &customer);

        let names = [warehouse.name.bytes(), b"    ", district.name.bytes()];
        let history = History {
            customer_warehouse: self.customer_warehouse,
            customer_district: self.customer_district,
            customer: number,
            warehouse: self.warehouse,
            district: self.district,
            date_us: now_us,
            amount_cents: self.amount_cents,
            data: Text::new(names.concat()),
        };
        let history_partition = Scale::district(self.customer_warehouse, self.customer_district);
        transaction.put(&database.histories, history_partition, pair(number, customer.payments), &history);
        transaction.commit()?;
        Ok(Paid { customer: number, balance_cents: customer.balance_cents })
    }
}
