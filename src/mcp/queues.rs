//! Queues of calls that wait asynchronously for one another, in order of arrival.
//!
//! Calls that write to the same investigation must run one at a time. The store's lock ensures this, but a call that
//! waits for the lock blocks a thread. With queues, many calls to one investigation do not take threads away from other
//! calls, and a client's calls run in the order in which they were sent. Correctness does not depend on the queues: an
//! investigation whose id is spelled in two ways has two queues.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, Weak};

use tokio::sync::Mutex;

/// A set of keyed queues. Each queue exists as long as it contains a call and holds a value that the call at its head
/// may use.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues<T>(Arc<std::sync::Mutex<HashMap<String, Weak<Mutex<T>>>>>);

impl<T: Default> Queues<T> {
    /// Returns the queue for a key.
    pub(super) fn of(&self, key: &str) -> Arc<Mutex<T>> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(key).and_then(Weak::upgrade) {
            return queue;
        }
        // Removes unused queues. This happens rarely enough to scan all queues.
        if queues.len() == queues.capacity() {
            queues.retain(|_, queue| queue.strong_count() > 0);
        }
        let queue = Arc::default();
        queues.insert(key.to_owned(), Arc::downgrade(&queue));
        queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_at_a_time_by_one_key_and_any_number_by_others() {
        let queues = Queues::<u32>::default();
        let held = queues.of("a").lock_owned().await;
        assert!(queues.of("b").try_lock().is_ok());
        let second = queues.of("a");
        assert!(second.try_lock().is_err());
        drop(held);
        assert!(second.try_lock().is_ok());
    }

    #[tokio::test]
    async fn what_was_left_for_the_next_one_goes_with_the_last() {
        let queues = Queues::<u32>::default();
        let (first, second) = (queues.of("a"), queues.of("a"));
        *first.lock().await = 5;
        drop(first);
        assert_eq!(*second.lock().await, 5);
        drop(second);
        assert_eq!(*queues.of("a").lock().await, 0);
    }

    #[test]
    fn queues_that_nobody_is_in_take_no_memory() {
        let queues = Queues::<u32>::default();
        for number in 0..10_000 {
            drop(queues.of(&number.to_string()));
        }
        assert!(queues.0.lock().unwrap().len() < 100);
    }
}
