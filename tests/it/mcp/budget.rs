//! What a reply costs, as it is sent: in a small investigation, and in those that no reply could hold.

use std::sync::Arc;

use serde_json::{Value, json};
use tree_of_thoughts::base::world::World;
use tree_of_thoughts::domain::{Classification, Event, Node, NodeId, StateName, Timestamp};
use tree_of_thoughts::format;
use tree_of_thoughts::service::Service;
use tree_of_thoughts::service::arguments::coercion;

use super::call;
use crate::support::testing::tries_all;
use crate::support::{Sandbox, all_tools, node, result};

/// An investigation with long texts in every field, a third of its deepest nodes open without children.
struct Grown {
    sandbox: Sandbox,
    service: Arc<Service>,
    session: String,
    is_small: bool,
}

/// How many nodes each node of rounds 1 to 3 has below it.
type Shape = [usize; 3];

const SMALL: Shape = [2, 2, 8];
const LARGE: Shape = [5, 20, 9];
const HUGE: Shape = [20, 50, 9];

/// What a reply of a tool may have by default, in bytes of the whole result: with up to 40 nodes, and beyond.
fn budget(tool: &str) -> (usize, usize) {
    serde_json::from_value(super::table()["tools"][tool]["bytes"].clone()).unwrap()
}

impl Grown {
    fn new(shape: Shape) -> Self {
        let sandbox = Sandbox::new();
        let service = Arc::new(Service::new(sandbox.root(), World::Machine, None));
        let mut grown = Grown { sandbox, service, session: String::new(), is_small: shape == SMALL };
        let words = "Why is the “sky” blue, and the sea? ".repeat(600);
        grown.session = grown.call("tot_start", json!({"query": words, "context": words}))["sessionId"]
            .as_str()
            .unwrap()
            .to_owned();
        grown.write(&nodes(shape));
        grown
    }

    /// Writes nodes as they are, without judging them, by git itself: that takes a second, and calls would take minutes.
    fn write(&self, nodes: &[Arc<Node>]) {
        let event =
            Event::Committed { nodes: nodes.to_vec(), transitions: Vec::new(), attachments: Vec::new() };
        let repository = self.sandbox.repository(&self.session);
        for file in format::files(&event).unwrap() {
            let path = repository.join(&file.path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, file.content.unwrap()).unwrap();
        }
        self.sandbox.git(&repository, &["add", "nodes"]);
        self.sandbox.git(&repository, &["commit", "--quiet", "--message", "Grow"]);
    }

    /// Calls a tool, and holds its reply to the budget.
    fn call(&self, name: &str, input: Value) -> Value {
        let (small, large) = budget(name);
        self.within(if self.is_small { small } else { large }, name, input)
    }

    /// Calls a tool whose reply may have so many bytes.
    fn within(&self, most: usize, name: &str, mut input: Value) -> Value {
        let tool = all_tools().iter().find(|tool| tool.about().name == name).unwrap();
        if tool.input_schema()["properties"]["sessionId"].is_object() {
            input["sessionId"] = json!(self.session);
        }
        let reply = call(&self.service, name, input.clone()).content;
        let sent = json!({"content": [{"type": "text", "text": reply.to_string()}], "isError": false,
            "resultType": "complete"});
        let bytes = sent.to_string().len();
        assert!(bytes <= most, "{name} {input}: {bytes} bytes: {reply:#}");
        reply
    }

    fn ok(&self, name: &str, input: Value) -> Value {
        let reply = self.call(name, input);
        assert_eq!(reply["status"], "OK", "{reply:#}");
        reply
    }
}

fn committed(id: &str, parent: Option<&str>, state: &str) -> Arc<Node> {
    let at = Timestamp::from_milliseconds(1_767_603_600_000).unwrap();
    let findings = format!(
        "{}\n\n## References\n\n- https://example.org/all - cited by all\n- src/{id}.rs:1 - its own\n",
        "Something was found. ".repeat(20)
    );
    let title = format!("{id} {}", "has a title that goes on and on ".repeat(8));
    let parent = parent.map(|parent| parent.parse().unwrap());
    Arc::new(Node {
        planned_action: "Look at it from every side. ".repeat(20),
        classification: Some(Classification {
            agent_id: Some(format!("agent-{id}-{}", "x".repeat(200))),
            ..Classification::new(state.parse::<StateName>().unwrap(), findings, at)
        }),
        ..Node::new(id.parse::<NodeId>().unwrap(), parent, title, at)
    })
}

fn nodes([seconds, thirds, fourths]: Shape) -> Vec<Arc<Node>> {
    let mut nodes = vec![committed("R1.A", None, "EXPLORE")];
    for second in 1..=seconds {
        let above = format!("R2.A{second}");
        nodes.push(committed(&above, Some("R1.A"), "EXPLORE"));
        for third in (0..thirds).map(letters) {
            let middle = format!("R3.A{second}{third}");
            nodes.push(committed(&middle, Some(&above), "EXPLORE"));
            for fourth in 1..=fourths {
                let state = if fourth <= 3 { "EXPLORE" } else { "DEAD" };
                nodes.push(committed(&format!("R4.A{second}{third}{fourth}"), Some(&middle), state));
            }
        }
    }
    nodes
}

/// 0 is `aa`, 1 is `ab`.
fn letters(number: usize) -> String {
    [number / 26, number % 26].map(|letter| char::from(b'a' + letter as u8)).iter().collect()
}

#[test]
fn every_reply_is_short_with_40_and_with_1_000_nodes() {
    every_reply_is_short(SMALL, 39);
    every_reply_is_short(LARGE, 1_006);
}

#[test]
#[ignore = "takes a minute and a half; .ci/run tries it"]
fn every_reply_is_short_with_10_000_nodes() {
    every_reply_is_short(HUGE, 10_021);
}

fn every_reply_is_short(shape: Shape, number: usize) {
    let grown = Grown::new(shape);
    // With a remote, how it stands to that is told as well.
    let repository = grown.sandbox.repository(&grown.session);
    let address = format!("https://me:secret@example.org/{}.git", "long/".repeat(100));
    grown.sandbox.git(&repository, &["remote", "add", "origin", &address]);
    for (key, value) in [("branch.main.remote", "origin"), ("branch.main.merge", "main")] {
        grown.sandbox.git(&repository, &["config", key, value]);
    }
    grown.sandbox.git(&repository, &["update-ref", "refs/remotes/origin/main", "HEAD^"]);
    let status = grown.ok("tot_status", json!({"graph": "auto"}));
    let sync = &status["sync"];
    assert_eq!((&sync["ahead"], &sync["behind"]), (&json!(1), &json!(0)), "{sync}");
    assert!(sync["remote"].as_str().is_some_and(|it| it.starts_with("https://…@example.org/")), "{sync}");
    assert_eq!(status["totalNodes"], number);
    assert_eq!(status["graphResource"], json!(format!("tot://{}/graph.dot", grown.session)));
    let open = shape[0] * shape[1] * 3;
    let owed = status["owed"].as_array().unwrap().iter().find(|it| it["code"] == "INSUFFICIENT_CHILDREN");
    assert_eq!(owed.unwrap()["count"], open, "{status:#}");
    assert!(status["query"].is_string() && status["context"].is_string());
    grown.ok("tot_list", json!({}));

    // The pages of the incomplete ones leave none out.
    let (mut seen, mut cursor) = (0, Value::Null);
    for _ in 0..3 {
        let page = grown.ok("tot_status", json!({"cursor": cursor}));
        assert!(page["omitted"]["incomplete"].is_null());
        seen += page["incomplete"].as_array().unwrap().len();
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
        assert_eq!(cursor, json!(seen.to_string()));
    }
    let full = grown.ok("tot_status", json!({"detail": "full", "cursor": number - 15}));
    assert!(full["listed"].as_array().unwrap().len() > 5 && full["omitted"]["listed"].is_null(), "{full:#}");
    grown.ok("tot_status", json!({"detail": "concise"}));

    let plan = grown.ok("tot_next", json!({}));
    assert_eq!(plan["nextCall"]["tool"], "tot_step");
    assert_eq!(plan["tasks"].as_array().unwrap().len(), 8);
    let read = grown.ok("tot_read", json!({"nodeIds": ["R1.A", "R2.A1", "R2.A2", "R3.A1aa", "R4.A1aa1"]}));
    assert!(read["nodes"].as_array().unwrap().len() >= 3, "{read:#}");
    assert!(read["nodes"][0]["findings"].as_str().unwrap().ends_with("its own\n"));

    // A turn of the loop by hand, then a whole one in one call.
    let three = ["R5.A1aa1a", "R5.A1aa1b", "R5.A1aa1c"];
    let proposed: Vec<Value> = three.iter().map(|id| node(id, Some("R4.A1aa1"))).collect();
    let proposed = grown.ok("tot_propose", json!({"nodes": proposed}));
    assert_eq!(proposed["approvedNodes"], json!(three));
    let results: Vec<Value> = three.iter().map(|id| result(id, "EXPLORE")).collect();
    let committed = grown.ok("tot_commit", json!({"results": results}));
    assert_eq!(committed["committed"].as_array().unwrap().len(), 3);
    let turn = grown.ok("tot_step", json!({}));
    assert_eq!(turn["approvedNodes"].as_array().unwrap().len(), 8);
    assert_eq!(turn["tasks"].as_array().unwrap().len(), 8);
    assert_eq!(turn["nextCall"]["arguments"]["results"].as_array().unwrap().len(), 8);
    let proposed = turn["approvedNodes"].as_array().unwrap();
    let results: Vec<Value> = proposed.iter().map(|id| result(id.as_str().unwrap(), "EXPLORE")).collect();
    let turn = grown.ok("tot_step", json!({"results": results}));
    assert_eq!(turn["committed"].as_array().unwrap().len(), 8);
    grown.ok("tot_next", json!({}));
    let revived = json!({"nodeId": "R4.A1aa4", "newState": "EXPLORE", "reason": "It was not seen."});
    grown.ok("tot_reclassify", revived);
    let end = grown.call("tot_end", json!({"conclusion": "It scatters."}));
    assert_eq!(end["status"], "REJECTED");
    let refused = grown.within(700, "tot_propose", json!({"nodes": [node("R9.A", Some("R1.A"))]}));
    let fields: Vec<&String> = refused.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["status", "message", "errors", "canEnd"]);
    for tool in all_tools() {
        grown.call(tool.about().name, coercion::example(tool.input_schema()));
    }
}

#[test]
fn what_was_written_is_whole_however_much_it_is() {
    let grown = Grown::new(SMALL);
    let ids: Vec<String> = (0..600).map(|number| format!("R5.A1aa1{}", letters(number))).collect();
    let many: Vec<Value> = ids.iter().map(|id| node(id, Some("R4.A1aa1"))).collect();
    let proposed = grown.within(12_000, "tot_propose", json!({"nodes": many}));
    assert_eq!(proposed["approvedNodes"], json!(ids));
    assert!(proposed["omitted"]["pending"].as_u64().unwrap() > 400, "{proposed:#}");
    // More tasks than the default are told all the same.
    let plan = grown.within(8_000, "tot_next", json!({"maxTasks": 20}));
    let results = plan["nextCall"]["arguments"]["results"].as_array().unwrap().clone();
    assert_eq!((results.len(), plan["tasks"].as_array().unwrap().len()), (20, 20));
    assert_eq!(plan["tasks"][0]["pending"], true);
    assert_eq!(plan["tasks"][0]["nodeId"], results[0]["nodeId"]);
    let found: Vec<Value> =
        results.iter().map(|it| result(it["nodeId"].as_str().unwrap(), "EXPLORE")).collect();
    let turn = grown.within(4_000, "tot_commit", json!({"results": found}));
    assert_eq!(turn["committed"].as_array().unwrap().len(), 20);
    let step = grown.within(6_000, "tot_step", json!({"maxTasks": 20, "nodes": []}));
    assert_eq!(step["nextCall"]["tool"], "tot_commit");
    let withdrawn: Vec<&String> =
        ids.iter().filter(|id| !results.iter().any(|result| result["nodeId"] == **id)).collect();
    let reply = grown.within(12_000, "tot_propose", json!({"withdraw": withdrawn}));
    assert_eq!(reply["withdrawn"], json!(withdrawn));
    let turn = grown.within(8_000, "tot_step", json!({"maxTasks": 20}));
    assert_eq!(turn["nextCall"]["arguments"]["results"].as_array().unwrap().len(), 20);
    // Where the list of answers is cut, none is left out of their count.
    let answer = |number| committed(&format!("R2.A{number}"), Some("R1.A"), "FOUND");
    grown.write(&(11..71).map(answer).collect::<Vec<_>>());
    let status = grown.within(6_000, "tot_status", json!({}));
    let shown = status["answers"].as_array().unwrap().len() as u64;
    let left_out = status["omitted"]["answers"].as_u64().unwrap();
    assert!(left_out > 0 && shown + left_out == 60, "{shown} and {left_out}");
}

#[test]
fn the_reply_of_an_end_is_short_too() {
    for shape in [SMALL, if tries_all() { HUGE } else { LARGE }] {
        let grown = Grown::new(shape);
        let mut closed = nodes(shape);
        closed.retain(|node| node.round() == 4);
        for node in &mut closed {
            let parent = node.parent.as_ref().map(|parent| parent.as_str());
            *node = committed(node.id.as_str(), parent, "DEAD");
        }
        closed[0] = committed("R4.A1aa1", Some("R3.A1aa"), "FOUND");
        closed.push(committed("R5.A1aa1a", Some("R4.A1aa1"), "VERIFY"));
        grown.write(&closed);
        let end = grown.ok("tot_end", json!({"conclusion": "It scatters. ".repeat(2_000)}));
        let dead_ends = end["deadEnds"].as_array().unwrap().len() as u64
            + end["omitted"]["deadEnds"].as_u64().unwrap_or(0);
        assert_eq!(dead_ends, shape.iter().product::<usize>() as u64 - 1);
        assert_eq!(end["answers"][0]["verdict"]["confirmedBy"][0]["nodeId"], "R5.A1aa1a");
        assert_eq!(end["references"][0]["target"], "https://example.org/all");
        assert!(end["references"][0]["omitted"]["citedBy"].as_u64().unwrap() > 30, "{end:#}");
        grown.ok("tot_status", json!({}));
    }
}
