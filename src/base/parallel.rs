//! Parallel work on a slice with a limited number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{panic, thread};

/// Applies `work` to each item on at most `threads` threads. Returns the results in item order.
pub fn each<'i, T: Sync, R: Send>(
    items: &'i [T],
    threads: usize,
    work: impl Fn(&'i T) -> R + Sync,
) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let go_on = || {
        while let Some((at, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?)))
        {
            let result = work(item);
            results.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((at, result));
        }
    };
    thread::scope(|scope| {
        // If no thread can be spawned, the current thread does all the work.
        let begin = |_| thread::Builder::new().spawn_scoped(scope, go_on).ok();
        let workers: Vec<_> = (1..threads.min(items.len())).filter_map(begin).collect();
        go_on();
        for worker in workers {
            if let Err(cause) = worker.join() {
                panic::resume_unwind(cause);
            }
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Returns the number of threads to use for CPU-bound work.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
