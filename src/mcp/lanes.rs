//! Who of several calls in one server is next on an investigation.
//!
//! Calls that write to one investigation go one after the other anyway (`store::Turn`), but there each blocks a thread
//! while it waits. Here they wait without one, in the order they came, so that a crowd on one investigation takes no
//! threads from the others. It is a courtesy: the same investigation under two spellings of its id has two lanes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::Value;
use tokio::sync::OwnedMutexGuard;

type Lane = tokio::sync::Mutex<()>;

/// One lane per investigation that calls are writing to.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes(Arc<Mutex<HashMap<String, Weak<Lane>>>>);

impl Lanes {
    /// Waits for the turn on the investigation that these arguments name; none is named by those of a start.
    pub(super) async fn enter(&self, arguments: &Value) -> Option<OwnedMutexGuard<()>> {
        let id = arguments.get("sessionId")?.as_str()?.trim().to_ascii_lowercase();
        Some(self.lane(id)?.lock_owned().await)
    }

    fn lane(&self, id: String) -> Option<Arc<Lane>> {
        // No id is longer; what is none is answered soon.
        if id.len() > 36 {
            return None;
        }
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get(&id).and_then(Weak::upgrade) {
            return Some(lane);
        }
        // Only lanes in use are kept; this is rare enough to look at all of them.
        if lanes.len() == lanes.capacity() {
            lanes.retain(|_, lane| lane.strong_count() > 0);
        }
        let lane = Arc::new(Lane::default());
        lanes.insert(id, Arc::downgrade(&lane));
        Some(lane)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn one_at_a_time_on_one_investigation_and_any_number_on_others() {
        let lanes = Lanes::default();
        let first = lanes.enter(&json!({"sessionId": "AAAA"})).await;
        assert!(first.is_some());
        assert!(lanes.enter(&json!({"sessionId": "bbbb"})).await.is_some());
        assert!(lanes.enter(&json!({"query": "x"})).await.is_none());
        let (arguments, again) = (json!({"sessionId": " aaaa"}), lanes.clone());
        let second = tokio::spawn(async move { again.enter(&arguments).await.is_some() });
        tokio::task::yield_now().await;
        assert!(!second.is_finished());
        drop(first);
        assert!(second.await.unwrap());
    }

    #[tokio::test]
    async fn lanes_that_nobody_is_in_take_no_memory() {
        let lanes = Lanes::default();
        for number in 0..10_000 {
            drop(lanes.enter(&json!({"sessionId": number.to_string()})).await);
        }
        assert!(lanes.0.lock().unwrap().len() < 100);
    }
}
