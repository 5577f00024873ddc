//! Random numbers that can be repeated.

use trefoil::runtime::{Builder, RngSeed};
use trefoil::task;

/// Which branches are chosen.
async fn choices() -> Vec<u32> {
    let mut chosen = Vec::new();
    for _ in 0..64 {
        chosen.push(trefoil::select! {
            n = async { 0 } => n,
            n = async { 1 } => n,
            n = async { 2 } => n,
            n = async { 3 } => n,
        });
    }
    chosen
}

/// The choices of three `block_on`s, and of a task on each worker.
fn all(builder: &mut Builder, seed: &[u8]) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
    let runtime = builder.worker_threads(2).rng_seed(RngSeed::from_bytes(seed)).build().unwrap();
    let futures = (0..3).map(|_| runtime.block_on(choices())).collect();
    let tasks = (0..runtime.metrics().num_workers())
        .map(|worker| runtime.block_on(runtime.spawn_pinned(worker, choices())).unwrap())
        .collect();
    (futures, tasks)
}

#[test]
fn the_same_seed_makes_the_same_choices() {
    for builder in [Builder::new_current_thread, Builder::new_multi_thread] {
        let first = all(&mut builder(), b"seed");
        assert_eq!(all(&mut builder(), b"seed"), first);
        assert_ne!(all(&mut builder(), b"another"), first);
        // Not the same choices again and again, and all branches are chosen.
        let mut lists = [first.0, first.1].concat();
        for list in &lists {
            assert!((0..4).all(|branch| list.contains(&branch)), "{list:?}");
        }
        let count = lists.len();
        lists.sort();
        lists.dedup();
        assert_eq!(lists.len(), count);
    }
}

/// A `block_on` inside of another one, of a runtime with another seed, takes no numbers from it.
#[test]
fn a_block_on_within_a_block_on_leaves_the_outer_one_its_numbers() {
    let seeded = |seed: &[u8]| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).rng_seed(RngSeed::from_bytes(seed)).build().unwrap()
    };
    let runs: Vec<_> = [false, true]
        .into_iter()
        .map(|nests| {
            seeded(b"outer").block_on(async {
                let before = choices().await;
                if nests {
                    task::block_in_place(|| seeded(b"inner").block_on(choices()));
                }
                (before, choices().await)
            })
        })
        .collect();
    assert_eq!(runs[0], runs[1]);
}

/// Also of the arms over channels.
#[test]
fn the_same_seed_makes_the_same_choices_among_channels() {
    use trefoil::sync::mpmc;
    let chosen = |seed: &[u8]| {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.rng_seed(RngSeed::from_bytes(seed)).build().unwrap();
        runtime.block_on(async {
            let ((to_a, a), (to_b, b)) = (mpmc::unbounded(), mpmc::unbounded());
            let mut chosen = Vec::new();
            for _ in 0..64 {
                to_a.try_send(1).unwrap();
                to_b.try_send(2).unwrap();
                chosen
                    .push(mpmc::select! { recv(a) -> n => n.unwrap(), recv(b) -> n => n.unwrap() });
            }
            chosen
        })
    };
    assert_eq!(chosen(b"seed"), chosen(b"seed"));
    assert_ne!(chosen(b"seed"), chosen(b"another"));
    assert!([1, 2].iter().all(|arm| chosen(b"seed").contains(arm)));
}
