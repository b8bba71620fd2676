//! Plays the conformance vectors (see `tests/vectors/FORMAT.md`) on one server with a simulated clock. `run_vectors.py`
//! plays them against any server.

use serde_json::{Value, json};
use tree_of_thoughts::yaml;

use crate::support::{Sandbox, Server, codes};

#[test]
fn the_conformance_vectors_hold() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server_with(&["--durability", "git"]);
    let (mut played, mut wrong) = (0, Vec::new());
    for (file, text) in crate::tidy::files("tests/vectors", &["yaml"]) {
        played += 1;
        for fault in play(&sandbox, &mut server, &yaml::from_text(&text).unwrap()) {
            wrong.push(format!("{}: {fault}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(played >= 65, "{played}");
}

/// Plays a vector, and returns the differences from what it expects.
fn play(sandbox: &Sandbox, server: &mut Server, vector: &Value) -> Vec<String> {
    let (mut session, mut wrong) = (Value::Null, Vec::new());
    for (number, step) in vector["steps"].as_array().unwrap().iter().enumerate() {
        sandbox.sleep(step["wait"].as_i64().unwrap_or(0));
        let tool = step["tool"].as_str().unwrap();
        let mut arguments = step["args"].clone();
        if tool == "tot_start" {
            // With a stopped clock, two identical starts would be one.
            sandbox.sleep(1);
            arguments["ruleset"] = vector["ruleset"].clone();
        } else if arguments["sessionId"] == "$session" {
            arguments["sessionId"] = session.clone();
        }
        let reply = server.call(tool, arguments);
        if tool == "tot_start" {
            session = reply["sessionId"].clone();
        }
        let Some(expected) = step["expect"].as_object() else { continue };
        // If the reply omits an expected value, it is read from the status.
        let asked = expected.keys().any(|key| key != "status");
        let mut ask = || server.call("tot_status", json!({"sessionId": session, "graph": "dot"}));
        let after = Told { status: if asked { ask() } else { Value::Null }, reply };
        for (key, wanted) in expected {
            if !after.is(key, wanted) {
                wrong.push(format!("step {}, {tool}: {key} is not {wanted}: {:#}", number + 1, after.reply));
            }
        }
    }
    wrong
}

/// A reply and the subsequent status, which contains what the reply omits.
struct Told {
    reply: Value,
    status: Value,
}

impl Told {
    fn is(&self, key: &str, wanted: &Value) -> bool {
        let list = || wanted.as_array().map_or_else(|| vec![wanted], |list| list.iter().collect());
        let all = |holds: &dyn Fn(&str) -> bool| list().iter().all(|item| holds(item.as_str().unwrap()));
        let has = |field: &str, code: &str| codes(&self.reply[field]).iter().any(|known| known == code);
        let ids = |field: &str| {
            let given: Vec<&str> = self.reply[field].as_array().unwrap().iter().map(id).collect();
            let (mut given, mut wanted) = (given, list().into_iter().map(id).collect::<Vec<_>>());
            given.sort_unstable();
            wanted.sort_unstable();
            given == wanted
        };
        let text = |value: &Value| value.to_string().to_lowercase();
        let is_owed =
            |id_: &str| self.status["incomplete"].as_array().unwrap().iter().any(|it| id(it) == id_);
        let dot = || self.value("finalDot").or_else(|| self.value("dot")).unwrap().as_str().unwrap();
        let refers = |to: &str| text(&self.reply["references"]).contains(&to.to_lowercase());
        match key {
            "status" => self.reply["status"] == *wanted,
            "errors" => all(&|code| has("errors", code)),
            "no_errors" => all(&|code| !has("errors", code)),
            "warnings" => all(&|code| has("warnings", code)),
            "no_warnings" => all(&|code| !has("warnings", code)),
            "node_states" => wanted.as_object().unwrap().iter().all(|(id, state)| {
                let name = format!("  {} [", id.replace('.', "_"));
                let line = self.status["dot"].as_str().unwrap().lines().find(|line| line.starts_with(&name));
                // An answer's verdict follows its state.
                let ends = [")", ", "].map(|end| format!("\\n({}{end}", state.as_str().unwrap()));
                line.is_some_and(|line| ends.iter().any(|end| line.contains(end)))
            }),
            "can_end" => self.value("canEnd") == Some(wanted),
            "current_round" => self.value("currentRound") == Some(wanted),
            "total_nodes" => self.value("totalNodes") == Some(wanted),
            "nodes_required" => self.value("nodesRequired") == Some(wanted),
            "dead_ends" => {
                self.reply["deadEnds"].as_array().map(Vec::len) == wanted.as_u64().map(|it| it as usize)
            }
            "pending" => all(&|id| is_owed(id)),
            "not_pending" => all(&|id| !is_owed(id)),
            "reason_contains" => all(&|words| text(&self.reply).contains(&words.to_lowercase())),
            "solutions" | "theories" => ids(key),
            "references_include" => all(&refers),
            "references_exclude" => all(&|to| !refers(to)),
            "dot_contains" => all(&|words| dot().contains(words)),
            "dot_excludes" => all(&|words| !dot().contains(words)),
            "quality" => wanted.as_object().unwrap().iter().all(|(name, figure)| {
                let given = self.value("quality").unwrap()[name].as_f64().unwrap();
                (given - figure.as_f64().unwrap()).abs() <= 0.001
            }),
            "fields" => {
                wanted.as_object().unwrap().iter().all(|(name, value)| self.value(name) == Some(value))
            }
            unknown => panic!("`{unknown}` is nothing that can be expected"),
        }
    }

    /// Returns the named value from the reply or the status, at the top level or in a nested object.
    fn value(&self, name: &str) -> Option<&Value> {
        fn in_one<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
            let fields = value.as_object()?;
            fields.get(name).or_else(|| fields.values().find_map(|inner| in_one(inner, name)))
        }
        in_one(&self.reply, name).or_else(|| in_one(&self.status, name))
    }
}

/// Returns the node id of an entry, which is a string that begins with the id, or an object.
fn id(entry: &Value) -> &str {
    let text = entry.as_str().or_else(|| entry["nodeId"].as_str()).or_else(|| entry["id"].as_str());
    text.unwrap_or_else(|| panic!("{entry}")).split(' ').next().unwrap()
}
