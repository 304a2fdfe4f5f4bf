//! What must be so between transactions (clauses 3.3.2.1 to 3.3.2.4).

use alloc::vec::Vec;

use crate::database::{DISTRICTS, Database, Scale};
use crate::store::{Conflict, Transaction, Worker};

/// A condition that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its number in clause 3.3.2.
    pub condition: u8,
    /// The warehouse.
    pub warehouse: u32,
    /// The district; none for the condition of a whole warehouse.
    pub district: Option<u32>,
    /// What should be equal.
    pub values: [i64; 2],
}

/// The conditions 1 to 4 that do not hold, each warehouse looked at in one transaction.
///
/// # Errors
/// [`Conflict`] if other transactions ran meanwhile: the database must be at rest.
pub fn violations<'db>(worker: &mut Worker<'db>, database: &'db Database) -> Result<Vec<Violation>, Conflict> {
    let mut violations = Vec::new();
    for warehouse in 1..=database.scale.warehouses {
        let mut transaction = Transaction::begin(worker, 0);
        let ytd_cents = transaction.read(&database.warehouses, Scale::warehouse(warehouse))?.ytd_cents;
        let mut districts_cents = 0;
        for district in 1..=DISTRICTS {
            let row = transaction.read(&database.districts, Scale::district(warehouse, district))?;
            districts_cents += row.ytd_cents;
            let district_holds = |(condition, left, right)| {
                let values = [left, right];
                (left != right).then_some(Violation { condition, warehouse, district: Some(district), values })
            };
            let at = Scale::district(warehouse, district);
            let equations = of_district(&mut transaction, database, at, row.next_order.into())?;
            violations.extend(equations.into_iter().filter_map(district_holds));
        }
        if ytd_cents != districts_cents {
            let values = [ytd_cents, districts_cents];
            violations.push(Violation { condition: 1, warehouse, district: None, values });
        }
        transaction.commit()?;
    }
    Ok(violations)
}

/// What must be equal in a district, with the number of the condition.
fn of_district<'db>(
    transaction: &mut Transaction<'_, 'db>,
    database: &'db Database,
    at: usize,
    next_order: i64,
) -> Result<Vec<(u8, i64, i64)>, Conflict> {
    let all = 0..=u64::MAX;
    let orders = transaction.scan(&database.orders, at, all.clone())?;
    let new_orders = transaction.scan(&database.new_orders, at, all.clone())?;
    let lines = transaction.scan(&database.order_lines, at, all)?;
    let last_order = orders.last().map_or(0, |&(order, _)| order as i64);
    let mut equations = Vec::from([(2, next_order - 1, last_order)]);
    if let (Some(&(first, ())), Some(&(last, ()))) = (new_orders.first(), new_orders.last()) {
        equations.push((2, next_order - 1, last as i64));
        equations.push((3, (last - first + 1) as i64, new_orders.len() as i64));
    }
    equations.push((4, orders.iter().map(|(_, order)| i64::from(order.lines)).sum(), lines.len() as i64));
    Ok(equations)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::pair;
    use crate::names::Constants;
    use crate::random::Random;

    /// The numbers of the conditions that are violated after a change to a new database.
    fn conditions_after(change: impl for<'db> FnOnce(&mut Transaction<'_, 'db>, &'db Database)) -> Vec<u8> {
        let mut random = Random::new(1);
        let constants = Constants::for_population(&mut random);
        let scale = Scale { warehouses: 1, customers: 1_000, items: 100 };
        let database = Database::populate(scale, constants, &mut random, 0);
        let mut worker = Worker::new(&database.epoch, 0);
        let mut transaction = Transaction::begin(&mut worker, 0);
        change(&mut transaction, &database);
        transaction.commit().expect("nobody else is at it");
        let violations = violations(&mut worker, &database).expect("nobody else is at it");
        violations.into_iter().map(|violation| violation.condition).collect()
    }

    #[test]
    fn a_new_database_is_consistent() {
        assert_eq!(conditions_after(|_, _| ()), []);
    }

    #[test]
    fn each_condition_is_looked_at() {
        let paid = conditions_after(|transaction, database| {
            let mut district = transaction.read(&database.districts, 3).expect("nobody else is at it");
            district.ytd_cents += 1;
            transaction.update(&database.districts, 3, &district);
        });
        assert_eq!(paid, [1]);
        let skipped = conditions_after(|transaction, database| {
            let mut district = transaction.read(&database.districts, 3).expect("nobody else is at it");
            district.next_order += 1;
            transaction.update(&database.districts, 3, &district);
        });
        assert_eq!(skipped, [2, 2]);
        let not_new = conditions_after(|transaction, database| {
            assert_eq!(transaction.remove(&database.new_orders, 3, 990), Ok(true));
        });
        assert_eq!(not_new, [3]);
        let without_line = conditions_after(|transaction, database| {
            assert_eq!(transaction.remove(&database.order_lines, 3, pair(7, 5)), Ok(true));
        });
        assert_eq!(without_line, [4]);
    }
}
