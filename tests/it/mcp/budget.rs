//! What a reply costs, in an investigation that no reply could hold.

use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;

use serde_json::{Value, json};
use tree_of_thoughts::domain::{Caller, Classification, Event, Node, NodeId, StateName, Timestamp};
use tree_of_thoughts::format;
use tree_of_thoughts::mcp::bounded::LIMIT;
use tree_of_thoughts::mcp::{Tool, tools};
use tree_of_thoughts::service::Service;
use tree_of_thoughts::world::World;

use crate::support::{Sandbox, node};

/// An investigation of 10,021 nodes, 3,000 of them open without children, with long texts in every field.
struct Huge {
    sandbox: Sandbox,
    tools: Vec<Tool>,
    runtime: tokio::runtime::Runtime,
    session: String,
}

impl Huge {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let service = Arc::new(Service::new(sandbox.root(), World::Machine, None));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut huge = Huge { sandbox, tools: tools::all(&service), runtime, session: String::new() };
        let words = "Why is the “sky” blue, and the sea? ".repeat(600);
        huge.session = huge.call("tot_start", json!({"query": words, "context": words}))["sessionId"]
            .as_str()
            .unwrap()
            .to_owned();
        huge.write(&nodes());
        huge
    }

    /// Writes nodes as they are, without judging them, by git itself: that takes a second, and calls would take minutes.
    fn write(&self, nodes: &[Arc<Node>]) {
        let event = Event::Committed { nodes: nodes.to_vec(), transitions: Vec::new() };
        let mut stream = String::from(
            "commit refs/heads/main\ncommitter Tester <tester@localhost> 1767603660 +0000\ndata 4\nGrow\n\
             from refs/heads/main^0\n",
        );
        for file in format::files(&event).unwrap() {
            let content = file.content.unwrap();
            stream.push_str(&format!("M 100644 inline {}\ndata {}\n{content}\n", file.path, content.len()));
        }
        let repository = self.sandbox.repository(&self.session);
        let mut import = self.sandbox.command("git");
        import.arg("-C").arg(&repository).args(["fast-import", "--quiet"]).stdin(Stdio::piped());
        let mut import = import.spawn().unwrap();
        import.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
        assert!(import.wait().unwrap().success());
        self.sandbox.git(&repository, &["reset", "--quiet", "--hard"]);
    }

    /// Calls a tool, and holds its reply to the budget.
    fn call(&self, name: &str, mut input: Value) -> Value {
        if !self.session.is_empty() && name != "tot_list" {
            input["sessionId"] = json!(self.session);
        }
        let tool = self.tools.iter().find(|tool| tool.about().name == name).unwrap();
        let reply = self.runtime.block_on(tool.answer(input.clone(), Caller::default())).content;
        let bytes = reply.to_string().len();
        assert!(bytes <= LIMIT, "{name} {input}: {bytes} bytes: {reply:#}");
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

fn nodes() -> Vec<Arc<Node>> {
    let mut nodes = vec![committed("R1.A", None, "EXPLORE")];
    let letters = |number: usize| {
        format!("{}{}", char::from(b'a' + (number / 26) as u8), char::from(b'a' + (number % 26) as u8))
    };
    for second in 1..=20 {
        let above = format!("R2.A{second}");
        nodes.push(committed(&above, Some("R1.A"), "EXPLORE"));
        for third in 0..50 {
            let middle = format!("R3.A{second}{}", letters(third));
            nodes.push(committed(&middle, Some(&above), "EXPLORE"));
            for fourth in 1..=9 {
                let state = if fourth <= 3 { "EXPLORE" } else { "DEAD" };
                nodes.push(committed(
                    &format!("R4.A{second}{}{fourth}", letters(third)),
                    Some(&middle),
                    state,
                ));
            }
        }
    }
    nodes
}

#[test]
fn every_reply_is_small_however_large_the_investigation() {
    let huge = Huge::new();
    let status = huge.ok("tot_status", json!({}));
    assert_eq!(status["totalNodes"], 10_021);
    let address = format!("tot://{}/graph.dot", huge.session);
    assert_eq!(status["graphResource"], json!(address));
    let more = status["omitted"]["blockers"].as_u64().unwrap();
    assert!(more > 2_900, "{more}");
    huge.ok("tot_list", json!({}));

    // The pages of the incomplete ones leave none out.
    let mut seen = 0;
    let mut cursor = Value::Null;
    for _ in 0..3 {
        let page = huge.ok("tot_status", json!({"cursor": cursor}));
        assert!(page["omitted"]["incomplete"].is_null());
        seen += page["incomplete"].as_array().unwrap().len();
        cursor = page["nextCursor"].clone();
        assert_eq!(cursor, json!(seen.to_string()));
    }
    let full = huge.ok("tot_status", json!({"detail": "full", "cursor": 9_000}));
    assert!(full["listed"].as_array().unwrap().len() > 10 && full["omitted"]["listed"].is_null());

    for input in [json!({}), json!({"maxTasks": 20}), json!({"strategy": "deepen", "maxTasks": 20})] {
        let plan = huge.ok("tot_next", input);
        assert_eq!(plan["nextCall"]["tool"], "tot_step");
    }
    let read =
        huge.ok("tot_read", json!({"nodeIds": ["R1.A", "R2.A1", "R2.A2", "R2.A3", "R3.A1aa", "R4.A1aa1"]}));
    assert!(read["nodes"].as_array().unwrap().len() >= 3, "{read:#}");
    assert!(read["nodes"][0]["findings"].as_str().unwrap().ends_with("its own\n"));

    // A batch that no reply holds, and what follows from it.
    let many: Vec<Value> =
        (1..=600).map(|number| node(&format!("R5.A1aa1{}", letters(number)), Some("R4.A1aa1"))).collect();
    let proposed = huge.ok("tot_propose", json!({"nodes": many}));
    assert!(proposed["omitted"]["pending"].as_u64().unwrap() > 400, "{proposed:#}");
    let plan = huge.ok("tot_next", json!({"maxTasks": 20}));
    let results = plan["nextCall"]["arguments"]["results"].as_array().unwrap().clone();
    assert_eq!(results.len(), 20);
    assert_eq!(plan["tasks"][0]["pending"], true);
    assert_eq!(plan["tasks"][0]["id"], results[0]["nodeId"]);
    let committed = huge.ok("tot_commit", json!({"results": results.clone()}));
    assert_eq!(committed["committed"].as_array().unwrap().len(), 20);
    let step = huge.ok("tot_step", json!({"maxTasks": 20, "nodes": []}));
    assert_eq!(step["nextCall"]["tool"], "tot_commit");
    let is_committed = |id: &Value| results.iter().any(|result| result["nodeId"] == *id);
    let withdrawn: Vec<Value> =
        many.iter().map(|node| node["id"].clone()).filter(|id| !is_committed(id)).collect();
    huge.ok("tot_propose", json!({"withdraw": withdrawn}));
    let turn = huge.ok("tot_step", json!({"maxTasks": 20}));
    assert_eq!(turn["nextCall"]["arguments"]["results"].as_array().unwrap().len(), 20);
    huge.ok("tot_reclassify", json!({"nodeId": "R4.A1aa2", "newState": "DEAD"}));
    let end = huge.call("tot_end", json!({"conclusion": "It scatters."}));
    assert_eq!(end["status"], "REJECTED");
}

#[test]
fn the_reply_of_an_end_is_small_too() {
    let huge = Huge::new();
    let open =
        |node: &&Arc<Node>| node.round() == 4 && node.state().is_some_and(|state| state.as_str() != "DEAD");
    let closed: Vec<Arc<Node>> = nodes()
        .iter()
        .filter(open)
        .map(|node| committed(node.id.as_str(), node.parent.as_ref().map(|parent| parent.as_str()), "DEAD"))
        .collect();
    huge.write(&closed);
    huge.write(&[
        committed("R4.A1aa1", Some("R3.A1aa"), "FOUND"),
        committed("R5.A1aa1a", Some("R4.A1aa1"), "VERIFY"),
    ]);
    let end = huge.ok("tot_end", json!({"conclusion": "It scatters. ".repeat(2_000)}));
    assert_eq!(end["deadEnds"], 8_999);
    assert_eq!(end["solutions"][0]["verifiedBy"], json!(["R5.A1aa1a"]));
    assert_eq!(end["references"][0]["target"], "https://example.org/all");
    assert!(end["references"][0]["omitted"]["citedBy"].as_u64().unwrap() > 10_000, "{end:#}");
}

/// 1 is `a`, 27 is `aa`.
fn letters(mut number: usize) -> String {
    let mut letters = String::new();
    while number > 0 {
        number -= 1;
        letters.insert(0, char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    letters
}
