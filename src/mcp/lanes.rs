//! Who of several calls in one server is next on an investigation.
//!
//! Calls that write to one investigation go one after the other anyway (`store::Turn`), but there each blocks a thread
//! while it waits. Here they wait without one, in the order they came, so that a crowd on one investigation takes no
//! threads from the others. It is a courtesy: the same investigation under two spellings of its id has two lanes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::Value;

/// The way into one investigation: whoever holds it is the only one there.
pub(super) type Lane = tokio::sync::Mutex<()>;

/// One lane per investigation that calls are writing to.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes(Arc<Mutex<HashMap<String, Weak<Lane>>>>);

impl Lanes {
    /// The lane of the investigation that these arguments name; none is named by those of a start.
    pub(super) fn of(&self, arguments: &Value) -> Option<Arc<Lane>> {
        let id = arguments.get("sessionId")?.as_str()?.trim().to_ascii_lowercase();
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
        let first = lanes.of(&json!({"sessionId": "AAAA"})).unwrap();
        let held = first.lock().await;
        assert!(lanes.of(&json!({"sessionId": "bbbb"})).unwrap().try_lock().is_ok());
        assert!(lanes.of(&json!({"query": "x"})).is_none());
        let second = lanes.of(&json!({"sessionId": " aaaa"})).unwrap();
        assert!(second.try_lock().is_err());
        drop(held);
        assert!(second.try_lock().is_ok());
    }

    #[test]
    fn lanes_that_nobody_is_in_take_no_memory() {
        let lanes = Lanes::default();
        for number in 0..10_000 {
            drop(lanes.of(&json!({"sessionId": number.to_string()})));
        }
        assert!(lanes.0.lock().unwrap().len() < 100);
    }
}
