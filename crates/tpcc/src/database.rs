//! The nine tables (clause 1.2), two indexes, and where a row is.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use crate::schema::{Customer, District, History, Item, Order, OrderLine, Stock, StockText, Warehouse};
use crate::store::{Array, Epoch, Tree};

/// How many districts a warehouse has.
pub const DISTRICTS: u32 = 10;

/// How large a database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// How many warehouses there are.
    pub warehouses: u32,
    /// How many customers a district has, and orders at first: a thousand at least, one for each last name.
    pub customers: u32,
    /// How many items there are.
    pub items: u32,
}

impl Scale {
    /// The specification's (clause 1.2.1).
    pub fn standard(warehouses: u32) -> Self {
        Self { warehouses, customers: 3_000, items: 100_000 }
    }

    pub(crate) fn warehouse(warehouse: u32) -> usize {
        warehouse as usize - 1
    }

    pub(crate) fn item(item: u32) -> usize {
        item as usize - 1
    }

    /// Where a district is, and the partition of its rows in each tree.
    pub(crate) fn district(warehouse: u32, district: u32) -> usize {
        Self::warehouse(warehouse) * DISTRICTS as usize + district as usize - 1
    }

    pub(crate) fn customer(self, warehouse: u32, district: u32, customer: u32) -> usize {
        Self::district(warehouse, district) * self.customers as usize + customer as usize - 1
    }

    pub(crate) fn stock(self, warehouse: u32, item: u32) -> usize {
        Self::warehouse(warehouse) * self.items as usize + Self::item(item)
    }

    /// Every district: its warehouse, and its number there.
    pub(crate) fn districts(self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        (0..self.warehouses * DISTRICTS).map(|at| (at / DISTRICTS + 1, at % DISTRICTS + 1))
    }
}

/// A database of TPC-C.
///
/// What never comes or goes is in arrays; the rest is in trees with a partition for each district, by the keys that
/// [`pair`] makes.
pub struct Database {
    /// How large it is.
    pub scale: Scale,
    /// For the workers of its transactions.
    pub epoch: Epoch,
    pub(crate) warehouses: Array<Warehouse>,
    pub(crate) districts: Array<District>,
    pub(crate) customers: Array<Customer>,
    pub(crate) items: Array<Item>,
    pub(crate) stocks: Array<Stock>,
    pub(crate) stock_texts: Array<StockText>,
    /// By order.
    pub(crate) orders: Tree<Order>,
    /// By customer and order.
    pub(crate) customer_orders: Tree<()>,
    /// NEW-ORDER, by order.
    pub(crate) new_orders: Tree<()>,
    /// By order and line.
    pub(crate) order_lines: Tree<OrderLine>,
    /// By customer and the number of the payment, in the district of the customer.
    pub(crate) histories: Tree<History>,
    /// By district and number of the last name: customers in the order of their first names. No transaction changes a
    /// name, so this is no part of the store.
    pub(crate) names: Box<[Vec<u32>]>,
}

/// How many last names there are (clause 4.3.2.3).
pub(crate) const LAST_NAMES: u32 = 1_000;

impl Database {
    /// The customers of a district with a last name, in the order of their first names.
    pub(crate) fn named(&self, warehouse: u32, district: u32, last_name: u32) -> &[u32] {
        &self.names[Scale::district(warehouse, district) * LAST_NAMES as usize + last_name as usize]
    }
}

/// The key of two numbers, by the first before the second.
pub(crate) fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

/// The keys of all pairs that begin with one of the numbers.
pub(crate) fn pairs(first: RangeInclusive<u32>) -> RangeInclusive<u64> {
    pair(*first.start(), 0)..=pair(*first.end(), u32::MAX)
}
