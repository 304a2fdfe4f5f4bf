//! What two transactions may see of each other, step by step on one thread.

use bayop_tpcc::store::{Array, Conflict, EPOCH_US, Epoch, Transaction, Tree, Worker};

struct Store {
    epoch: Epoch,
    array: Array<u64>,
    tree: Tree<u64>,
}

/// An array of two zeros, and a tree with the keys 10, 20 and 30 whose rows are the same.
fn store() -> Store {
    let mut tree = Tree::new(2);
    [10, 20, 30].into_iter().for_each(|key| tree.load(0, key, &key));
    Store { epoch: Epoch::default(), array: Array::new([0, 0].into_iter()), tree }
}

/// What a transaction does before it is committed.
type Does = for<'db> fn(&mut Transaction<'_, 'db>, &'db Store) -> Result<(), Conflict>;

/// Whether what `first` saw may still be committed after `then` was, beside a row of its own.
fn commits(first: Does, then: Does) -> bool {
    let store = store();
    let (mut ours, mut theirs) = (Worker::new(&store.epoch, 1), Worker::new(&store.epoch, 2));
    let mut transaction = Transaction::begin(&mut ours, 0);
    first(&mut transaction, &store).expect("nobody else is at it yet");
    transaction.put(&store.tree, 1, 1, &1);
    let mut other = Transaction::begin(&mut theirs, 0);
    then(&mut other, &store).expect("the first holds no locks");
    other.commit().expect("the first has written nothing yet");
    let commits = transaction.commit().is_ok();
    assert_eq!(store.tree.records(), Ok(count(&store, 0) + usize::from(commits)), "what is not a row is in memory");
    commits
}

/// How many rows a partition of the tree has.
fn count(store: &Store, partition: usize) -> usize {
    let mut worker = Worker::new(&store.epoch, 9);
    Transaction::begin(&mut worker, 0).scan(&store.tree, partition, 0..=u64::MAX).expect("nobody is at it").len()
}

const READ: Does = |t, store| t.read(&store.array, 0).map(|_| ());
const UPDATE: Does = |t, store| {
    t.update(&store.array, 0, &1);
    Ok(())
};
const UPDATE_OTHER: Does = |t, store| {
    t.update(&store.array, 1, &1);
    Ok(())
};
const GET_10: Does = |t, store| t.get(&store.tree, 0, 10).map(|_| ());
const GET_15: Does = |t, store| t.get(&store.tree, 0, 15).map(|_| ());
const REMOVE_15: Does = |t, store| t.remove(&store.tree, 0, 15).map(|_| ());
const SCAN: Does = |t, store| t.scan(&store.tree, 0, 5..=25).map(|_| ());
const FIRST: Does = |t, store| t.first(&store.tree, 0, 0..=100).map(|_| ());
const LAST: Does = |t, store| t.last(&store.tree, 0, 0..=100).map(|_| ());
const PUT_10: Does = |t, store| {
    t.put(&store.tree, 0, 10, &1);
    Ok(())
};
const PUT_15: Does = |t, store| {
    t.put(&store.tree, 0, 15, &1);
    Ok(())
};
const PUT_ELSEWHERE: Does = |t, store| {
    t.put(&store.tree, 1, 15, &1);
    Ok(())
};
const REMOVE_10: Does = |t, store| t.remove(&store.tree, 0, 10).map(|_| ());
const REMOVE_30: Does = |t, store| t.remove(&store.tree, 0, 30).map(|_| ());

#[test]
fn what_was_read_must_be_so_at_the_end() {
    assert!(!commits(READ, UPDATE));
    assert!(commits(READ, UPDATE_OTHER));
    assert!(!commits(GET_10, PUT_10));
    assert!(!commits(GET_10, REMOVE_10));
    assert!(commits(GET_10, REMOVE_30));
    assert!(commits(UPDATE, UPDATE), "who has read nothing conflicts with nobody");
}

#[test]
fn phantoms_are_refused() {
    assert!(!commits(GET_15, PUT_15), "a key that was missing");
    assert!(!commits(REMOVE_15, PUT_15), "a key that had nothing to remove");
    assert!(!commits(SCAN, PUT_15), "a key that came into a range");
    assert!(!commits(SCAN, REMOVE_10), "a key that left a range");
    assert!(!commits(FIRST, REMOVE_10));
    assert!(!commits(LAST, REMOVE_30));
    assert!(commits(FIRST, REMOVE_30), "what lies behind the first row was not seen");
    assert!(commits(SCAN, REMOVE_30), "what lies outside the range was not seen");
}

#[test]
fn keys_that_come_to_another_partition_are_no_phantoms() {
    let store = store();
    let (mut ours, mut theirs) = (Worker::new(&store.epoch, 1), Worker::new(&store.epoch, 2));
    let mut transaction = Transaction::begin(&mut ours, 0);
    SCAN(&mut transaction, &store).expect("nobody is at it");
    transaction.update(&store.array, 0, &7);
    let mut other = Transaction::begin(&mut theirs, 0);
    PUT_ELSEWHERE(&mut other, &store).expect("nobody is at it");
    other.commit().expect("it has seen nothing");
    assert!(transaction.commit().is_ok());
}

#[test]
fn own_keys_are_no_phantoms() {
    let store = store();
    let mut worker = Worker::new(&store.epoch, 1);
    let mut transaction = Transaction::begin(&mut worker, 0);
    SCAN(&mut transaction, &store).expect("nobody is at it");
    PUT_15(&mut transaction, &store).expect("nobody is at it");
    GET_15(&mut transaction, &store).expect("nobody is at it");
    transaction.put(&store.tree, 0, 16, &1);
    assert!(transaction.commit().is_ok());
    assert_eq!(count(&store, 0), 5);
}

#[test]
fn a_key_that_went_and_came_again_is_another_one() {
    let store = store();
    let (mut ours, mut theirs) = (Worker::new(&store.epoch, 1), Worker::new(&store.epoch, 2));
    let mut transaction = Transaction::begin(&mut ours, 0);
    transaction.put(&store.tree, 1, 1, &1);
    GET_10(&mut transaction, &store).expect("nobody is at it");
    for step in [REMOVE_10, PUT_10] {
        let mut other = Transaction::begin(&mut theirs, 0);
        step(&mut other, &store).expect("nobody is at it");
        other.commit().expect("nobody is at it");
    }
    assert_eq!(transaction.commit(), Err(Conflict));
}

#[test]
fn nobody_sees_what_is_not_committed() {
    let store = store();
    let (mut ours, mut theirs) = (Worker::new(&store.epoch, 1), Worker::new(&store.epoch, 2));
    let mut transaction = Transaction::begin(&mut ours, 0);
    transaction.update(&store.array, 0, &5);
    PUT_15(&mut transaction, &store).expect("nobody is at it");
    REMOVE_10(&mut transaction, &store).expect("nobody is at it");
    let mut other = Transaction::begin(&mut theirs, 0);
    assert_eq!(other.read(&store.array, 0), Ok(0));
    assert_eq!(other.scan(&store.tree, 0, 0..=25), Ok(vec![(10, 10), (20, 20)]));
    drop(other);
    drop(transaction);
    let mut after = Transaction::begin(&mut theirs, 0);
    assert_eq!(after.read(&store.array, 0), Ok(0));
    assert_eq!(after.scan(&store.tree, 0, 0..=25), Ok(vec![(10, 10), (20, 20)]));
}

#[test]
fn a_tid_is_above_what_was_seen_and_in_the_epoch_of_its_time() {
    let store = store();
    let (mut ours, mut theirs) = (Worker::new(&store.epoch, 200), Worker::new(&store.epoch, 0));
    let mut transaction = Transaction::begin(&mut ours, 3 * EPOCH_US);
    REMOVE_10(&mut transaction, &store).expect("nobody is at it");
    let removed = transaction.commit().expect("nobody is at it");
    assert_eq!(removed.epoch(), 3);
    // An earlier time does not take the epoch back, and what is gone is still below what comes in its place.
    let mut transaction = Transaction::begin(&mut theirs, EPOCH_US);
    PUT_10(&mut transaction, &store).expect("nobody is at it");
    let put = transaction.commit().expect("nobody is at it");
    assert!(put > removed, "{put:?} after {removed:?}");
}

#[test]
fn a_tid_is_above_what_was_read_and_what_is_written_over() {
    for step in [READ, UPDATE] {
        let store = store();
        // Of two TIDs with the same epoch and number, the one of the worker with the greater number is greater.
        let (mut ours, mut theirs) = (Worker::new(&store.epoch, 0), Worker::new(&store.epoch, 200));
        let mut transaction = Transaction::begin(&mut theirs, 0);
        UPDATE(&mut transaction, &store).expect("nobody is at it");
        let before = transaction.commit().expect("nobody is at it");
        let mut transaction = Transaction::begin(&mut ours, 0);
        step(&mut transaction, &store).expect("nobody is at it");
        let after = transaction.commit().expect("nobody is at it");
        assert!(after > before, "{after:?} after {before:?}");
    }
}
