//! The five transactions, by what they answer.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bayop_tpcc::store::{Conflict, Worker};
use bayop_tpcc::{
    Constants, Database, Delivery, Kind, Line, NewOrder, OrderStatus, Payment, Random, Reply, Request, Scale,
    StockLevel, Terminal, Who, violations,
};

const SCALE: Scale = Scale { warehouses: 2, customers: 1_000, items: 1_000 };

fn database() -> (Database, Constants) {
    let mut random = Random::new(1);
    let constants = Constants::for_population(&mut random);
    (Database::populate(SCALE, constants, &mut random, 0), constants.for_run(&mut random))
}

#[test]
fn an_order_is_taken_looked_up_delivered_and_paid() {
    let (database, _) = database();
    let mut worker = Worker::new(&database.epoch, 0);
    let (warehouse, district, customer) = (2, 7, 42);
    let status = OrderStatus { warehouse, district, who: Who::Number(customer) };
    let before = status.run(&mut worker, &database, 1).expect("nobody else is at it");

    let line = |item| Line { item, supply_warehouse: 2, quantity: 4 };
    let order = NewOrder { warehouse, district, customer, lines: [10, 20, 10].map(line).into() };
    let ordered = order.run(&mut worker, &database, 2).expect("nobody else is at it").expect("the items exist");
    assert_eq!(ordered.order, 1_001);
    let sum_cents: i64 = ordered.lines.iter().map(|line| line.amount_cents).sum();
    assert!(ordered.lines.iter().all(|line| line.amount_cents == 4 * line.price_cents));
    // Half off at most, two taxes of a fifth on top at most.
    assert!((sum_cents / 2..=sum_cents * 14 / 10).contains(&ordered.total_cents), "{ordered:?}");
    let taken = ordered.lines[0].stock.abs_diff(ordered.lines[2].stock);
    assert!([4, 91 - 4].contains(&taken), "the second line with an item sees what the first has taken: {ordered:?}");

    let after = status.run(&mut worker, &database, 3).expect("nobody else is at it");
    assert_eq!((after.number, after.order.entered_us, after.order.carrier), (1_001, 2, None));
    assert_eq!(after.lines.iter().map(|line| line.amount_cents).sum::<i64>(), sum_cents);
    assert_eq!(after.balance_cents, before.balance_cents);

    // Of 300 new orders and this one.
    let deliver = Delivery { warehouse, carrier: 9 };
    for round in 0..=300 {
        let delivered = deliver.run(&mut worker, &database, 4).expect("nobody else is at it");
        assert_eq!(delivered[district as usize - 1], Some(701 + round));
    }
    assert_eq!(deliver.run(&mut worker, &database, 5), Ok([None; 10]));
    let delivered = status.run(&mut worker, &database, 6).expect("nobody else is at it");
    assert_eq!(delivered.order.carrier, Some(9));
    assert!(delivered.lines.iter().all(|line| line.delivered_us == Some(4)));
    assert!(delivered.balance_cents >= before.balance_cents + sum_cents, "an older order may have been delivered too");

    let payment = Payment {
        warehouse: 1,
        district: 1,
        customer_warehouse: warehouse,
        customer_district: district,
        who: Who::Number(customer),
        amount_cents: 123,
    };
    let paid = payment.run(&mut worker, &database, 7).expect("nobody else is at it");
    assert_eq!(paid.balance_cents, delivered.balance_cents - 123);
    assert_eq!(violations(&mut worker, &database), Ok(vec![]));
}

#[test]
fn of_several_customers_with_a_name_it_is_always_the_same() {
    let (database, _) = database();
    let mut worker = Worker::new(&database.epoch, 0);
    // A thousand customers have a thousand names.
    let status = |who| OrderStatus { warehouse: 1, district: 1, who };
    let by_name = status(Who::LastName(371)).run(&mut worker, &database, 0).expect("nobody else is at it");
    assert_eq!(by_name.customer, 372);
    assert_eq!(Ok(by_name), status(Who::Number(372)).run(&mut worker, &database, 0));
}

#[test]
fn stocks_run_low_as_items_are_ordered() {
    let (database, _) = database();
    let mut worker = Worker::new(&database.epoch, 0);
    let mut order = |items: [u32; 2]| {
        let line = |item| Line { item, supply_warehouse: 1, quantity: 10 };
        let order = NewOrder { warehouse: 1, district: 1, customer: 1, lines: items.map(line).into() };
        order.run(&mut worker, &database, 0).expect("nobody else is at it").expect("the items exist")
    };
    // After twenty orders of the same two items these are all that a district looks at.
    let last = (0..20).map(|_| order([5, 6])).last().expect("twenty");
    let stocks = [last.lines[0].stock, last.lines[1].stock];
    for threshold in 0..=120 {
        let level = StockLevel { warehouse: 1, district: 1, threshold };
        let expected = stocks.iter().filter(|&&stock| stock < threshold).count() as u32;
        assert_eq!(level.run(&mut worker, &database, 0), Ok(expected), "{stocks:?} below {threshold}");
    }
}

#[test]
fn the_mix_is_as_the_specification_demands() {
    let (_, constants) = database();
    let mut terminal = Terminal::new(SCALE, constants, 1, Random::new(2));
    let (mut kinds, mut unused, mut remote_lines, mut lines, mut remote_payments, mut payments) =
        ([0; 5], 0, 0, 0, 0, 0);
    for _ in 0..100_000 {
        let kind = Kind::draw(&mut terminal);
        kinds[kind as usize] += 1;
        match Request::draw(kind, &mut terminal) {
            Request::NewOrder(order) => {
                assert!((5..=15).contains(&order.lines.len()));
                unused += u32::from(order.lines.iter().any(|line| line.item > SCALE.items));
                lines += order.lines.len();
                remote_lines += order.lines.iter().filter(|line| line.supply_warehouse == 2).count();
            }
            Request::Payment(payment) => {
                payments += 1;
                remote_payments += u32::from(payment.customer_warehouse == 2);
            }
            _ => {}
        }
    }
    // Each within about five standard deviations.
    for (count, expected) in kinds.into_iter().zip([45_000_u32, 43_000, 4_000, 4_000, 4_000]) {
        assert!(u32::abs_diff(count, expected) < 800, "{kinds:?}");
    }
    assert!(unused.abs_diff(450) < 110, "{unused} orders of an item that does not exist");
    assert!((remote_lines as f64 / lines as f64 - 0.01).abs() < 0.001, "{remote_lines} of {lines} lines");
    assert!((f64::from(remote_payments) / f64::from(payments) - 0.15).abs() < 0.01, "{remote_payments} of {payments}");
}

#[test]
fn the_conditions_hold_after_two_threads_ran_the_mix() {
    const REQUESTS: u64 = 10_000;
    let (database, constants) = database();
    let (begin, met) = (Barrier::new(2), AtomicBool::new(false));
    let work = |number: u8| {
        let mut worker = Worker::new(&database.epoch, number);
        // Both at the same warehouse, so that they meet.
        let mut terminal = Terminal::new(SCALE, constants, 1, Random::new(number.into()));
        let mut rolled_back = 0;
        begin.wait();
        for now_us in 0.. {
            if now_us >= REQUESTS && met.load(Ordering::Relaxed) {
                break;
            }
            let kind = Kind::draw(&mut terminal);
            let request = Request::draw(kind, &mut terminal);
            loop {
                match request.run(&mut worker, &database, now_us) {
                    Ok(reply) => break rolled_back += u32::from(reply == Reply::NewOrder(None)),
                    Err(Conflict) => met.store(true, Ordering::Relaxed),
                }
                thread::yield_now();
            }
        }
        rolled_back
    };
    let (ours, theirs) = thread::scope(|scope| {
        let other = scope.spawn(|| work(1));
        (work(0), other.join().expect("no thread panics"))
    });
    assert!(ours + theirs > 0, "one order in a hundred is rolled back");
    let mut worker = Worker::new(&database.epoch, 2);
    assert_eq!(violations(&mut worker, &database), Ok(vec![]));
}
