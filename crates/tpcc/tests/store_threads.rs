//! Several threads on few rows: whatever they saw, some order of their transactions one after another explains it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bayop_tpcc::Random;
use bayop_tpcc::store::{Array, Conflict, Epoch, Tid, Transaction, Tree, Worker};

const THREADS: u8 = 4;

/// Runs transactions on each thread, each until it commits, and says what they returned: at least so many of each thread,
/// and more until one of them was refused, so that they have met. Each gets a name, from 0 on.
fn on_threads<'db, T: Send>(
    epoch: &'db Epoch,
    transactions: u64,
    run: impl Fn(&mut Transaction<'_, 'db>, &mut Random, u64) -> Result<T, Conflict> + Sync,
) -> Vec<(Tid, T)> {
    let (begin, met) = (Barrier::new(THREADS.into()), AtomicBool::new(false));
    let work = |number: u8| {
        let (mut worker, mut random) = (Worker::new(epoch, number), Random::new(number.into()));
        let mut done = Vec::new();
        begin.wait();
        for name in (number.into()..).step_by(THREADS.into()) {
            if done.len() as u64 >= transactions && met.load(Ordering::Relaxed) {
                break;
            }
            loop {
                let mut transaction = Transaction::begin(&mut worker, name);
                let result = run(&mut transaction, &mut random, name);
                match result.and_then(|result| Ok((transaction.commit()?, result))) {
                    Ok(committed) => break done.push(committed),
                    Err(Conflict) => met.store(true, Ordering::Relaxed),
                }
            }
        }
        (worker, done)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|number| scope.spawn(move || work(number))).collect();
        let ends: Vec<_> = threads.into_iter().map(|each| each.join().expect("no thread panics")).collect();
        // Here the workers take out what they had to leave while others were at it.
        ends.into_iter().flat_map(|(_worker, done)| done).collect()
    })
}

fn sometimes_yield(random: &mut Random) {
    if random.chance(20) {
        thread::yield_now();
    }
}

/// What a transaction saw and wrote. A row is the name of who wrote it; a key that is missing was written by nobody.
struct Seen {
    name: u64,
    reads: Vec<(u64, Option<u64>)>,
    writes: BTreeSet<u64>,
}

/// Some order of the transactions that explains what they saw, if there is one: that of the graph of who must come before
/// whom, because it wrote what the other read or wrote over, or read what the other wrote over.
fn serial_order(history: &[(Tid, Seen)]) -> Option<Vec<u64>> {
    let mut versions: BTreeMap<u64, Vec<(Tid, u64)>> = BTreeMap::new();
    for (tid, seen) in history {
        seen.writes.iter().for_each(|&key| versions.entry(key).or_default().push((*tid, seen.name)));
    }
    versions.values_mut().for_each(|versions| versions.sort_unstable());
    let mut after: BTreeMap<u64, BTreeSet<u64>> =
        history.iter().map(|(_, seen)| (seen.name, BTreeSet::new())).collect();
    let mut order = |before: u64, behind: u64| {
        if before != behind {
            after.get_mut(&before).expect("who was read has committed").insert(behind);
        }
    };
    for versions in versions.values() {
        versions.windows(2).for_each(|pair| order(pair[0].1, pair[1].1));
    }
    for (_, seen) in history {
        for &(key, writer) in &seen.reads {
            let versions = versions.get(&key).map_or(&[][..], Vec::as_slice);
            let next = writer.map_or(0, |writer| {
                order(writer, seen.name);
                1 + versions.iter().position(|&(_, name)| name == writer).expect("who was read has written it")
            });
            if let Some(&(_, name)) = versions.get(next) {
                order(seen.name, name);
            }
        }
    }
    // Kahn's algorithm: whoever has nobody before it comes next.
    let mut before: BTreeMap<u64, usize> = after.keys().map(|&name| (name, 0)).collect();
    after.values().flatten().for_each(|name| *before.get_mut(name).expect("it is in the history") += 1);
    let mut order: Vec<u64> = before.iter().filter(|&(_, &count)| count == 0).map(|(&name, _)| name).collect();
    let mut at = 0;
    while let Some(&name) = order.get(at) {
        at += 1;
        for &behind in &after[&name] {
            let count = before.get_mut(&behind).expect("it is in the history");
            *count -= 1;
            if *count == 0 {
                order.push(behind);
            }
        }
    }
    (order.len() == history.len()).then_some(order)
}

#[test]
fn a_history_without_an_order_is_found() {
    let (mut epoch, tids) = (Epoch::default(), Tree::new(1));
    let epoch = &mut epoch;
    let mut worker = Worker::new(epoch, 0);
    let mut tid = || {
        let mut transaction = Transaction::begin(&mut worker, 0);
        transaction.put(&tids, 0, 0, &0_u64);
        transaction.commit().expect("nobody is there to conflict with")
    };
    // Write skew: each missed what the other wrote.
    let seen = |name, missed, wrote| Seen { name, reads: vec![(missed, None)], writes: [wrote].into() };
    assert_eq!(serial_order(&[(tid(), seen(0, 1, 2)), (tid(), seen(1, 2, 1))]), None);
    // One that missed what the other wrote, and comes before it.
    assert_eq!(serial_order(&[(tid(), seen(0, 1, 2)), (tid(), seen(1, 3, 1))]), Some(vec![0, 1]));
}

/// Transactions that read keys of one partition, most of them missing at first, one by one and as ranges, and write them.
/// Between two steps a thread may give its core away, so that transactions overlap even where there are few.
fn check_histories(transactions: u64, keys: u64, hot_keys: u64, yields: bool) {
    let (epoch, tree) = (Epoch::default(), Tree::new(1));
    let history = on_threads(&epoch, transactions, |transaction, random, name| {
        let mut seen = Seen { name, reads: Vec::new(), writes: BTreeSet::new() };
        // What is hot moves on, so that keys come all the time.
        let hot = name / u64::from(THREADS) * (keys - hot_keys) / transactions;
        for _ in 0..random.uniform(2..=5) {
            let key = hot + u64::from(random.uniform(0..=hot_keys as u32 - 1));
            match random.uniform(0..=3) {
                0 => {
                    let range = key..=key + 2;
                    let rows: BTreeMap<_, _> = transaction.scan(&tree, 0, range.clone())?.into_iter().collect();
                    seen.reads.extend(range.map(|key| (key, rows.get(&key).copied())));
                }
                1 => {
                    transaction.put(&tree, 0, key, &name);
                    seen.writes.insert(key);
                }
                _ => seen.reads.push((key, transaction.get(&tree, 0, key)?)),
            }
            if yields {
                sometimes_yield(random);
            }
        }
        // What it wrote itself says nothing of others.
        seen.reads.retain(|&(_, writer)| writer != Some(name));
        Ok(seen)
    });
    assert!(serial_order(&history).is_some());
    let tids: BTreeSet<Tid> = history.iter().map(|&(tid, _)| tid).collect();
    assert_eq!(tids.len(), history.len(), "two transactions share a TID");
}

#[test]
fn histories_are_serializable_when_threads_lose_their_cores() {
    check_histories(2_000, 200, 8, true);
}

#[test]
fn histories_are_serializable_when_threads_meet_in_a_commit() {
    check_histories(20_000, 40, 3, false);
}

/// Tokens on the keys of two partitions: a transaction takes one up and puts it down elsewhere. Whoever counts them must
/// find all, once each.
#[test]
fn what_moves_is_always_somewhere() {
    const TOKENS: usize = 3;
    let (epoch, mut tree) = (Epoch::default(), Tree::new(2));
    (0..TOKENS as u64).for_each(|key| tree.load(0, key, &key));
    let tree = tree;
    let counts = on_threads(&epoch, 1_500, |transaction, random, _| {
        let mut tokens = Vec::new();
        for partition in 0..2 {
            let rows = transaction.scan(&tree, partition, 0..=9)?;
            tokens.extend(rows.into_iter().map(|(key, token)| (partition, key, token)));
            sometimes_yield(random);
        }
        if random.chance(50) && !tokens.is_empty() {
            let (partition, key, token) = tokens[random.uniform(0..=tokens.len() as u32 - 1) as usize];
            let (to, at) = (random.uniform(0..=1) as usize, u64::from(random.uniform(0..=9)));
            if transaction.get(&tree, to, at)?.is_none() {
                transaction.remove(&tree, partition, key)?;
                transaction.put(&tree, to, at, &token);
            }
        }
        let mut names: Vec<u64> = tokens.into_iter().map(|(_, _, token)| token).collect();
        names.sort_unstable();
        Ok(names)
    });
    assert!(counts.iter().all(|(_, names)| *names == [0, 1, 2]));
    assert_eq!(tree.records(), Ok(TOKENS), "what was removed is gone from memory");
}

/// Rows of many words that are all the same: a reader never sees a mixture of two, even when it can't commit.
#[test]
fn no_row_is_half_of_one_and_half_of_another() {
    let (epoch, array) = (Epoch::default(), Array::new([[0_u64; 4_000]].into_iter()));
    on_threads(&epoch, 5_000, |transaction, random, name| {
        if random.chance(50) {
            let row = transaction.read(&array, 0)?;
            assert!(row.iter().all(|&word| word == row[0]), "{row:?}");
        } else {
            transaction.update(&array, 0, &[name; 4_000]);
        }
        Ok(())
    });
}
