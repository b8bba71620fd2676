//! Replies that do not grow with the investigation: what is long is cut until the whole fits, and says what was left out.
//!
//! 1. Lists within entries of lists are cut to a few.
//! 2. Of the lists themselves the longest is cut first; those that the call was made for (`WANTED`) after all others.
//! 3. Texts that are still too long lose their ends.
//!
//! How many entries a list has lost stands in [`OMITTED`], beside it. Never cut: a next call, which must be legal as it
//! stands, and texts that are asked for as they are (`WHOLE`). A graph that is longer than one that comes unasked was
//! asked for by name: it does not count.

use std::io::{self, Write};

use crate::text::shorten;
use serde_json::{Map, Value, json};

/// How long a reply may be, in bytes of compact JSON.
pub const LIMIT: usize = 12_000;

/// How long a graph may be that is sent unasked, in bytes: the rest of the reply needs room, too.
pub const GRAPH: usize = 6_000;

/// The field that says how many entries of which list were left out.
pub const OMITTED: &str = "omitted";

/// Lists that are cut last. Their tools size them, so that this is seldom needed.
const WANTED: [&str; 6] = ["/tasks", "/nodes", "/investigations", "/solutions", "/incomplete", "/listed"];

/// Texts that are never cut here.
const WHOLE: [&str; 6] = ["dot", "finalDot", "mermaid", "findings", "instructions", "index"];

/// The call that is next.
const NEXT_CALL: &str = "nextCall";

/// The fewest entries that are kept of a list.
const KEPT: usize = 3;

/// How many entries are kept of a list within an entry.
const INNER: usize = 5;

/// How many characters are kept of a text that is too long.
const TEXT: usize = 500;

/// About what it takes to say that a list was cut.
const WORD: usize = 40;

/// The reply within `limit` bytes.
pub fn bounded(mut reply: Value, limit: usize) -> Value {
    let asked_for = ["dot", "finalDot", "mermaid"].into_iter().filter_map(|name| reply.get(name)?.as_str());
    let limit = limit + asked_for.map(str::len).filter(|length| *length > GRAPH).sum::<usize>();
    if size(&reply) <= limit {
        return reply;
    }
    for (name, value) in reply.as_object_mut().into_iter().flatten() {
        if name != NEXT_CALL {
            cut_inner(value, false);
        }
    }
    cut_lists(&mut reply, limit);
    if size(&reply) > limit {
        cut_texts(&mut reply);
    }
    reply
}

/// How long it is as compact JSON. Counted and not written down: a list of thousands is measured entry by entry.
fn size(value: &Value) -> usize {
    let mut length = Length(0);
    match serde_json::to_writer(&mut length, value) {
        Ok(()) => length.0,
        // Counting can't fail; if it did, nothing would be known to fit.
        Err(_) => usize::MAX,
    }
}

struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Cuts the lists that stand in entries of a list.
fn cut_inner(value: &mut Value, in_entry: bool) {
    match value {
        Value::Array(entries) => entries.iter_mut().for_each(|entry| cut_inner(entry, true)),
        Value::Object(fields) => {
            let mut omitted: Map<String, Value> = Map::new();
            for (name, value) in fields.iter_mut() {
                if let Some(list) = value.as_array_mut().filter(|list| in_entry && list.len() > INNER) {
                    omitted.insert(name.clone(), json!(list.len() - INNER));
                    list.truncate(INNER);
                }
                cut_inner(value, in_entry);
            }
            if !omitted.is_empty() {
                fields.insert(OMITTED.into(), Value::Object(omitted));
            }
        }
        _ => {}
    }
}

/// Cuts the lists of the reply, as far as it takes.
fn cut_lists(reply: &mut Value, limit: usize) {
    let mut size = size(reply);
    let mut lists = lists(reply);
    for wanted in [false, true] {
        while size + WORD * (1 + lists.iter().filter(|list| list.is_cut()).count()) > limit {
            let able = lists.iter_mut().filter(|list| list.is_wanted() == wanted && list.keep > KEPT);
            let Some(list) = able.max_by_key(|list| list.bytes()) else { break };
            let before = list.bytes();
            list.keep = (list.keep - list.keep.div_ceil(4)).max(KEPT);
            size -= before - list.bytes();
        }
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
}

/// Cuts the ends of long texts.
fn cut_texts(value: &mut Value) {
    match value {
        Value::String(text) => *text = shorten(text, TEXT),
        Value::Array(entries) => entries.iter_mut().for_each(cut_texts),
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                if name != NEXT_CALL && !WHOLE.contains(&name.as_str()) {
                    cut_texts(value);
                }
            }
        }
        _ => {}
    }
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

    fn is_wanted(&self) -> bool {
        WANTED.contains(&self.path.as_str())
    }
}

/// The lists that can be cut: those on the first level, and one below it.
fn lists(reply: &Value) -> Vec<List> {
    let list = |path: String, value: &Value| {
        let entries = value.as_array()?;
        let mut sums = vec![0];
        for entry in entries {
            // With the comma behind it.
            sums.push(sums[sums.len() - 1] + size(entry) + 1);
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
    fn a_graph_that_was_asked_for_is_left_and_costs_nothing_else() {
        let reply = json!({"dot": "x".repeat(LIMIT + 1), "blockers": [1, 2, 3, 4, 5]});
        assert_eq!(bounded(reply.clone(), LIMIT), reply);
    }

    #[test]
    fn what_the_call_was_made_for_is_cut_last() {
        let long = |number: usize| vec!["x".repeat(100); number];
        let reply = bounded(json!({"tasks": long(80), "blockers": long(60)}), LIMIT);
        assert_eq!(reply["tasks"].as_array().unwrap().len(), 80);
        let kept = reply["blockers"].as_array().unwrap().len() as u64;
        assert_eq!(reply["omitted"], json!({"blockers": 60 - kept}));
        assert!(reply.to_string().len() <= LIMIT);
    }

    #[test]
    fn a_list_in_an_entry_is_cut_and_counted_there() {
        let cited: Vec<String> = (0..3_000).map(|i| format!("R3.A{i}")).collect();
        let reply = bounded(json!({"references": [{"target": "a", "citedBy": cited}]}), LIMIT);
        assert_eq!(reply["references"][0]["omitted"], json!({"citedBy": 2_995}));
    }

    #[test]
    fn a_next_call_is_never_cut() {
        let results = vec![json!({"findings": "x".repeat(700)}); 30];
        let call = json!({"nextCall": {"arguments": {"results": results}}, "query": "y".repeat(2_000)});
        let reply = bounded(call.clone(), LIMIT);
        assert_eq!(reply["nextCall"], call["nextCall"]);
        assert_eq!(reply["query"].as_str().unwrap().chars().count(), TEXT);
    }
}
