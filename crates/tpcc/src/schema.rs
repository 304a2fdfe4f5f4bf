//! The tables' rows (clause 1.3). Numbers of warehouses, districts, customers, items and orders begin with 1.
//!
//! Money is in cents. Taxes and discounts are in basis points: 1 bp = 0.01 %. Dates are microseconds since 1970.

use crate::store::{Text, row};

row! {
    /// Where somebody lives.
    pub struct Address {
        /// First line of the street.
        street_1: Text<20>,
        /// Second line of the street.
        street_2: Text<20>,
        /// City.
        city: Text<20>,
        /// State.
        state: Text<2>,
        /// Zip code.
        zip: Text<9>,
    }
}

row! {
    /// WAREHOUSE.
    pub struct Warehouse {
        /// W_NAME.
        name: Text<10>,
        /// W_STREET_1 to W_ZIP.
        address: Address,
        /// W_TAX.
        tax_bp: u32,
        /// W_YTD.
        ytd_cents: i64,
    }
}

row! {
    /// DISTRICT.
    pub struct District {
        /// D_NAME.
        name: Text<10>,
        /// D_STREET_1 to D_ZIP.
        address: Address,
        /// D_TAX.
        tax_bp: u32,
        /// D_YTD.
        ytd_cents: i64,
        /// D_NEXT_O_ID.
        next_order: u32,
    }
}

row! {
    /// CUSTOMER.
    pub struct Customer {
        /// C_FIRST.
        first: Text<16>,
        /// C_MIDDLE.
        middle: Text<2>,
        /// C_LAST.
        last: Text<16>,
        /// C_STREET_1 to C_ZIP.
        address: Address,
        /// C_PHONE.
        phone: Text<16>,
        /// C_SINCE.
        since_us: u64,
        /// C_CREDIT: whether it is bad ("BC") rather than good ("GC").
        has_bad_credit: bool,
        /// C_CREDIT_LIM.
        credit_limit_cents: i64,
        /// C_DISCOUNT.
        discount_bp: u32,
        /// C_BALANCE.
        balance_cents: i64,
        /// C_YTD_PAYMENT.
        ytd_payment_cents: i64,
        /// C_PAYMENT_CNT.
        payments: u32,
        /// C_DELIVERY_CNT.
        deliveries: u32,
        /// C_DATA.
        data: Text<500>,
    }
}

row! {
    /// HISTORY.
    pub struct History {
        /// H_C_W_ID.
        customer_warehouse: u32,
        /// H_C_D_ID.
        customer_district: u32,
        /// H_C_ID.
        customer: u32,
        /// H_W_ID.
        warehouse: u32,
        /// H_D_ID.
        district: u32,
        /// H_DATE.
        date_us: u64,
        /// H_AMOUNT.
        amount_cents: i64,
        /// H_DATA.
        data: Text<24>,
    }
}

row! {
    /// ORDER.
    pub struct Order {
        /// O_C_ID.
        customer: u32,
        /// O_ENTRY_D.
        entered_us: u64,
        /// O_CARRIER_ID, once it is delivered.
        carrier: Option<u32>,
        /// O_OL_CNT.
        lines: u32,
        /// O_ALL_LOCAL.
        is_local: bool,
    }
}

row! {
    /// ORDER-LINE.
    pub struct OrderLine {
        /// OL_I_ID.
        item: u32,
        /// OL_SUPPLY_W_ID.
        supply_warehouse: u32,
        /// OL_DELIVERY_D, once it is delivered.
        delivered_us: Option<u64>,
        /// OL_QUANTITY.
        quantity: u32,
        /// OL_AMOUNT.
        amount_cents: i64,
        /// OL_DIST_INFO.
        info: Text<24>,
    }
}

row! {
    /// ITEM.
    pub struct Item {
        /// I_IM_ID.
        image: u32,
        /// I_NAME.
        name: Text<24>,
        /// I_PRICE.
        price_cents: i64,
        /// I_DATA.
        data: Text<50>,
    }
}

row! {
    /// What changes of STOCK.
    pub struct Stock {
        /// S_QUANTITY.
        quantity: u32,
        /// S_YTD.
        ytd: u32,
        /// S_ORDER_CNT.
        orders: u32,
        /// S_REMOTE_CNT.
        remote_orders: u32,
    }
}

row! {
    /// What never changes of STOCK: a table split by columns, as clause 1.4.5 allows.
    pub struct StockText {
        /// S_DIST_01 to S_DIST_10.
        districts: [Text<24>; 10],
        /// S_DATA.
        data: Text<50>,
    }
}
