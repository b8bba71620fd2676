//! Coerces an agent's arguments to a tool's schema.
//!
//! [`understand`] is the entry point. It is pure and walks through the schema and the value together:
//!
//! 1. A value that fits is accepted unchanged.
//! 2. A value that doesn't fit but has an obvious meaning is coerced: a number or boolean sent as a string, and the
//!    reverse for a string field; an array, an object or all the arguments sent as JSON text; a single item in place of
//!    a list; a string in place of an object whose only required field is a string; `null`, blank text or an empty list
//!    or object for an absent field or item ([`EMPTY`] marks texts that may be empty); an enum value or field name in
//!    another spelling (`session_id`) or under a synonym (`SAME`: `id` for `nodeId`); `5.0` for 5.
//! 3. Anything else is a [`Misfit`]. All misfits are found in one pass, so an agent can fix all of them at once.
//!
//! Guarantees: the result satisfies the keywords below, so deserialization holds no surprises. No values are invented.
//! The recursion is no deeper than the schema, and text is decoded as JSON only once per level.
//!
//! Limitations: only the keywords that [`schema`](super::schema) generates are supported. These are a single `type`,
//! `properties`, `required`, `additionalProperties`, `items`, `enum`, and bounds on numbers, lengths and lists. A
//! schema without a `type` accepts everything. `pattern`, `anyOf` and other keywords are not checked.

use crate::text::{mended_json, shorten};
use serde_json::{Map, Number, Value};

/// Coerces `input` to `schema`, or returns everything that doesn't fit.
pub fn understand(schema: &Value, input: &Value) -> Result<Value, Vec<Misfit>> {
    let mut misfits = Vec::new();
    let understood = fit(schema, input, "", &mut misfits);
    if misfits.is_empty() { Ok(understood) } else { Err(misfits) }
}

/// A part of the input that doesn't fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Misfit {
    /// The path of the misfit, such as `nodes[0].parent`; empty for the arguments as a whole.
    pub path: String,
    /// What the schema expects.
    pub expected: String,
    /// The received value, shortened.
    pub got: String,
    /// Advice on how to fix the value, if more helpful than `expected`.
    pub suggestion: Option<String>,
}

impl Misfit {
    /// Formats the misfit as one line.
    pub fn message(&self) -> String {
        let place =
            if self.path.is_empty() { "the arguments".to_owned() } else { format!("`{}`", self.path) };
        format!("{place}: expected {}, got {}", self.expected, self.got)
    }
}

/// Returns a call that fits `schema`: its first example, or a call built from its required fields.
pub fn example(schema: &Value) -> Value {
    if let Some(given) = schema["examples"].get(0).or_else(|| schema["enum"].get(0)) {
        return given.clone();
    }
    match kind(schema) {
        Some("object") => {
            let required = names(&schema["required"]);
            let shown = fields(&schema["properties"]).filter(|(name, _)| required.contains(&name.as_str()));
            Value::Object(shown.map(|(name, property)| (name.clone(), example_of(name, property))).collect())
        }
        Some("array") => Value::Array(schema.get("items").map(example).into_iter().collect()),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| Value::from(1)),
        Some("boolean") => Value::Bool(true),
        _ => Value::from("…"),
    }
}

/// Returns an example value for a field. A placeholder contains the field's name.
fn example_of(name: &str, property: &Value) -> Value {
    match example(property) {
        Value::String(blank) if blank == "…" => Value::from(format!("<{name}>")),
        known => known,
    }
}

/// Returns the example with the agent's own values where they fit and are short, since agents copy what they are
/// shown.
pub fn example_like(schema: &Value, sent: &Value) -> Value {
    filled(schema, example(schema), sent)
}

fn filled(schema: &Value, example: Value, sent: &Value) -> Value {
    match (example, sent) {
        (Value::Object(mut shown), Value::Object(sent)) => {
            let none = Map::new();
            let properties = schema["properties"].as_object().unwrap_or(&none);
            for (name, value) in sent {
                let Some(name) = known_name(properties, name) else { continue };
                if let Some(shown) = shown.get_mut(name) {
                    *shown = filled(&properties[name], shown.take(), value);
                }
            }
            Value::Object(shown)
        }
        (Value::Array(mut shown), Value::Array(sent)) => {
            for (shown, sent) in shown.iter_mut().zip(sent) {
                *shown = filled(&schema["items"], shown.take(), sent);
            }
            Value::Array(shown)
        }
        (example, sent) => {
            let is_short = sent.as_str().map_or(!sent.is_null(), |text| text.len() <= SHOWN);
            understand(schema, sent).ok().filter(|_| is_short).unwrap_or(example)
        }
    }
}

/// Pairs of synonymous field names or values. If the schema contains only one name of a pair, that name replaces the
/// other.
const SAME: [[&str; 2]; 6] = [
    ["id", "nodeId"],
    ["id", "nodeIds"],
    ["nodeId", "nodeIds"],
    ["resolve", "resolution"],
    ["object", "objection"],
    ["reply", "answer"],
];

/// Marks an optional text that means something when it is empty: `#[schemars(extend("x-empty" = true))]`.
pub const EMPTY: &str = "x-empty";

/// The maximum length of an invalid value in a message, in characters.
const SHOWN: usize = 60;

/// Returns the value coerced to the schema. If anything is added to `misfits`, the result is meaningless.
fn fit(schema: &Value, value: &Value, path: &str, misfits: &mut Vec<Misfit>) -> Value {
    let understood = match kind(schema) {
        Some("object") => fit_object(schema, value, path, misfits),
        Some("array") => fit_array(schema, value, path, misfits),
        Some("string") => return fit_string(schema, value, path, misfits),
        Some("integer") => number(value).and_then(whole).map(Value::Number),
        Some("number") => number(value).map(Value::Number),
        Some("boolean") => boolean(value),
        _ => Some(value.clone()),
    };
    // A float suffices because the bounds are small: a number too large to be exact is far outside the bounds.
    let size = understood.as_ref().and_then(Value::as_f64);
    match understood.filter(|_| size.is_none_or(|size| is_within(schema, "minimum", "maximum", size))) {
        Some(understood) => understood,
        None => {
            misfits.push(misfit(schema, path, shown(value)));
            Value::Null
        }
    }
}

fn fit_object(schema: &Value, value: &Value, path: &str, misfits: &mut Vec<Misfit>) -> Option<Value> {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let required = names(&schema["required"]);
    let decoded = decoded(value).or_else(|| match (value, required.as_slice()) {
        // The value is a string in place of an object whose only required field is a string.
        (Value::String(_), [only])
            if !path.is_empty() && kind(&schema["properties"][*only]) == Some("string") =>
        {
            Some(Value::Object(Map::from_iter([((*only).to_owned(), value.clone())])))
        }
        _ => None,
    });
    let sent_fields = decoded.as_ref().unwrap_or(value).as_object()?;
    let mut understood = Map::new();
    // The received fields, whether or not they fit. They do not count as missing and are not accepted again in
    // another spelling.
    let mut seen: Vec<&str> =
        properties.keys().map(String::as_str).filter(|name| sent_fields.contains_key(*name)).collect();
    for (sent, value) in sent_fields {
        let Some(name) = known_name(properties, sent) else {
            match &schema["additionalProperties"] {
                Value::Bool(false) => misfits.push(unknown(properties, path, sent)),
                further => {
                    understood.insert(sent.clone(), fit(further, value, &join(path, sent), misfits));
                }
            }
            continue;
        };
        if name != sent {
            if seen.contains(&name) {
                misfits.push(Misfit {
                    path: join(path, sent),
                    expected: format!("`{name}` once"),
                    got: format!("another spelling too, `{sent}`"),
                    suggestion: Some(format!("Send only `{name}`.")),
                });
                continue;
            }
            seen.push(name);
        }
        let property = &properties[name];
        if !required.contains(&name) && means_nothing(property, value) {
            continue;
        }
        understood.insert(name.to_owned(), fit(property, value, &join(path, name), misfits));
    }
    for name in required.into_iter().filter(|name| !seen.contains(name)) {
        let Some(property) = properties.get(name) else { continue };
        misfits.push(Misfit {
            suggestion: Some(format!("Add `{name}`, such as {}.", shown(&example_of(name, property)))),
            ..misfit(property, &join(path, name), "nothing".to_owned())
        });
    }
    Some(Value::Object(understood))
}

fn fit_array(schema: &Value, value: &Value, path: &str, misfits: &mut Vec<Misfit>) -> Option<Value> {
    let decoded = decoded(value);
    let sent = decoded.as_ref().unwrap_or(value);
    let item = &schema["items"];
    let items = match (sent, kind(item)) {
        (Value::Array(items), _) => items.as_slice(),
        (Value::Null, _) | (_, Some("array")) => return None,
        // The value is a single item in place of a list. If objects are expected, an object's JSON text also counts
        // as an item.
        (Value::Object(_), None | Some("object")) => std::slice::from_ref(sent),
        (_, Some("object")) => return None,
        _ if value.is_object() => return None,
        _ => std::slice::from_ref(value),
    };
    let items: Vec<(usize, &Value)> =
        items.iter().enumerate().filter(|(_, value)| kind(item).is_none() || !is_blank(value)).collect();
    if !is_within(schema, "minItems", "maxItems", items.len() as f64) {
        misfits.push(misfit(schema, path, format!("{} items", items.len())));
    }
    Some(items.into_iter().map(|(at, value)| fit(item, value, &format!("{path}[{at}]"), misfits)).collect())
}

/// Returns whether a value sent for an optional field says no more than its absence. Clients fill all fields of a form.
fn means_nothing(schema: &Value, value: &Value) -> bool {
    match (kind(schema), value) {
        (None, _) => false,
        (_, Value::Null) => true,
        (Some("string"), _) => schema.get(EMPTY).is_none() && is_blank(value),
        // An object without required fields and a list that may be empty are valid when empty.
        (_, Value::Array(items)) => schema.get("minItems").is_some() && items.iter().all(is_blank),
        (_, Value::Object(fields)) => schema.get("required").is_some() && fields.values().all(is_blank),
        _ => is_blank(value),
    }
}

fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty())
}

fn fit_string(schema: &Value, value: &Value, path: &str, misfits: &mut Vec<Misfit>) -> Value {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => {
            misfits.push(misfit(schema, path, shown(value)));
            return Value::Null;
        }
    };
    let known = names(&schema["enum"]);
    let alike: Vec<&&str> = known.iter().filter(|name| plain(name) == plain(&text)).collect();
    let length = text.chars().count();
    if known.contains(&text.as_str()) {
        return Value::String(text);
    } else if let [only] = alike.as_slice() {
        return Value::from(**only);
    } else if let Some(name) = other_name(known.iter().copied(), &text) {
        return Value::from(name);
    } else if !known.is_empty() {
        let suggestion = nearest(known.iter().copied(), &text).map(|name| format!("Did you mean `{name}`?"));
        misfits.push(Misfit { suggestion, ..misfit(schema, path, shown(value)) });
    } else if !is_within(schema, "minLength", "maxLength", length as f64) {
        misfits.push(misfit(schema, path, format!("{length} characters")));
    }
    Value::String(text)
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn boolean(value: &Value) -> Option<Value> {
    let text = value.as_str().map(|text| text.trim().to_ascii_lowercase());
    value.as_bool().or_else(|| text?.parse().ok()).map(Value::Bool)
}

/// Returns whether a number or a length is within the bounds set by two keywords.
fn is_within(schema: &Value, least: &str, most: &str, size: f64) -> bool {
    let bound = |word: &str| schema[word].as_f64();
    bound(least).is_none_or(|least| size >= least) && bound(most).is_none_or(|most| size <= most)
}

/// Returns the name of the field that `sent` means: `sent` itself or the only name with an equivalent spelling.
fn known_name<'a>(properties: &'a Map<String, Value>, sent: &str) -> Option<&'a str> {
    if let Some((name, _)) = properties.get_key_value(sent) {
        return Some(name);
    }
    let mut alike = properties.keys().filter(|name| plain(name) == plain(sent));
    match (alike.next(), alike.next()) {
        (Some(name), None) => Some(name),
        (None, _) => other_name(properties.keys().map(String::as_str), sent),
        _ => None,
    }
}

/// Returns the known name that is a synonym of `sent`.
fn other_name<'a>(mut known: impl Iterator<Item = &'a str>, sent: &str) -> Option<&'a str> {
    known.find(|name| {
        let same = SAME.iter().filter(|pair| pair.contains(name)).flatten();
        same.into_iter().any(|other| other != name && plain(other) == plain(sent))
    })
}

fn unknown(properties: &Map<String, Value>, path: &str, sent: &str) -> Misfit {
    let known: Vec<&str> = properties.keys().map(String::as_str).collect();
    let expected = match known.as_slice() {
        [] => "no fields".to_owned(),
        _ => format!("one of the fields {}", quoted_list(&known)),
    };
    Misfit {
        path: join(path, &shorten(sent, SHOWN)),
        expected,
        got: "an unknown field".to_owned(),
        suggestion: nearest(known.iter().copied(), sent).map(|name| format!("Did you mean `{name}`?")),
    }
}

/// Returns the name most similar to `sent`, if it is similar enough to be a typo.
pub fn nearest<'a>(known: impl Iterator<Item = &'a str>, sent: &str) -> Option<&'a str> {
    let sent = plain(&sent.chars().take(100).collect::<String>());
    let slips = |name: &str| strsim::damerau_levenshtein(&plain(name), &sent);
    let near = |name: &str, slips: usize| slips <= (name.len() / 3).max(1);
    let part = |name: &str| sent.len() > 2 && (plain(name).contains(&sent) || sent.contains(&plain(name)));
    let candidates = known.map(|name| (slips(name), name));
    candidates
        .filter(|(slips, name)| near(name, *slips) || part(name))
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, n)| n)
}

/// Normalizes a name, so `session_id` and `sessionId` become identical.
fn plain(name: &str) -> String {
    let kept = name.trim().chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    kept.flat_map(char::to_lowercase).collect()
}

fn whole(number: Number) -> Option<Number> {
    if number.is_i64() || number.is_u64() {
        return Some(number);
    }
    // Above 2^53, a float does not represent a unique integer.
    let size = number.as_f64().filter(|size| size.fract() == 0.0 && size.abs() < 9_007_199_254_740_992.0)?;
    Some(Number::from(size as i64))
}

/// Decodes JSON text that contains an array or an object.
fn decoded(value: &Value) -> Option<Value> {
    let text = value.as_str()?.trim();
    if !text.starts_with(['[', '{']) {
        return None;
    }
    serde_json::from_slice(&mended_json(text.as_bytes())).ok()
}

fn kind(schema: &Value) -> Option<&str> {
    schema["type"].as_str()
}

fn fields(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn misfit(schema: &Value, path: &str, got: String) -> Misfit {
    let example = schema["examples"].get(0);
    Misfit {
        path: path.to_owned(),
        expected: expected(schema),
        got,
        suggestion: example.map(|example| format!("Send it like {}.", shown(example))),
    }
}

fn expected(schema: &Value) -> String {
    let (values, required) = (names(&schema["enum"]), names(&schema["required"]));
    if !values.is_empty() {
        return format!("one of {}", quoted_list(&values));
    }
    let range = |least: &str, most: &str, what: &str| match (schema.get(least), schema.get(most)) {
        (Some(least), Some(most)) => format!(" of {least} to {most}{what}"),
        (Some(least), None) => format!(" of at least {least}{what}"),
        (None, Some(most)) => format!(" of at most {most}{what}"),
        (None, None) => String::new(),
    };
    match kind(schema).unwrap_or("anything") {
        "object" if required.is_empty() => "an object".to_owned(),
        "object" => format!("an object with {}", quoted_list(&required)),
        "array" => {
            let of = kind(&schema["items"]).map(|kind| format!(" of {kind}s")).unwrap_or_default();
            format!("a list{of}{}", range("minItems", "maxItems", " items"))
        }
        "string" => format!("a string{}", range("minLength", "maxLength", " characters")),
        "integer" => format!("an integer{}", range("minimum", "maximum", "")),
        "number" => format!("a number{}", range("minimum", "maximum", "")),
        "boolean" => "true or false".to_owned(),
        other => other.to_owned(),
    }
}

fn quoted_list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn shown(value: &Value) -> String {
    shorten(&value.to_string(), SHOWN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "sessionId": {"type": "string"},
                "nodes": {"type": "array", "minItems": 1, "maxItems": 2, "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string", "maxLength": 8, "examples": ["R1.A"]},
                        "parent": {"type": "string"},
                        "state": {"type": "string", "enum": ["EXPLORE", "DEAD_END"]},
                    },
                    "required": ["id", "parent"],
                    "additionalProperties": false,
                }},
                "withdraw": {"type": "array", "items": {"type": "string"}},
                "findings": {"type": "string"},
                "maxTasks": {"type": "integer", "minimum": 1, "maximum": 20},
                "weight": {"type": "number"},
                "early": {"type": "boolean"},
                "dimensions": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
                "anything": {},
                "state": {"type": "string", "enum": ["a"]},
                "blank": {"type": "string", "x-empty": true},
                "stopped": {"type": "object", "required": ["reason"], "properties": {
                    "reason": {"type": "string", "enum": ["budget"]}, "note": {"type": "string"}}},
            },
            "required": ["sessionId"],
            "additionalProperties": false,
        })
    }

    /// Coerces a call with the given fields and a session.
    fn of(fields: Value) -> Result<Value, Vec<Misfit>> {
        let mut call = json!({"sessionId": "s"});
        if let (Value::Object(call), Value::Object(fields)) = (&mut call, fields) {
            call.extend(fields);
        }
        let mut understood = understand(&schema(), &call)?;
        if let Value::Object(fields) = &mut understood {
            fields.shift_remove("sessionId");
        }
        Ok(understood)
    }

    fn misfit_of(fields: Value) -> Misfit {
        let mut misfits = of(fields).unwrap_err();
        assert_eq!(misfits.len(), 1, "{misfits:?}");
        misfits.remove(0)
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        let call = json!({"nodes": [{"id": "R1.A", "parent": "B", "state": "EXPLORE"}], "withdraw": [],
            "maxTasks": 3, "weight": 0.5, "early": true, "dimensions": {"os": ["linux"]}, "anything": [null, {"a": 1}]});
        assert_eq!(of(call.clone()), Ok(call));
    }

    #[test]
    fn numbers_and_booleans_as_strings() {
        assert_eq!(
            of(json!({"maxTasks": " 5 ", "weight": "0.5", "early": "True"})),
            Ok(json!({"maxTasks": 5, "weight": 0.5, "early": true}))
        );
        assert_eq!(misfit_of(json!({"maxTasks": "many"})).got, "\"many\"");
        assert_eq!(misfit_of(json!({"early": "yes"})).expected, "true or false");
        assert_eq!(misfit_of(json!({"early": 1})).got, "1");
    }

    #[test]
    fn whole_floats_are_integers_and_others_not() {
        assert_eq!(of(json!({"maxTasks": 5.0})), Ok(json!({"maxTasks": 5})));
        assert_eq!(of(json!({"maxTasks": "5.0"})), Ok(json!({"maxTasks": 5})));
        assert_eq!(misfit_of(json!({"maxTasks": 5.5})).expected, "an integer of 1 to 20");
    }

    #[test]
    fn scalars_for_a_string_field() {
        assert_eq!(of(json!({"withdraw": [42, true, "x"]})), Ok(json!({"withdraw": ["42", "true", "x"]})));
        assert_eq!(misfit_of(json!({"withdraw": [["x"]]})).path, "withdraw[0]");
    }

    #[test]
    fn lists_and_objects_as_json_text() {
        let nodes = json!({"nodes": [{"id": "R1.A", "parent": "B"}]});
        assert_eq!(of(json!({"nodes": "[{\"id\": \"R1.A\", \"parent\": \"B\"}]"})), Ok(nodes.clone()));
        assert_eq!(of(json!({"nodes": "{\"id\": \"R1.A\", \"parent\": \"B\"}"})), Ok(nodes.clone()));
        assert_eq!(of(json!({"nodes": ["{\"id\": \"R1.A\", \"parent\": \"B\"}"]})), Ok(nodes));
        assert_eq!(
            of(json!({"dimensions": "{\"os\": \"[\\\"a\\\"]\"}"})),
            Ok(json!({"dimensions": {"os": ["a"]}}))
        );
    }

    #[test]
    fn the_whole_arguments_as_json_text() {
        assert_eq!(understand(&schema(), &json!("{\"sessionId\": \"s\"}")), Ok(json!({"sessionId": "s"})));
        let misfits = understand(&schema(), &json!("hello")).unwrap_err();
        assert_eq!(misfits[0].message(), "the arguments: expected an object with `sessionId`, got \"hello\"");
    }

    #[test]
    fn one_item_where_a_list_is_asked() {
        assert_eq!(
            of(json!({"nodes": {"id": "R1.A", "parent": "B"}, "withdraw": "R1.B"})),
            Ok(json!({"nodes": [{"id": "R1.A", "parent": "B"}], "withdraw": ["R1.B"]}))
        );
        assert_eq!(of(json!({"withdraw": 7})), Ok(json!({"withdraw": ["7"]})));
        // Malformed JSON text is a single string if strings are expected and an error if objects are expected.
        assert_eq!(of(json!({"withdraw": "[x"})), Ok(json!({"withdraw": ["[x"]})));
        assert_eq!(misfit_of(json!({"nodes": "[x"})).expected, "a list of objects of 1 to 2 items");
        assert_eq!(misfit_of(json!({"withdraw": {"a": 1}})).path, "withdraw");
    }

    #[test]
    fn what_is_empty_is_absent() {
        for empty in [json!(null), json!(""), json!(" ")] {
            let names =
                ["maxTasks", "weight", "early", "nodes", "withdraw", "dimensions", "findings", "state"];
            let call: Map<_, _> = names.iter().map(|name| ((*name).to_owned(), empty.clone())).collect();
            assert_eq!(of(Value::Object(call)), Ok(json!({})), "{empty}");
            let node = json!({"id": "R1.A", "parent": "B", "state": empty});
            let fitting = json!({"nodes": [{"id": "R1.A", "parent": "B"}], "withdraw": ["x"]});
            assert_eq!(of(json!({"nodes": [empty, node], "withdraw": [empty, "x", empty]})), Ok(fitting));
            let kept = if empty.is_null() { json!({}) } else { json!({"blank": empty}) };
            assert_eq!(of(json!({"blank": empty})), Ok(kept));
        }
        let stopped = [json!({}), json!({"reason": ""}), json!({"reason": null, "note": " "})];
        assert!(stopped.iter().all(|stopped| of(json!({"stopped": stopped})) == Ok(json!({}))));
        assert_eq!(misfit_of(json!({"stopped": {"reason": "", "note": "x"}})).path, "stopped.reason");
        assert_eq!(of(json!({"nodes": [""]})), Ok(json!({})));
        assert_eq!(misfit_of(json!({"sessionId": null})).path, "sessionId");
        assert_eq!(misfit_of(json!({"nodes": ["", {"id": "x"}]})).path, "nodes[1].parent");
    }

    #[test]
    fn enum_values_in_another_spelling() {
        let state = |state: &str| of(json!({"nodes": [{"id": "a", "parent": "b", "state": state}]}));
        let dead = Ok(json!({"nodes": [{"id": "a", "parent": "b", "state": "DEAD_END"}]}));
        for spelling in ["dead_end", " DEAD_END\n", "Dead-End", "dead end"] {
            assert_eq!(state(spelling), dead, "{spelling}");
        }
        let misfit = state("EXPLORED").unwrap_err().remove(0);
        assert_eq!(
            misfit.message(),
            "`nodes[0].state`: expected one of `EXPLORE`, `DEAD_END`, got \"EXPLORED\""
        );
        assert_eq!(misfit.suggestion.as_deref(), Some("Did you mean `EXPLORE`?"));
    }

    #[test]
    fn field_names_in_another_spelling() {
        assert_eq!(understand(&schema(), &json!({"session_id": "s"})), Ok(json!({"sessionId": "s"})));
        assert_eq!(misfit_of(json!({"MAXTASKS": 2, "max-tasks": null})).path, "max-tasks");
        assert_eq!(misfit_of(json!({"maxTasks": 1, "max_tasks": 2})).expected, "`maxTasks` once");
    }

    #[test]
    fn an_unknown_field_names_the_nearest() {
        let suggestion = |name: &str| misfit_of(json!({ name: 1 })).suggestion;
        assert_eq!(suggestion("withdrawn").as_deref(), Some("Did you mean `withdraw`?"));
        assert_eq!(suggestion("maxTaks").as_deref(), Some("Did you mean `maxTasks`?"));
        assert_eq!(suggestion("zzz"), None);
        assert!(misfit_of(json!({"zzz": 1})).expected.starts_with("one of the fields `sessionId`, `nodes`"));
        // A long name does not fill the reply or take much time.
        assert!(misfit_of(json!({ "z".repeat(100_000): 1 })).path.len() < 100);
    }

    #[test]
    fn bounds_are_held() {
        assert_eq!(misfit_of(json!({"maxTasks": 0})).expected, "an integer of 1 to 20");
        assert_eq!(misfit_of(json!({"maxTasks": "21"})).got, "\"21\"");
        let twice =
            json!([{"id": "a", "parent": "b"}, {"id": "a", "parent": "b"}, {"id": "a", "parent": "b"}]);
        assert_eq!(misfit_of(json!({"nodes": twice})).got, "3 items");
        let long = misfit_of(json!({"nodes": [{"id": "ééééééééé", "parent": "B"}]}));
        assert_eq!(
            long.message(),
            "`nodes[0].id`: expected a string of at most 8 characters, got 9 characters"
        );
        assert!(of(json!({"nodes": [{"id": "éééééééé", "parent": "B"}]})).is_ok());
    }

    #[test]
    fn all_misfits_come_at_once() {
        let call = json!({"nodes": [{"parent": 1}, {"id": {}, "x": 1}], "maxTasks": "x", "foo": 1});
        let paths: Vec<String> =
            understand(&schema(), &call).unwrap_err().into_iter().map(|m| m.path).collect();
        assert_eq!(
            paths,
            ["nodes[0].id", "nodes[1].id", "nodes[1].x", "nodes[1].parent", "maxTasks", "foo", "sessionId"]
        );
    }

    #[test]
    fn a_missing_field_shows_an_example() {
        let misfit = misfit_of(json!({"nodes": [{"parent": "B"}]}));
        assert_eq!(misfit.suggestion.as_deref(), Some("Add `id`, such as \"R1.A\"."));
    }

    #[test]
    fn a_wrong_value_is_shortened() {
        let misfit = misfit_of(json!({"maxTasks": "ö".repeat(10_000)}));
        assert_eq!(misfit.got.chars().count(), SHOWN);
    }

    #[test]
    fn an_example_is_made_from_what_is_required() {
        assert_eq!(example(&schema()), json!({"sessionId": "<sessionId>"}));
        assert_eq!(example(&schema()["properties"]["nodes"]), json!([{"id": "R1.A", "parent": "<parent>"}]));
        let sent = json!({"sessionId": "01a19b7c", "nodes": 7, "what": 1});
        assert_eq!(example_like(&schema(), &sent), json!({"sessionId": "01a19b7c"}), "what fits is kept");
        let given = json!({"type": "object", "examples": [{"a": 1}]});
        assert_eq!(example(&given), json!({"a": 1}));
    }

    #[test]
    fn an_example_is_understood_unchanged() {
        let example = example(&schema());
        assert_eq!(understand(&schema(), &example), Ok(example));
    }

    #[test]
    fn a_schema_without_types_lets_everything_through() {
        assert_eq!(understand(&json!({}), &json!([1, null])), Ok(json!([1, null])));
        assert_eq!(understand(&json!(true), &json!("x")), Ok(json!("x")));
    }

    #[test]
    fn text_in_text_is_not_decoded_for_ever() {
        let once = json!({"sessionId": "s"}).to_string();
        let twice = json!(once).to_string();
        assert!(understand(&schema(), &json!(once)).is_ok());
        assert!(understand(&schema(), &json!(twice)).is_err());
    }

    /// Generates arbitrary JSON from names and values similar to those in the schema.
    fn near_misses() -> impl Strategy<Value = Value> {
        let names =
            ["sessionId", "session_id", "nodes", "id", "parent", "state", "withdraw", "maxTasks", "x"];
        let texts = ["", "5", "5.0", "true", "null", "[1]", "[", "{\"id\": 1}", "dead-end", "EXPLORE", "é"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-30..30i64).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            prop::sample::select(texts.to_vec()).prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, move |inner| {
            let named = (prop::sample::select(names.to_vec()), inner.clone());
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(named, 0..5)
                    .prop_map(|fields| fields.into_iter().map(|(n, v)| (n.to_owned(), v)).collect()),
                inner.prop_map(|value| Value::from(value.to_string())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_was_understood_is_understood_unchanged(mut input in near_misses(), session in any::<bool>()) {
            if let (Value::Object(fields), true) = (&mut input, session) {
                fields.insert("sessionId".to_owned(), json!("s"));
            }
            match understand(&schema(), &input) {
                Ok(understood) => prop_assert_eq!(understand(&schema(), &understood), Ok(understood)),
                Err(misfits) => prop_assert!(!misfits.is_empty()),
            }
        }
    }
}
