//! Replies that do not grow with the investigation: lists are cut until the whole fits, and say what was left out.

use serde_json::{Map, Value, json};

/// How long a reply may be, in bytes of compact JSON.
pub const LIMIT: usize = 12_000;

/// The field that says how many entries of which list were left out.
pub const OMITTED: &str = "omitted";

/// The fewest entries that are kept of a list.
const KEPT: usize = 3;

/// About what it takes to say that a list was cut.
const WORD: usize = 100;

/// The reply within `limit` bytes where its lists allow that. The longest list is halved until the whole fits; texts
/// are never cut here, and a list keeps its first entries.
pub fn bounded(mut reply: Value, limit: usize) -> Value {
    let mut size = reply.to_string().len();
    if size <= limit {
        return reply;
    }
    let mut lists = lists(&reply);
    while size + WORD * lists.iter().filter(|list| list.is_cut()).count() > limit {
        let longest = lists.iter_mut().filter(|list| list.keep > KEPT).max_by_key(|list| list.bytes());
        let Some(list) = longest else { break };
        let before = list.bytes();
        list.keep = (list.keep / 2).max(KEPT);
        size -= before - list.bytes();
    }
    let mut omitted: Map<String, Value> = Map::new();
    for list in lists.iter().filter(|list| list.is_cut()) {
        if let Some(entries) = reply.pointer_mut(&list.path).and_then(Value::as_array_mut) {
            let name = list.path.trim_start_matches('/').replace('/', ".");
            omitted.insert(name, json!(entries.len() - list.keep));
            entries.truncate(list.keep);
        }
    }
    if let Some(fields) = reply.as_object_mut().filter(|_| !omitted.is_empty()) {
        fields.insert(OMITTED.into(), Value::Object(omitted));
    }
    reply
}

/// A list of the reply, and how many of its entries are kept.
struct List {
    path: String,
    /// The bytes of the first so many entries, from none to all.
    sums: Vec<usize>,
    keep: usize,
}

impl List {
    fn bytes(&self) -> usize {
        self.sums[self.keep]
    }

    fn is_cut(&self) -> bool {
        self.keep + 1 < self.sums.len()
    }
}

/// The lists that can be cut: those on the first level, and one below it.
fn lists(reply: &Value) -> Vec<List> {
    let list = |path: String, value: &Value| {
        let entries = value.as_array()?;
        let mut sums = vec![0];
        for entry in entries {
            // With the comma behind it.
            sums.push(sums[sums.len() - 1] + entry.to_string().len() + 1);
        }
        Some(List { path, keep: entries.len(), sums })
    };
    let mut lists = Vec::new();
    for (name, value) in reply.as_object().into_iter().flatten() {
        lists.extend(list(format!("/{name}"), value));
        for (key, inner) in value.as_object().into_iter().flatten() {
            lists.extend(list(format!("/{name}/{key}"), inner));
        }
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_reply_stays_as_it_is() {
        let reply = json!({"status": "OK", "blockers": [1, 2, 3, 4]});
        assert_eq!(bounded(reply.clone(), LIMIT), reply);
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let list: Vec<String> = (0..3_000).map(|i| format!("R3.A{i}")).collect();
        let reply = bounded(json!({"blockers": list, "next": {"parents": list}, "few": [1]}), LIMIT);
        assert!(reply.to_string().len() <= LIMIT);
        let kept = reply["blockers"].as_array().unwrap().len() as u64;
        assert_eq!(kept + reply["omitted"]["blockers"].as_u64().unwrap(), 3_000);
        assert!(reply["omitted"]["next.parents"].is_u64());
        assert_eq!(reply["few"], json!([1]));
    }

    #[test]
    fn what_cannot_be_cut_is_left() {
        let reply = json!({"dot": "x".repeat(LIMIT + 1)});
        assert_eq!(bounded(reply.clone(), LIMIT), reply);
    }
}
