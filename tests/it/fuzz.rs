//! Everything that reads what others wrote, fed with what nobody would write: the files of an investigation, the ruleset
//! file, the ids, the paths, the input of every tool, and the lines of the protocol.
//!
//! What holds for any input: nothing panics, nothing hangs, and what is understood is written back and understood as
//! the same. `cargo test` tries some dozens of inputs per target, a few hundred with `TOT_CASES=all`; `TOT_FUZZ_SECONDS=600` goes on
//! with new ones for that long, per target.
//!
//! On 2026-11-21 each of the eleven targets of that day (the files, ids, paths, and six tools) ran for ten minutes, with 16,000
//! to 540,000 inputs: no finding. The newer ones later on that day, in a debug build on 4 busy cores, two or three at a time:
//!
//! | target | minutes | inputs | findings |
//! |---|---:|---:|---:|
//! | `tot_read` | 10 | 507,136 | 0 |
//! | `tot_list` | 10 | 640,256 | 0 |
//! | `tot_report` | 10 | 48,640 | 0 |
//! | `tot_next` | 10 | 339,200 | 0 |
//! | `tot_step` | 10 | 105,472 | 0 |
//! | addresses, prompts, completions | 10 | 407,552 | 0 |
//! | lines of the protocol | 10 | not counted | 0 |
//!
//! On 2026-11-22, after changes to what they go through, the lines of the protocol, `tot_status` and `tot_report` ran for ten minutes
//! again, in a debug build on 2 cores that had more to do: no finding.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::{Value, json};
use tree_of_thoughts::base::world::World;
use tree_of_thoughts::domain::{Comment, Conclusion, Meta, Node, NodeId, SessionId, StateName, Timestamp};
use tree_of_thoughts::format::{StoredFile, layout};
use tree_of_thoughts::mcp::tools;
use tree_of_thoughts::ruleset::{RulesetFile, builtin};
use tree_of_thoughts::service::Service;
use tree_of_thoughts::service::arguments::coercion;
use tree_of_thoughts::store::Durability;
use tree_of_thoughts::yaml;

use crate::mcp::call;
use crate::support::http::initialize;
use crate::support::testing::sampled;
use crate::support::{all_tools, node, result};

/// The longest that one input may take: seconds more than any needs, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(10);

/// Feeds values of the strategy to checks: one batch, or batches until `TOT_FUZZ_SECONDS` are over. Each batch has a
/// check of its own, so that a world can be left behind.
fn fuzz<S: Strategy, C: Fn(S::Value)>(strategy: S, new_check: impl Fn() -> C) {
    let seconds = std::env::var("TOT_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let until = Instant::now() + Duration::from_secs(seconds);
    // For long, with new ones in each batch.
    let rng_seed = if seconds > 0 { RngSeed::Random } else { sampled(256).rng_seed };
    let config = Config { rng_seed, ..sampled(256) };
    let cases = u64::from(config.cases);
    let mut tried = 0;
    loop {
        let check = new_check();
        let outcome = TestRunner::new(config.clone()).run(&strategy, |value| {
            let since = Instant::now();
            check(value);
            let took = since.elapsed();
            prop_assert!(took < PATIENCE, "it took {took:?}");
            Ok(())
        });
        if let Err(finding) = outcome {
            panic!("{finding}");
        }
        tried += cases;
        if Instant::now() >= until {
            eprintln!("{tried} inputs");
            return;
        }
    }
}

/// What hurts readers of YAML, JSON, numbers, times, ids and paths.
static POISON: LazyLock<Vec<String>> =
    LazyLock::new(|| serde_json::from_str(include_str!("fuzz/poison.json")).unwrap());

/// One blow at a valid text: its kind, two places or lengths, and a new text.
type Blow = (u8, usize, usize, String);

fn poison() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(POISON.as_slice()),
        2 => "(?s).{0,30}",
        1 => "[ -~\\n]{0,40}",
        1 => (proptest::sample::select(POISON.as_slice()), 1..2_000usize).prop_map(|(text, times)| text.repeat(times)),
    ]
}

fn blow() -> impl Strategy<Value = Blow> {
    (0..7u8, any::<usize>(), any::<usize>(), poison())
}

/// The text after the blow.
fn strike(text: &str, (kind, one, other, new): &Blow) -> String {
    let place = |at: usize| {
        let mut at = at % (text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if lines.is_empty() {
        lines.push(String::new());
    }
    let (line, second) = (one % lines.len(), other % lines.len());
    match kind {
        // The text at one place becomes another.
        0 => {
            let from = place(*one);
            let to = place(from + (other % 40).min(text.len() - from)).max(from);
            return format!("{}{new}{}", &text[..from], &text[to..]);
        }
        // The value of a line becomes another.
        1 => {
            let end = lines[line].find(": ").map_or(0, |colon| colon + 2);
            lines[line] = format!("{}{new}\n", &lines[line][..end]);
        }
        // The line is there twice, is gone, changes places, or moves to the right.
        2 => lines.insert(line, lines[line].clone()),
        3 => drop(lines.remove(line)),
        4 => lines.swap(line, second),
        5 => lines[line].insert_str(0, &" ".repeat(other % 4 + 1)),
        // The text is cut off.
        _ => return text[..place(*one)].to_owned(),
    }
    lines.concat()
}

/// Texts near to valid ones, and any bytes as text.
fn near(valid: Vec<String>) -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (proptest::sample::select(valid), vec(blow(), 0..6))
            .prop_map(|(text, blows)| blows.iter().fold(text, |text, blow| strike(&text, blow))),
        1 => vec(any::<u8>(), 0..400).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        1 => vec(poison(), 0..20).prop_map(|parts| parts.concat()),
    ]
}

const PENDING: &str = include_str!("fuzz/pending.yaml");
const COMMITTED: &str = include_str!("fuzz/committed.yaml");

#[test]
fn any_node_file_is_read_or_refused() {
    fuzz(near(vec![PENDING.into(), COMMITTED.into()]), || {
        |text: String| {
            let Ok(node) = Node::read(&text) else { return };
            let written = node.write().unwrap();
            assert_eq!(Node::read(&written).unwrap(), node, "{written}");
            assert_eq!(
                layout::file_role(&layout::node(&node.id)),
                layout::FileRole::Node(node.id),
                "a place of its own"
            );
        }
    });
}

/// What is read of a file near to this one is written back and read as the same.
fn fuzz_file<T: PartialEq + Debug, E: Debug, W: Debug>(
    valid: &str,
    read: fn(&str) -> Result<T, E>,
    write: fn(&T) -> Result<String, W>,
) {
    read(valid).unwrap();
    fuzz(near(vec![valid.to_owned()]), || {
        |text: String| {
            let Ok(facts) = read(&text) else { return };
            let written = write(&facts).unwrap();
            assert_eq!(read(&written).unwrap(), facts, "{written}");
        }
    });
}

#[test]
fn any_investigation_file_is_read_or_refused() {
    fuzz_file(include_str!("fuzz/investigation.yaml"), Meta::read, Meta::write);
}

#[test]
fn any_conclusion_file_is_read_or_refused() {
    fuzz_file(include_str!("fuzz/conclusion.yaml"), Conclusion::read, Conclusion::write);
}

#[test]
fn any_comment_file_is_read_or_refused() {
    fuzz_file(include_str!("fuzz/comment.yaml"), Comment::read, Comment::write);
}

#[test]
fn any_ruleset_file_is_read_or_refused() {
    let valid = builtin::all().iter().map(|file| file.text.clone()).collect();
    fuzz(near(valid), || {
        |text: String| match RulesetFile::parse(&text) {
            Ok(file) => {
                assert_eq!(file.text, text, "the text is kept as it is");
                assert_eq!(RulesetFile::parse(&file.text).unwrap(), file);
            }
            Err(faults) => {
                assert!(!faults.is_empty(), "a refusal has a reason");
                for fault in faults {
                    assert!(!fault.to_string().is_empty());
                }
            }
        }
    });
}

#[test]
fn any_id_or_path_is_read_or_refused() {
    let valid = [
        "R3.A1a",
        "R3.A1a-k3f9q2",
        "01a1fb7f-2603-7166-96ef-ddcdd76363f4",
        "EXPLORE",
        "2026-11-20T09:15:02.114Z",
    ];
    let paths = ["nodes/R3/R3.A1a.yaml", "investigation.yaml", "nodes/"];
    let texts = near(valid.iter().chain(&paths).map(ToString::to_string).collect());
    fuzz(texts, || {
        |text: String| {
            if let Ok(id) = text.parse::<NodeId>() {
                assert_eq!(id.to_string(), text, "an id has one spelling");
                assert_eq!(id.short().to_string(), format!("R{}.{}", id.round(), id.suffix()));
                assert_eq!(layout::file_role(&layout::node(&id)), layout::FileRole::Node(id.clone()));
                let _ = id.short().child("1");
                let _ = id.short().child(&text);
            }
            if let Ok(id) = text.parse::<SessionId>() {
                assert_eq!(id.to_string().parse::<SessionId>().unwrap(), id);
            }
            if let Ok(state) = text.parse::<StateName>() {
                assert_eq!(state.as_str(), text);
            }
            if let Ok(time) = text.parse::<Timestamp>() {
                assert_eq!(time.to_string().parse::<Timestamp>().unwrap(), time);
            }
            if let layout::FileRole::Node(id) = layout::file_role(&text) {
                assert_eq!(layout::node(&id), text, "a node has one path");
            }
        }
    });
}

/// Any JSON, a few levels deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        poison().prop_map(Value::from),
        (1..2_000usize).prop_map(|depth| (0..depth % 100).fold(json!(1), |inner, _| json!([inner]))),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((poison(), inner), 0..5).prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// One blow at a valid input: its kind, the number of the place, a number, another value, and a blow at a text.
type Twist = (u8, usize, usize, Value, Blow);

fn twist() -> impl Strategy<Value = Twist> {
    (0..7u8, any::<usize>(), any::<usize>(), any_json(), blow())
}

/// How many values the value holds, itself included.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 0,
    }
}

/// The value of that number, in the order of writing.
fn at(value: &mut Value, number: usize) -> Option<&mut Value> {
    if number == 0 {
        return Some(value);
    }
    let mut rest = number - 1;
    let children: Vec<&mut Value> = match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(fields) => fields.values_mut().collect(),
        _ => Vec::new(),
    };
    for child in children {
        let inside = size(child);
        if rest < inside {
            return at(child, rest);
        }
        rest -= inside;
    }
    None
}

fn twisted(mut input: Value, twists: &[Twist]) -> Value {
    for (kind, number, other, value, blow) in twists {
        let number = number % size(&input);
        let Some(place) = at(&mut input, number) else { continue };
        match (kind, &mut *place) {
            (0, _) => *place = value.clone(),
            (1, Value::String(text)) => *text = strike(text, blow),
            // As JSON text, in a list, and many times in a list.
            (2, _) => *place = Value::String(place.to_string()),
            (3, _) => *place = json!([place.take()]),
            (4, _) => *place = Value::Array(vec![place.take(); other % 50]),
            // A field more, and a field less.
            (5, Value::Object(fields)) => drop(fields.insert(blow.3.clone(), value.clone())),
            (6, Value::Object(fields)) if !fields.is_empty() => {
                let name = fields.keys().nth(other % fields.len()).cloned().unwrap_or_default();
                fields.shift_remove(&name);
            }
            _ => {}
        }
    }
    input
}

/// A root with an investigation, which is gone after the batch.
struct Root {
    folder: tempfile::TempDir,
    service: Arc<Service>,
    session: String,
}

/// What stands in a valid input for the id of the investigation, as in the examples of the schemas.
const SESSION: &str = "01a19b7c";

impl Root {
    fn new() -> Self {
        let folder = crate::support::testing::folder();
        let mut service = Service::new(folder.path().join("investigations"), World::Machine, None);
        service.store = service.store.with_durability(Durability::Git);
        let service = Arc::new(service);
        let mut world = Root { folder, service, session: String::new() };
        let pending: Vec<Value> = (1..8).map(|number| node(&format!("R2.A{number}"), Some("R1.A"))).collect();
        let started = world.call("tot_start", json!({"query": "Why is the sky blue?", "mode": "smoke"}));
        world.session = started["sessionId"].as_str().unwrap().to_owned();
        for (tool, mut input) in [
            ("tot_propose", json!({"nodes": [node("R1.A", None)]})),
            ("tot_commit", json!({"results": [result("R1.A", "EXPLORE")]})),
            ("tot_propose", json!({"nodes": pending})),
            ("tot_commit", json!({"results": [result("R2.A1", "EXPLORE")]})),
        ] {
            input["sessionId"] = json!(world.session);
            assert_eq!(world.call(tool, input)["status"], "OK");
        }
        world
    }

    /// Calls a tool and checks that the answer is one.
    fn call(&self, name: &str, input: Value) -> Value {
        let reply = call(&self.service, name, input);
        let status = if reply.shared.is_rejected() { "REJECTED" } else { "OK" };
        assert_eq!(reply.content["status"], status, "{}", reply.content);
        let errors = reply.content["errors"].as_array();
        for error in errors.into_iter().flatten() {
            let code = error["code"].as_str().unwrap();
            let broken = ["STORE_ERROR", "REPORT_ERROR", "INVALID_INVESTIGATION", "INTERNAL_ERROR"];
            assert!(!broken.contains(&code), "{}", reply.content);
        }
        assert_eq!(errors.is_none_or(Vec::is_empty), !reply.shared.is_rejected());
        reply.content
    }

    /// A call with the investigation's id in its place; then the investigation must still be readable.
    fn fuzzed(&self, name: &str, input: &Value) {
        let filled = input.to_string().replace(SESSION, &self.session);
        // Too deep to be read, as it is.
        let reply = self.call(name, serde_json::from_str(&filled).unwrap_or_else(|_| input.clone()));
        if let Some(repository) = reply["repository"].as_str() {
            let repository = PathBuf::from(repository);
            assert!(repository.starts_with(self.folder.path()), "{repository:?} is outside of the root");
            std::fs::remove_dir_all(repository).unwrap();
        }
        if reply["commit"].is_string() {
            // From the files, not from memory: another service on the same root.
            let service = Service::new(self.folder.path().join("investigations"), World::Machine, None);
            let path = service.store().find(&self.session).unwrap();
            let snapshot = service.store().load(&path).unwrap();
            assert!(snapshot.faults.is_empty(), "{:?}", snapshot.faults);
            assert!(snapshot.ruleset.is_ok());
        }
    }
}

/// Inputs that fit the schema of a field, with the values that `values.yaml` has for its name.
fn fitting(name: &str, schema: &Value) -> BoxedStrategy<Value> {
    static VALUES: LazyLock<Value> =
        LazyLock::new(|| yaml::from_text(include_str!("fuzz/values.yaml")).unwrap());
    if let Some(fields) = schema["properties"].as_object() {
        let field = |(name, inner): (&String, &Value)| {
            let is_required = schema["required"].as_array().is_some_and(|them| them.contains(&json!(name)));
            let value = (Just(name.clone()), fitting(name, inner));
            proptest::option::weighted(if is_required { 0.99 } else { 0.3 }, value)
        };
        let fields: Vec<_> = fields.iter().map(field).collect();
        let fields = fields.prop_map(|fields| Value::Object(fields.into_iter().flatten().collect()));
        return match schema["examples"].get(0) {
            Some(example) => prop_oneof![2 => fields, 1 => Just(example.clone())].boxed(),
            None => fields.boxed(),
        };
    }
    if schema["type"] == "array" {
        return vec(fitting(name, &schema["items"]), 1..3).prop_map(Value::from).boxed();
    }
    match schema["enum"].as_array().or_else(|| VALUES[name].as_array()) {
        Some(known) => proptest::sample::select(known.clone()).boxed(),
        None => Just(coercion::example(schema)).boxed(),
    }
}

/// Feeds a tool with inputs near to those that fit its schema.
fn fuzz_tool(tool: &str, schema: &Value) {
    let near = (fitting("", schema), vec(twist(), 0..5)).prop_map(|(input, twists)| twisted(input, &twists));
    fuzz(prop_oneof![8 => near, 1 => any_json()], || {
        let world = Root::new();
        move |input: Value| world.fuzzed(tool, &input)
    });
}

#[test]
fn any_input_of_a_tool_is_answered() {
    std::thread::scope(|scope| {
        for tool in all_tools() {
            let name = tool.about().name;
            // The output of a failure names the thread.
            let thread = std::thread::Builder::new().name(name.to_owned());
            thread.spawn_scoped(scope, move || fuzz_tool(name, tool.input_schema())).unwrap();
        }
    });
}

#[test]
fn any_address_prompt_and_completion_is_answered() {
    use tree_of_thoughts::mcp::{prompts, resources};

    let addresses =
        ["tot://investigations", "tot://01a19b7c", "tot://01a19b7c/nodes/R1.A", "tot://01a19b7c/graph.svg"];
    let texts =
        near(addresses.iter().chain(&["R2.A1", "verify", "exhaust"]).map(ToString::to_string).collect());
    fuzz(texts, || {
        let world = Root::new();
        move |text: String| {
            let text = text.replace(SESSION, &world.session);
            let _ = resources::read(&world.service, &text);
            let _ = resources::list(&world.service, Some(text.clone()));
            for name in ["investigate", "continue", "verify", text.as_str()] {
                let _ = prompts::prompt(&world.service, name, |_| Some(text.clone()));
            }
        }
    });
}

#[test]
fn any_line_is_answered_or_let_pass_and_ends_nothing() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tree_of_thoughts::mcp::{Server, stdio};

    let request = |id: Value, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let hello = initialize();
    let last = request(json!("the last"), "ping", json!({}));
    let call = |tool: &str, arguments: Value| json!({"name": tool, "arguments": arguments});
    let valid = [
        hello.clone(),
        request(json!(1), "ping", json!({})),
        request(json!("a"), "tools/list", json!({"cursor": ""})),
        request(json!(2), "tools/call", call("tot_status", json!({"sessionId": "0000", "graph": "dot"}))),
        request(json!(3), "tools/call", call("tot_list", json!("{\"text\": \"sky\"}"))),
        request(json!(4), "resources/read", json!({"uri": "tot://investigations"})),
        request(json!(5), "resources/subscribe", json!({"uri": "tot://investigations"})),
        request(json!(6), "prompts/get", json!({"name": "investigate", "arguments": {"question": "Why?"}})),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}),
        json!({"jsonrpc": "2.0", "id": 7, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 8, "error": {"code": 1, "message": "no"}}),
    ];
    let texts = near(valid.iter().map(ToString::to_string).collect());
    fuzz(vec(texts, 1..4), || {
        let world = Root::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (hello, last) = (hello.to_string(), last.to_string());
        move |lines: Vec<String>| {
            let server =
                Server::new("Read me.", tools::all(&world.service)).serving(Arc::clone(&world.service));
            let said = runtime.block_on(async {
                let (here, there) = tokio::io::duplex(1 << 20);
                let (read, mut write) = tokio::io::split(here);
                let (input, output) = tokio::io::split(there);
                let served = tokio::spawn(stdio::serve(server, input, output, std::future::pending()));
                let all = format!("{hello}\n{}\n{last}\n", lines.join("\n"));
                write.write_all(all.as_bytes()).await.unwrap();
                let mut read = BufReader::new(read).lines();
                let mut said = Vec::new();
                loop {
                    let line = read.next_line().await.unwrap().expect("not the end");
                    let message: Value = serde_json::from_str(&line).unwrap();
                    let is_last = message["id"] == "the last";
                    said.push(message);
                    if is_last {
                        break;
                    }
                }
                write.shutdown().await.unwrap();
                served.await.unwrap().unwrap();
                said
            });
            assert!(said.iter().all(|message| message["jsonrpc"] == "2.0"), "{said:?}");
        }
    });
}
