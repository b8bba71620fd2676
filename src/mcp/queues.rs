//! Queues of calls that wait asynchronously for one another, in order of arrival.
//!
//! Calls that write to the same investigation must run one at a time. The store's lock ensures this, but a call that
//! waits for the lock blocks a thread. With queues, many calls to one investigation do not take threads away from other
//! calls, and a client's calls run in the order in which they were sent. Correctness does not depend on the queues: an
//! investigation whose id is spelled in two ways has two queues.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, Weak};

use tokio::sync::Mutex;

/// A set of keyed queues. Each queue exists as long as it contains a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues(Arc<std::sync::Mutex<HashMap<String, Weak<Mutex<()>>>>>);

impl Queues {
    /// Returns the queue for a key.
    pub(super) fn of(&self, key: &str) -> Arc<Mutex<()>> {
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
        let queues = Queues::default();
        let held = queues.of("a").lock_owned().await;
        assert!(queues.of("b").try_lock().is_ok());
        let second = queues.of("a");
        assert!(second.try_lock().is_err());
        drop(held);
        assert!(second.try_lock().is_ok());
    }

    #[test]
    fn queues_that_nobody_is_in_take_no_memory() {
        let queues = Queues::default();
        for number in 0..10_000 {
            drop(queues.of(&number.to_string()));
        }
        assert!(queues.0.lock().unwrap().len() < 100);
    }
}
