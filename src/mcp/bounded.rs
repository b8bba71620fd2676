//! Limits the size of replies: cuts advice to a size that does not grow with the investigation, and counts omissions.
//!
//! 1. Lists nested in list entries are cut to a few entries.
//! 2. Lists are cut, longest first.
//! 3. Long strings are truncated. Node ids stay whole, since calls need them.
//!
//! The field [`OMITTED`] next to the lists contains the number of entries omitted from each.

use crate::domain::NodeId;
use crate::service::reply::sent;
use crate::text::shorten;
use serde_json::{Map, Value, json};

/// The field with the number of entries omitted from each list.
pub const OMITTED: &str = "omitted";

/// The minimum number of entries to keep in a list.
const KEPT: usize = 3;

/// The maximum number of entries in a list nested in an entry.
const INNER: usize = 5;

/// The lengths to which long strings are truncated, in characters. They are tried in order until everything fits.
const TEXTS: [usize; 3] = [300, 120, 40];

/// Cuts the fields to `room` bytes, or as close to that size as possible.
pub fn bounded(mut fields: Map<String, Value>, room: usize) -> Map<String, Value> {
    if sent(&fields) <= room {
        return fields;
    }
    fields.values_mut().for_each(|value| cut_inner(value, false));
    cut_lists(&mut fields, room);
    for length in TEXTS {
        if sent(&fields) > room {
            fields.values_mut().for_each(|value| cut_texts(value, length));
        }
    }
    fields
}

/// Cuts the lists nested in list entries.
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

/// Cuts lists until the fields fit.
fn cut_lists(fields: &mut Map<String, Value>, room: usize) {
    let names: Vec<String> =
        fields.iter().filter(|(_, value)| value.is_array()).map(|(name, _)| name.clone()).collect();
    for name in &names {
        // Entries that would not fit even if this were the only list are cut first, because the loop below measures
        // all fields repeatedly.
        let mut left = room;
        let fits = |entry: &&Value| {
            let needs = sent(entry);
            let fits = needs <= left;
            left = left.saturating_sub(needs);
            fits
        };
        let keep = fields[name].as_array().into_iter().flatten().take_while(fits).count();
        cut(fields, name, keep);
    }
    while sent(fields) > room {
        let measured = names.iter().filter_map(|name| {
            let length = fields[name].as_array()?.len();
            (length > KEPT).then(|| (sent(&fields[name]), length, name))
        });
        let Some((_, length, name)) = measured.max_by_key(|(size, ..)| *size) else { break };
        cut(fields, name, length - length.div_ceil(4));
    }
}

/// Keeps the first `keep` entries of a list, but at least [`KEPT`], and counts the omitted ones.
fn cut(fields: &mut Map<String, Value>, name: &str, keep: usize) {
    let Some(entries) = fields.get_mut(name).and_then(Value::as_array_mut) else { return };
    let more = entries.len().saturating_sub(keep.max(KEPT));
    entries.truncate(entries.len() - more);
    if more == 0 {
        return;
    }
    if let Value::Object(omitted) = fields.entry(OMITTED).or_insert_with(|| json!({})) {
        // The tool itself may have omitted entries already.
        let before = omitted.get(name).and_then(Value::as_u64).unwrap_or(0);
        omitted.insert(name.to_owned(), json!(before + more as u64));
    }
}

/// Truncates long strings.
fn cut_texts(value: &mut Value, length: usize) {
    match value {
        Value::String(text) if text.parse::<NodeId>().is_ok() => {}
        Value::String(text) => *text = shorten(text, length),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| cut_texts(entry, length)),
        Value::Object(fields) => fields.values_mut().for_each(|value| cut_texts(value, length)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 12_000;

    fn within(fields: Value) -> Value {
        let Value::Object(fields) = fields else { panic!("{fields}") };
        Value::Object(bounded(fields, ROOM))
    }

    #[test]
    fn what_is_short_stays_as_it_is() {
        let advice = json!({"owed": [1, 2, 3, 4]});
        assert_eq!(within(advice.clone()), advice);
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let list: Vec<String> = (0..3_000).map(|i| format!("R3.A{i}")).collect();
        let advice = within(json!({"owed": list, "few": [1]}));
        assert!(sent(&advice) <= ROOM);
        let kept = advice["owed"].as_array().unwrap().len() as u64;
        assert_eq!(kept + advice["omitted"]["owed"].as_u64().unwrap(), 3_000);
        assert_eq!(advice["few"], json!([1]));
    }

    #[test]
    fn what_the_tool_left_out_itself_is_counted_too() {
        let list = vec!["x".repeat(100); 300];
        let advice = within(json!({"owed": list, "omitted": {"owed": 700}}));
        let kept = advice["owed"].as_array().unwrap().len();
        assert_eq!(advice["omitted"], json!({"owed": 1_000 - kept}));
    }

    #[test]
    fn a_list_in_an_entry_is_cut_and_counted_there() {
        let cited: Vec<String> = (0..3_000).map(|i| format!("R3.A{i}")).collect();
        let advice = within(json!({"references": [{"target": "a", "citedBy": cited}]}));
        assert_eq!(advice["references"][0]["omitted"], json!({"citedBy": 2_995}));
    }

    #[test]
    fn a_long_id_is_not_cut_so_that_a_call_can_use_it() {
        let id = format!("R9.A{}", "1a".repeat(30));
        let advice = within(json!({"warnings": [{"message": "x".repeat(70_000), "nodeId": id}]}));
        assert_eq!(advice["warnings"][0]["nodeId"], json!(id));
        assert!(sent(&advice) <= ROOM);
    }

    #[test]
    fn long_texts_lose_their_ends_in_the_end() {
        for text in ["“quoted” \\".repeat(7_000), "\\".repeat(70_000)] {
            let advice = within(json!({"summaries": vec![json!({"text": text}); 3], "one": text}));
            assert!(sent(&advice) <= ROOM);
        }
    }
}
