//! Replies that do not grow with the investigation: what is long is cut until the whole fits, and says what was left out.
//!
//! 1. Lists within entries of lists are cut to a few.
//! 2. Of the lists themselves the longest is cut first; those that the call was made for after all others.
//! 3. Texts that are still too long lose their ends.
//!
//! How many entries a list has lost stands in [`OMITTED`], beside it. What is cut last or never, such as a next call, which
//! must be legal as it stands, the reply's type says at the field: [`KEEP`].

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::text::shorten;
use serde_json::{Map, Value, json};

/// How long a reply may be, in bytes of compact JSON.
pub const LIMIT: usize = 12_000;

/// How long a graph may be that is sent unasked, in bytes: the rest of the reply needs room, too.
pub const GRAPH: usize = 6_000;

/// The field that says how many entries of which list were left out.
pub const OMITTED: &str = "omitted";

/// How a field of a reply is kept where the reply is too long: `#[schemars(extend("x-keep" = "last"))]`. Without the mark
/// its lists are cut first, and its texts after all lists. The mark itself doesn't reach the client.
pub const KEEP: &str = "x-keep";

/// What a field's mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// `last`: a list that the call was made for. Its tool sizes it, so that it is seldom cut.
    Last,
    /// `whole`: nothing in it is cut.
    Whole,
    /// `asked for`: a text that is not cut and, where it is longer than [`GRAPH`], does not count.
    AskedFor,
}

impl Keep {
    /// What a mark says; `None` for any other text.
    pub fn parse(mark: &str) -> Option<Keep> {
        match mark {
            "last" => Some(Keep::Last),
            "whole" => Some(Keep::Whole),
            "asked for" => Some(Keep::AskedFor),
            _ => None,
        }
    }
}

/// The marks of a reply's fields.
pub type Marks = BTreeMap<String, Keep>;

/// The fewest entries that are kept of a list.
const KEPT: usize = 3;

/// How many entries are kept of a list within an entry.
const INNER: usize = 5;

/// How many characters are kept of a text that is too long.
const TEXT: usize = 500;

/// About what it takes to say that a list was cut.
const WORD: usize = 40;

/// The reply within `limit` bytes. The marks are asked for only where it is too long.
pub fn bounded<'a>(mut reply: Value, marks: impl FnOnce() -> &'a Marks, limit: usize) -> Value {
    if size(&reply) <= limit {
        return reply;
    }
    let marks = marks();
    let asked_for = marks.iter().filter(|(_, keep)| **keep == Keep::AskedFor);
    let lengths = asked_for.filter_map(|(name, _)| Some(reply.get(name)?.as_str()?.len()));
    let limit = limit + lengths.filter(|length| *length > GRAPH).sum::<usize>();
    let is_whole = |name: &str| matches!(marks.get(name), Some(Keep::Whole | Keep::AskedFor));
    if size(&reply) <= limit {
        return reply;
    }
    for (_, value) in reply.as_object_mut().into_iter().flatten().filter(|(name, _)| !is_whole(name)) {
        cut_inner(value, false);
    }
    cut_lists(&mut reply, marks, limit);
    if size(&reply) > limit {
        for (_, value) in reply.as_object_mut().into_iter().flatten().filter(|(name, _)| !is_whole(name)) {
            cut_texts(value);
        }
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
fn cut_lists(reply: &mut Value, marks: &Marks, limit: usize) {
    let mut size = size(reply);
    let mut lists = lists(reply, marks);
    for wanted in [false, true] {
        while size + WORD * (1 + lists.iter().filter(|list| list.is_cut()).count()) > limit {
            let able = lists.iter_mut().filter(|list| list.is_wanted == wanted && list.keep > KEPT);
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
        // The tool itself may have left some out.
        if let Value::Object(before) = fields.entry(OMITTED).or_insert_with(|| json!({})) {
            before.extend(omitted);
        }
    }
}

/// Cuts the ends of long texts.
fn cut_texts(value: &mut Value) {
    match value {
        Value::String(text) => *text = shorten(text, TEXT),
        Value::Array(entries) => entries.iter_mut().for_each(cut_texts),
        Value::Object(fields) => fields.values_mut().for_each(cut_texts),
        _ => {}
    }
}

/// A list of the reply, and how many of its entries are kept.
struct List {
    path: String,
    is_wanted: bool,
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
fn lists(reply: &Value, marks: &Marks) -> Vec<List> {
    let list = |path: String, is_wanted: bool, value: &Value| {
        let entries = value.as_array()?;
        let mut sums = vec![0];
        for entry in entries {
            // With the comma behind it.
            sums.push(sums[sums.len() - 1] + size(entry) + 1);
        }
        Some(List { path, is_wanted, keep: entries.len(), sums })
    };
    let mut lists = Vec::new();
    for (name, value) in reply.as_object().into_iter().flatten() {
        let mark = marks.get(name);
        if matches!(mark, Some(Keep::Whole | Keep::AskedFor)) {
            continue;
        }
        lists.extend(list(format!("/{name}"), mark == Some(&Keep::Last), value));
        for (key, inner) in value.as_object().into_iter().flatten() {
            lists.extend(list(format!("/{name}/{key}"), false, inner));
        }
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within_limit(reply: Value) -> Value {
        let marks = ["tasks:last", "nextCall:whole", "dot:asked for"].map(|mark| {
            let (name, keep) = mark.split_once(':').unwrap();
            (name.to_owned(), Keep::parse(keep).unwrap())
        });
        bounded(reply, || Box::leak(Box::new(Marks::from(marks))), LIMIT)
    }

    #[test]
    fn a_short_reply_stays_as_it_is() {
        let reply = json!({"status": "OK", "blockers": [1, 2, 3, 4]});
        assert_eq!(within_limit(reply.clone()), reply);
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let list: Vec<String> = (0..3_000).map(|i| format!("R3.A{i}")).collect();
        let reply = within_limit(json!({"blockers": list, "next": {"parents": list}, "few": [1]}));
        assert!(reply.to_string().len() <= LIMIT);
        let kept = reply["blockers"].as_array().unwrap().len() as u64;
        assert_eq!(kept + reply["omitted"]["blockers"].as_u64().unwrap(), 3_000);
        assert!(reply["omitted"]["next.parents"].is_u64());
        assert_eq!(reply["few"], json!([1]));
    }

    #[test]
    fn a_graph_that_was_asked_for_is_left_and_costs_nothing_else() {
        let reply = json!({"dot": "x".repeat(LIMIT + 1), "blockers": [1, 2, 3, 4, 5]});
        assert_eq!(within_limit(reply.clone()), reply);
    }

    #[test]
    fn what_the_call_was_made_for_is_cut_last() {
        let long = |number: usize| vec!["x".repeat(100); number];
        let reply = within_limit(json!({"tasks": long(80), "blockers": long(60)}));
        assert_eq!(reply["tasks"].as_array().unwrap().len(), 80);
        let kept = reply["blockers"].as_array().unwrap().len() as u64;
        assert_eq!(reply["omitted"], json!({"blockers": 60 - kept}));
        assert!(reply.to_string().len() <= LIMIT);
    }

    #[test]
    fn a_list_in_an_entry_is_cut_and_counted_there() {
        let cited: Vec<String> = (0..3_000).map(|i| format!("R3.A{i}")).collect();
        let reply = within_limit(json!({"references": [{"target": "a", "citedBy": cited}]}));
        assert_eq!(reply["references"][0]["omitted"], json!({"citedBy": 2_995}));
    }

    #[test]
    fn a_next_call_is_never_cut() {
        let results = vec![json!({"findings": "x".repeat(700)}); 30];
        let call = json!({"nextCall": {"arguments": {"results": results}}, "query": "y".repeat(2_000)});
        let reply = within_limit(call.clone());
        assert_eq!(reply["nextCall"], call["nextCall"]);
        assert_eq!(reply["query"].as_str().unwrap().chars().count(), TEXT);
    }
}
