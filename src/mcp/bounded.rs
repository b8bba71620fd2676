//! Replies that do not grow with the investigation: what is long is cut until the whole fits, and says what was left out.
//!
//! 1. Lists within entries of lists are cut to a few.
//! 2. Of the lists themselves the longest is cut first; those that the call was made for after all others.
//! 3. Texts that are still too long lose their ends.
//!
//! How many entries a list has lost stands in [`OMITTED`], beside it. What is cut last or never, such as a next call, which
//! must be legal as it stands, the reply's type says at the field: [`KEEP`].

use std::collections::BTreeMap;

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

/// The reply within `limit` bytes.
pub fn bounded(mut reply: Value, marks: &Marks, limit: usize) -> Value {
    let asked_for = marks.iter().filter(|(_, keep)| **keep == Keep::AskedFor);
    let lengths = asked_for.filter_map(|(name, _)| Some(reply.get(name)?.as_str()?.len()));
    let limit = limit + lengths.filter(|length| *length > GRAPH).sum::<usize>();
    if size(&reply) <= limit {
        return reply;
    }
    for (_, value) in cuttable(&mut reply, marks) {
        cut_inner(value, false);
    }
    cut_lists(&mut reply, marks, limit);
    if size(&reply) > limit {
        cuttable(&mut reply, marks).for_each(|(_, value)| cut_texts(value));
    }
    reply
}

/// The fields in which something may be cut.
fn cuttable<'a>(reply: &'a mut Value, marks: &'a Marks) -> impl Iterator<Item = (&'a String, &'a mut Value)> {
    let is_whole = |name: &String| matches!(marks.get(name), Some(Keep::Whole | Keep::AskedFor));
    let fields = reply.as_object_mut().into_iter().flatten();
    fields.filter(move |(name, _)| !is_whole(name))
}

/// How long it is as compact JSON.
fn size(value: &Value) -> usize {
    value.to_string().len()
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
    let lists = lists(reply, marks);
    for (path, _) in &lists {
        // What would not even fit alone goes at once: the rest is measured again and again.
        let mut room = limit;
        let fits = |entry: &&Value| {
            let needs = size(entry);
            let fits = needs <= room;
            room = room.saturating_sub(needs);
            fits
        };
        let fitting = reply.pointer(path).and_then(Value::as_array).into_iter().flatten().take_while(fits);
        let keep = fitting.count();
        cut(reply, path, keep);
    }
    for wanted in [false, true] {
        while size(reply) > limit {
            let measured =
                lists.iter().filter(|(_, is_wanted)| *is_wanted == wanted).filter_map(|(path, _)| {
                    let list = reply.pointer(path)?;
                    let length = list.as_array()?.len();
                    (length > KEPT).then(|| (size(list), length, path))
                });
            let Some((_, length, path)) = measured.max_by_key(|(size, ..)| *size) else { break };
            cut(reply, path, length - length.div_ceil(4));
        }
    }
}

/// The lists that can be cut, those on the first level and one below it: where each is, and whether the call was made
/// for it.
fn lists(reply: &mut Value, marks: &Marks) -> Vec<(String, bool)> {
    let mut lists = Vec::new();
    for (name, value) in cuttable(reply, marks) {
        if value.is_array() {
            lists.push((format!("/{name}"), marks.get(name) == Some(&Keep::Last)));
        }
        let inner = value.as_object().into_iter().flatten().filter(|(_, inner)| inner.is_array());
        lists.extend(inner.map(|(key, _)| (format!("/{name}/{key}"), false)));
    }
    lists
}

/// Keeps so many entries of the list, but no fewer than a few, and counts the others.
fn cut(reply: &mut Value, path: &str, keep: usize) {
    let Some(entries) = reply.pointer_mut(path).and_then(Value::as_array_mut) else { return };
    let more = entries.len().saturating_sub(keep.max(KEPT));
    entries.truncate(entries.len() - more);
    let Some(fields) = reply.as_object_mut().filter(|_| more > 0) else { return };
    if let Value::Object(omitted) = fields.entry(OMITTED).or_insert_with(|| json!({})) {
        let name = path.trim_start_matches('/').replace('/', ".");
        // The tool itself may have left some out.
        let before = omitted.get(&name).and_then(Value::as_u64).unwrap_or(0);
        omitted.insert(name, json!(before + more as u64));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn within_limit(reply: Value) -> Value {
        let marks = ["tasks:last", "nextCall:whole", "dot:asked for"].map(|mark| {
            let (name, keep) = mark.split_once(':').unwrap();
            (name.to_owned(), Keep::parse(keep).unwrap())
        });
        bounded(reply, &Marks::from(marks), LIMIT)
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
    fn what_the_tool_left_out_itself_is_counted_too() {
        let list = vec!["x".repeat(100); 300];
        let reply = within_limit(json!({"blockers": list, "omitted": {"blockers": 700}}));
        let kept = reply["blockers"].as_array().unwrap().len();
        assert_eq!(reply["omitted"], json!({"blockers": 1_000 - kept}));
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
