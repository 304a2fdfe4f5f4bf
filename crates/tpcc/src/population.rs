//! The database before the first transaction (clause 4.3.3.1).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use crate::database::{DISTRICTS, Database, LAST_NAMES, Scale, pair};
use crate::names::{Constants, last_name};
use crate::random::Random;
use crate::schema::{Address, Customer, District, History, Item, Order, OrderLine, Stock, StockText, Warehouse};
use crate::store::{Array, Epoch, Text, Tree};

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// What makes an item of the original brand.
pub(crate) const ORIGINAL: &[u8] = b"ORIGINAL";

impl Database {
    /// A new database, as it is at a time.
    ///
    /// # Panics
    /// If a district has less than a thousand customers, or if there is no warehouse or item.
    pub fn populate(scale: Scale, constants: Constants, random: &mut Random, now_us: u64) -> Self {
        assert!(scale.customers >= LAST_NAMES, "a district must have {LAST_NAMES} customers, not {}", scale.customers);
        assert!(scale.warehouses > 0 && scale.items > 0, "there must be warehouses and items");
        let customers: Vec<_> = (scale.districts())
            .flat_map(|_| 1..=scale.customers)
            .map(|customer| any_customer(random, constants, customer, now_us))
            .collect();
        let partitions = scale.districts().len();
        let mut database = Self {
            scale,
            epoch: Epoch::default(),
            warehouses: Array::new((0..scale.warehouses).map(|_| any_warehouse(random))),
            districts: Array::new(scale.districts().map(|_| any_district(random, scale))),
            names: by_name(scale, &customers),
            customers: Array::new(customers.into_iter().map(|(customer, _)| customer)),
            items: Array::new((0..scale.items).map(|_| any_item(random))),
            stocks: Array::new((0..scale.warehouses * scale.items).map(|_| any_stock(random))),
            stock_texts: Array::new((0..scale.warehouses * scale.items).map(|_| any_stock_text(random))),
            orders: Tree::new(partitions),
            customer_orders: Tree::new(partitions),
            new_orders: Tree::new(partitions),
            order_lines: Tree::new(partitions),
            histories: Tree::new(partitions),
        };
        for (warehouse, district) in scale.districts() {
            database.load_histories(warehouse, district, random, now_us);
            database.load_orders(warehouse, district, random, now_us);
        }
        database
    }

    fn load_histories(&mut self, warehouse: u32, district: u32, random: &mut Random, date_us: u64) {
        for customer in 1..=self.scale.customers {
            let data = any_text(random, 12..=24);
            let (customer_warehouse, customer_district) = (warehouse, district);
            let amount_cents = 1_000;
            let history = History {
                customer_warehouse,
                customer_district,
                customer,
                warehouse,
                district,
                date_us,
                amount_cents,
                data,
            };
            self.histories.load(Scale::district(warehouse, district), pair(customer, 1), &history);
        }
    }

    /// An order of each customer, the last three of ten not delivered yet.
    fn load_orders(&mut self, warehouse: u32, district: u32, random: &mut Random, entered_us: u64) {
        let partition = Scale::district(warehouse, district);
        let orders = self.scale.customers;
        let mut customers: Vec<u32> = (1..=orders).collect();
        for at in (1..orders).rev() {
            customers.swap(at as usize, random.uniform(0..=at) as usize);
        }
        for (number, customer) in (1..).zip(customers) {
            let is_delivered = number <= orders - orders * 3 / 10;
            let carrier = is_delivered.then(|| random.uniform(1..=10));
            let order = Order { customer, entered_us, carrier, lines: random.uniform(5..=15), is_local: true };
            self.orders.load(partition, u64::from(number), &order);
            self.customer_orders.load(partition, pair(customer, number), &());
            if !is_delivered {
                self.new_orders.load(partition, u64::from(number), &());
            }
            for line in 1..=order.lines {
                let order_line = OrderLine {
                    item: random.uniform(1..=self.scale.items),
                    supply_warehouse: warehouse,
                    delivered_us: is_delivered.then_some(entered_us),
                    quantity: 5,
                    amount_cents: if is_delivered { 0 } else { random.uniform(1..=999_999).into() },
                    info: any_text(random, 24..=24),
                };
                self.order_lines.load(partition, pair(number, line), &order_line);
            }
        }
    }
}

/// The customers of each district by the number of their last name, in the order of their first names.
fn by_name(scale: Scale, customers: &[(Customer, u32)]) -> Box<[Vec<u32>]> {
    let names = scale.districts().len() * LAST_NAMES as usize;
    let mut by_name: Box<[Vec<u32>]> = (0..names).map(|_| Vec::new()).collect();
    for (at, (_, name)) in customers.iter().enumerate() {
        let (district, customer) = (at / scale.customers as usize, at % scale.customers as usize + 1);
        by_name[district * LAST_NAMES as usize + *name as usize].push(customer as u32);
    }
    for (at, same) in by_name.iter_mut().enumerate() {
        let first = at / LAST_NAMES as usize * scale.customers as usize;
        same.sort_by_key(|&customer| customers[first + customer as usize - 1].0.first);
    }
    by_name
}

fn any_warehouse(random: &mut Random) -> Warehouse {
    Warehouse {
        name: any_text(random, 6..=10),
        address: any_address(random),
        tax_bp: random.uniform(0..=2_000),
        // Clause 4.3.3.1 has 300,000.00 for the ten districts of 3,000 customers.
        ytd_cents: 30_000_000,
    }
}

fn any_district(random: &mut Random, scale: Scale) -> District {
    District {
        name: any_text(random, 6..=10),
        address: any_address(random),
        tax_bp: random.uniform(0..=2_000),
        ytd_cents: 30_000_000 / i64::from(DISTRICTS),
        next_order: scale.customers + 1,
    }
}

/// A customer, and the number of its last name.
fn any_customer(random: &mut Random, constants: Constants, number: u32, since_us: u64) -> (Customer, u32) {
    let name = if number <= LAST_NAMES { number - 1 } else { constants.last_name(random) };
    let customer = Customer {
        first: any_text(random, 8..=16),
        middle: Text::new(*b"OE"),
        last: last_name(name),
        address: any_address(random),
        phone: any_digits(random),
        since_us,
        has_bad_credit: random.chance(10),
        credit_limit_cents: 5_000_000,
        discount_bp: random.uniform(0..=5_000),
        balance_cents: -1_000,
        ytd_payment_cents: 1_000,
        payments: 1,
        deliveries: 0,
        data: any_text(random, 300..=500),
    };
    (customer, name)
}

fn any_item(random: &mut Random) -> Item {
    Item {
        image: random.uniform(1..=10_000),
        name: any_text(random, 14..=24),
        price_cents: random.uniform(100..=10_000).into(),
        data: any_data(random),
    }
}

fn any_stock(random: &mut Random) -> Stock {
    Stock { quantity: random.uniform(10..=100), ytd: 0, orders: 0, remote_orders: 0 }
}

fn any_stock_text(random: &mut Random) -> StockText {
    StockText { districts: core::array::from_fn(|_| any_text(random, 24..=24)), data: any_data(random) }
}

fn any_address(random: &mut Random) -> Address {
    let zip: Text<4> = any_digits(random);
    Address {
        street_1: any_text(random, 10..=20),
        street_2: any_text(random, 10..=20),
        city: any_text(random, 10..=20),
        state: any_text(random, 2..=2),
        zip: Text::new(zip.bytes().iter().copied().chain(*b"11111")),
    }
}

/// 26 to 50 characters, of which one in ten has "ORIGINAL" somewhere.
fn any_data(random: &mut Random) -> Text<50> {
    let data: Text<50> = any_text(random, 26..=50);
    if !random.chance(10) {
        return data;
    }
    let data = data.bytes();
    let at = random.uniform(0..=(data.len() - ORIGINAL.len()) as u32) as usize;
    Text::new([&data[..at], ORIGINAL, &data[at + ORIGINAL.len()..]].concat())
}

fn any_text<const N: usize>(random: &mut Random, len: RangeInclusive<u32>) -> Text<N> {
    let len = random.uniform(len);
    Text::new((0..len).map(|_| LETTERS[random.uniform(0..=LETTERS.len() as u32 - 1) as usize]))
}

fn any_digits<const N: usize>(random: &mut Random) -> Text<N> {
    Text::new((0..N).map(|_| b'0' + random.uniform(0..=9) as u8))
}
