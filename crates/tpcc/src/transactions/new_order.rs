//! New-Order (clause 2.4): a customer orders some items.

use alloc::vec::Vec;

use crate::database::{Database, Scale, pair};
use crate::population::ORIGINAL;
use crate::schema::{Order, OrderLine};
use crate::store::{Conflict, Text, Transaction, Worker};
use crate::terminal::Terminal;

/// What a customer orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// The warehouse.
    pub warehouse: u32,
    /// The district.
    pub district: u32,
    /// The customer of that district.
    pub customer: u32,
    /// Five to fifteen items.
    pub lines: Vec<Line>,
}

/// An item that is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The item; one that does not exist in the last line of one order in a hundred.
    pub item: u32,
    /// The warehouse that has it in stock.
    pub supply_warehouse: u32,
    /// How many.
    pub quantity: u32,
}

/// An order that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// Its number in the district.
    pub order: u32,
    /// With discount and taxes.
    pub total_cents: i64,
    /// Of each line.
    pub lines: Vec<OrderedLine>,
}

/// An item of an order that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedLine {
    /// Its name.
    pub name: Text<24>,
    /// How many are left.
    pub stock: u32,
    /// Whether it is of the original brand ("B") or a generic one ("G").
    pub is_original: bool,
    /// Of one.
    pub price_cents: i64,
    /// Of all.
    pub amount_cents: i64,
}

impl NewOrder {
    /// A request of clause 2.4.1.
    pub fn draw(terminal: &mut Terminal) -> Self {
        let (warehouse, district, customer) = (terminal.warehouse, terminal.district(), terminal.customer());
        let count = terminal.random.uniform(5..=15);
        let line = |_| Line {
            item: terminal.item(),
            supply_warehouse: if terminal.random.chance(1) { terminal.other_warehouse() } else { warehouse },
            quantity: terminal.random.uniform(1..=10),
        };
        let mut lines: Vec<_> = (0..count).map(line).collect();
        if terminal.random.chance(1) {
            lines[count as usize - 1].item = terminal.unused_item();
        }
        Self { warehouse, district, customer, lines }
    }

    /// Takes the order, or nothing of it if an item does not exist (clause 2.4.2).
    ///
    /// # Errors
    /// [`Conflict`] if it must be run again.
    pub fn run<'db>(
        &self,
        worker: &mut Worker<'db>,
        database: &'db Database,
        now_us: u64,
    ) -> Result<Option<Ordered>, Conflict> {
        let mut transaction = Transaction::begin(worker, now_us);
        let at = Scale::district(self.warehouse, self.district);
        let warehouse = transaction.read(&database.warehouses, Scale::warehouse(self.warehouse))?;
        let mut district = transaction.read(&database.districts, at)?;
        let customer_at = database.scale.customer(self.warehouse, self.district, self.customer);
        let customer = transaction.read(&database.customers, customer_at)?;

        let number = district.next_order;
        district.next_order += 1;
        transaction.update(&database.districts, at, &district);
        let order = Order {
            customer: self.customer,
            entered_us: now_us,
            carrier: None,
            lines: self.lines.len() as u32,
            is_local: self.lines.iter().all(|line| line.supply_warehouse == self.warehouse),
        };
        transaction.put(&database.orders, at, number.into(), &order);
        transaction.put(&database.customer_orders, at, pair(self.customer, number), &());
        transaction.put(&database.new_orders, at, number.into(), &());

        let mut lines = Vec::with_capacity(self.lines.len());
        for (line, count) in self.lines.iter().zip(1..) {
            let Some((ordered, info)) = self.order_line(&mut transaction, database, line)? else { return Ok(None) };
            let order_line = OrderLine {
                item: line.item,
                supply_warehouse: line.supply_warehouse,
                delivered_us: None,
                quantity: line.quantity,
                amount_cents: ordered.amount_cents,
                info,
            };
            transaction.put(&database.order_lines, at, pair(number, count), &order_line);
            lines.push(ordered);
        }
        transaction.commit()?;
        let sum_cents: i64 = lines.iter().map(|line| line.amount_cents).sum();
        let (discount_bp, tax_bp) = (i64::from(customer.discount_bp), i64::from(warehouse.tax_bp + district.tax_bp));
        let total_cents = sum_cents * (10_000 - discount_bp) * (10_000 + tax_bp) / (10_000 * 10_000);
        Ok(Some(Ordered { order: number, total_cents, lines }))
    }

    /// Takes an item from its stock: what the customer is told, and what the order's line says of the district. None if
    /// there is no such item.
    fn order_line<'db>(
        &self,
        transaction: &mut Transaction<'_, 'db>,
        database: &'db Database,
        line: &Line,
    ) -> Result<Option<(OrderedLine, Text<24>)>, Conflict> {
        if line.item > database.scale.items {
            return Ok(None);
        }
        let item = transaction.read(&database.items, Scale::item(line.item))?;
        let at = database.scale.stock(line.supply_warehouse, line.item);
        let text = transaction.read(&database.stock_texts, at)?;
        let mut stock = transaction.read(&database.stocks, at)?;
        let is_enough = stock.quantity >= line.quantity + 10;
        stock.quantity = stock.quantity + if is_enough { 0 } else { 91 } - line.quantity;
        stock.ytd += line.quantity;
        stock.orders += 1;
        stock.remote_orders += u32::from(line.supply_warehouse != self.warehouse);
        transaction.update(&database.stocks, at, &stock);
        let is_original = [item.data, text.data]
            .iter()
            .all(|data| data.bytes().windows(ORIGINAL.len()).any(|window| window == ORIGINAL));
        let amount_cents = item.price_cents * i64::from(line.quantity);
        let ordered = OrderedLine {
            name: item.name,
            stock: stock.quantity,
            is_original,
            price_cents: item.price_cents,
            amount_cents,
        };
        Ok(Some((ordered, text.districts[self.district as usize - 1])))
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use super::*;
    use crate::names::Constants;
    use crate::random::Random;

    /// All that a new order writes.
    fn rows<'db>(worker: &mut Worker<'db>, database: &'db Database) -> String {
        let mut t = Transaction::begin(worker, 0);
        let at = Scale::district(1, 1);
        let all = || 0..=u64::MAX;
        let alone = "nobody else is at it";
        let stocks: Vec<_> = (0..100).map(|item| t.read(&database.stocks, item).expect(alone)).collect();
        let (orders, lines) = (t.scan(&database.orders, at, all()), t.scan(&database.order_lines, at, all()));
        let (new, index) = (t.scan(&database.new_orders, at, all()), t.scan(&database.customer_orders, at, all()));
        let district = t.read(&database.districts, at).expect(alone);
        let records: [_; 4] = [
            database.orders.records(),
            database.order_lines.records(),
            database.new_orders.records(),
            database.customer_orders.records(),
        ];
        format!("{stocks:?} {orders:?} {lines:?} {new:?} {index:?} {district:?} {records:?}")
    }

    #[test]
    fn an_order_of_an_item_that_does_not_exist_leaves_nothing_behind() {
        let mut random = Random::new(1);
        let constants = Constants::for_population(&mut random);
        let scale = Scale { warehouses: 1, customers: 1_000, items: 100 };
        let database = Database::populate(scale, constants, &mut random, 0);
        let mut worker = Worker::new(&database.epoch, 0);
        let before = rows(&mut worker, &database);
        let line = |item| Line { item, supply_warehouse: 1, quantity: 3 };
        let mut request = NewOrder { warehouse: 1, district: 1, customer: 5, lines: [1, 2, 101].map(line).into() };
        assert_eq!(request.run(&mut worker, &database, 0), Ok(None));
        assert!(rows(&mut worker, &database) == before);
        request.lines.pop();
        assert_eq!(request.run(&mut worker, &database, 0).map(|ordered| ordered.map(|it| it.order)), Ok(Some(1_001)));
        assert!(rows(&mut worker, &database) != before);
    }
}
