//! One worker alone, beside a map that is in order: the store does what the map does, whatever is asked.

use std::collections::BTreeMap;

use bayop_tpcc::store::{Array, Epoch, Transaction, Tree, Worker};
use proptest::prelude::*;

const PARTITIONS: usize = 2;
const KEYS: u64 = 8;
const ROWS: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    Read(usize),
    Update(usize, u64),
    Get(usize, u64),
    Put(usize, u64, u64),
    Remove(usize, u64),
    Scan(usize, u64, u64),
    First(usize, u64, u64),
    Last(usize, u64, u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let place = || (0..PARTITIONS, 0..KEYS);
    let range = || (0..PARTITIONS, 0..KEYS, 0..KEYS).prop_map(|(part, a, b)| (part, a.min(b), a.max(b)));
    prop_oneof![
        (0..ROWS).prop_map(Step::Read),
        (0..ROWS, any::<u64>()).prop_map(|(index, value)| Step::Update(index, value)),
        place().prop_map(|(part, key)| Step::Get(part, key)),
        (place(), any::<u64>()).prop_map(|((part, key), value)| Step::Put(part, key, value)),
        (place(), any::<u64>()).prop_map(|((part, key), value)| Step::Put(part, key, value)),
        place().prop_map(|(part, key)| Step::Remove(part, key)),
        place().prop_map(|(part, key)| Step::Remove(part, key)),
        range().prop_map(|(part, from, to)| Step::Scan(part, from, to)),
        range().prop_map(|(part, from, to)| Step::First(part, from, to)),
        range().prop_map(|(part, from, to)| Step::Last(part, from, to)),
    ]
}

#[derive(Clone, Default, PartialEq, Debug)]
struct Model {
    array: [u64; ROWS],
    tree: [BTreeMap<u64, u64>; PARTITIONS],
}

fn play<'db>(
    step: &Step,
    model: &mut Model,
    transaction: &mut Transaction<'_, 'db>,
    array: &'db Array<u64>,
    tree: &'db Tree<u64>,
) -> Result<(), TestCaseError> {
    let alone = "nobody is there to conflict with";
    let pair = |(&key, &value): (&u64, &u64)| (key, value);
    match *step {
        Step::Read(index) => prop_assert_eq!(transaction.read(array, index).expect(alone), model.array[index]),
        Step::Update(index, value) => {
            transaction.update(array, index, &value);
            model.array[index] = value;
        }
        Step::Get(part, key) => {
            prop_assert_eq!(transaction.get(tree, part, key).expect(alone), model.tree[part].get(&key).copied());
        }
        Step::Put(part, key, value) => {
            transaction.put(tree, part, key, &value);
            model.tree[part].insert(key, value);
        }
        Step::Remove(part, key) => {
            let was_there = model.tree[part].remove(&key).is_some();
            prop_assert_eq!(transaction.remove(tree, part, key).expect(alone), was_there);
        }
        Step::Scan(part, from, to) => {
            let rows: Vec<_> = model.tree[part].range(from..=to).map(pair).collect();
            prop_assert_eq!(transaction.scan(tree, part, from..=to).expect(alone), rows);
        }
        Step::First(part, from, to) => {
            let row = model.tree[part].range(from..=to).next().map(pair);
            prop_assert_eq!(transaction.first(tree, part, from..=to).expect(alone), row);
        }
        Step::Last(part, from, to) => {
            let row = model.tree[part].range(from..=to).next_back().map(pair);
            prop_assert_eq!(transaction.last(tree, part, from..=to).expect(alone), row);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn one_worker_sees_what_a_map_shows(
        transactions in prop::collection::vec((prop::collection::vec(any_step(), 0..12), any::<bool>()), 1..20),
    ) {
        let epoch = Epoch::default();
        let array = Array::new([0; ROWS].into_iter());
        let tree = Tree::new(PARTITIONS);
        let mut worker = Worker::new(&epoch, 0);
        let mut model = Model::default();
        let mut last = None;
        for (steps, commits) in &transactions {
            let mut after = model.clone();
            let mut transaction = Transaction::begin(&mut worker, 0);
            for step in steps {
                play(step, &mut after, &mut transaction, &array, &tree)?;
            }
            if *commits {
                let tid = transaction.commit().expect("nobody is there to conflict with");
                prop_assert!(Some(tid) > last, "{:?} after {:?}", tid, last);
                last = Some(tid);
                model = after;
            }
            // What was removed is gone from memory, and what was not committed never came.
            let rows: usize = model.tree.iter().map(BTreeMap::len).sum();
            prop_assert_eq!(tree.records().expect("nobody is at it"), rows);
        }
    }
}
