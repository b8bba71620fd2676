//! Replies that do not grow with the investigation: lists are cut until the whole fits, and say what was left out.

use serde_json::{Map, Value, json};

/// How long a reply may be, in bytes of compact JSON.
pub const LIMIT: usize = 12_000;

/// The field that says how many entries of which list were left out.
pub const OMITTED: &str = "omitted";

/// The fewest entries that are kept of a list.
const KEPT: usize = 3;

/// The reply within `limit` bytes where its lists allow that. The longest list is halved until the whole fits; texts
/// are never cut here, and a list keeps its first entries.
pub fn bounded(mut reply: Value, limit: usize) -> Value {
    let mut size = reply.to_string().len();
    let mut omitted: Map<String, Value> = Map::new();
    while size + 100 * omitted.len() > limit {
        let Some((path, entries)) = longest(&reply) else { break };
        let Some(list) = reply.pointer_mut(&path).and_then(Value::as_array_mut) else { break };
        let keep = (entries / 2).max(KEPT);
        list.truncate(keep);
        let name = path.trim_start_matches('/').replace('/', ".");
        let before = omitted.get(&name).and_then(Value::as_u64).unwrap_or(0);
        omitted.insert(name, json!(before + (entries - keep) as u64));
        size = reply.to_string().len();
    }
    if let Some(fields) = reply.as_object_mut().filter(|_| !omitted.is_empty()) {
        fields.insert(OMITTED.into(), Value::Object(omitted));
    }
    reply
}

/// The list that takes most room, of those that can still be cut: on the first level, or one below it.
fn longest(reply: &Value) -> Option<(String, usize)> {
    let fields = reply.as_object()?;
    let below = fields
        .iter()
        .filter_map(|(name, value)| Some((name, value.as_object()?)))
        .flat_map(|(name, inner)| inner.iter().map(move |(key, value)| (format!("/{name}/{key}"), value)));
    fields
        .iter()
        .map(|(name, value)| (format!("/{name}"), value))
        .chain(below)
        .filter_map(|(path, value)| Some((path, value.as_array()?)))
        .filter(|(_, list)| list.len() > KEPT)
        .max_by_key(|(_, list)| list.iter().map(|entry| entry.to_string().len()).sum::<usize>())
        .map(|(path, list)| (path, list.len()))
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
