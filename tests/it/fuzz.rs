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
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::{Value, json};
use tree_of_thoughts::base::world::World;
use tree_of_thoughts::domain::{Caller, Investigation, Node, NodeId, SessionId, StateName, Timestamp};
use tree_of_thoughts::format::{comment_file, conclusion_file, layout, meta_file, node_file};
use tree_of_thoughts::mcp::{Tool, tools};
use tree_of_thoughts::ruleset::{RulesetFile, builtin};
use tree_of_thoughts::service::Service;
use tree_of_thoughts::service::import;
use tree_of_thoughts::store::Durability;
use tree_of_thoughts::view::NodeView;

use crate::support::testing::sampled;
use crate::support::{node, result};

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
const POISON: &[&str] = &[
    "",
    "~",
    "null",
    "true",
    "-0",
    "1e999",
    "0x10",
    "99999999999999999999",
    "4294967296",
    "-1",
    ".nan",
    "{",
    "[",
    "]",
    "}",
    "{{{{{{{{{{{{{{{{",
    "[[[[[[[[[[[[[[[[",
    "&a",
    "*a",
    "&a [*a, *a, *a]",
    "<<: *a",
    "!!binary aGk=",
    "!!str",
    "!x",
    "|",
    "|2-",
    ">+",
    ">-\n",
    "|\n  \tx\n",
    "- ",
    "? ",
    ": ",
    "\n",
    "\r\n",
    "\r",
    "\n---\n",
    "\n...\n",
    "%YAML 1.2\n",
    "#",
    " #",
    "\t",
    "\u{feff}",
    "\u{2028}",
    "\u{85}",
    "\0",
    "\u{7f}",
    "\u{202e}",
    "\u{10ffff}",
    "e\u{301}",
    "😀",
    "\"",
    "'",
    "\\",
    "\"\\ud800\"",
    "R1.A",
    "R0.A",
    "R999999999999.A1",
    "R2.A1a1a1a1",
    "r1.a",
    "R1.é",
    "../x",
    "EXPLORE",
    "explore ",
    "2026-13-45T99:99:99Z",
    "9999-12-31T23:59:59.999Z",
    "-009999-01-01T00:00:00Z",
    "2016-12-31T23:59:60Z",
    "version: 1\n",
    "version: 999\n",
    "constructor",
    "__proto__",
];

/// One blow at a valid text.
#[derive(Clone, Debug)]
enum Blow {
    /// The text at one place becomes another.
    Replace(usize, usize, String),
    /// The value of a line becomes another.
    Value(usize, String),
    /// The line is there twice.
    Double(usize),
    /// The line is gone.
    Drop(usize),
    /// Two lines change places.
    Swap(usize, usize),
    /// The line moves to the right.
    Indent(usize, usize),
    /// The text is cut off.
    Cut(usize),
}

fn poison() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(POISON).prop_map(str::to_owned),
        2 => "(?s).{0,30}",
        1 => "[ -~\\n]{0,40}",
        1 => (proptest::sample::select(POISON), 1..2_000usize).prop_map(|(text, times)| text.repeat(times)),
    ]
}

fn blow() -> impl Strategy<Value = Blow> {
    prop_oneof![
        (any::<usize>(), 0..40usize, poison()).prop_map(|(at, length, text)| Blow::Replace(at, length, text)),
        (any::<usize>(), poison()).prop_map(|(line, text)| Blow::Value(line, text)),
        any::<usize>().prop_map(Blow::Double),
        any::<usize>().prop_map(Blow::Drop),
        (any::<usize>(), any::<usize>()).prop_map(|(one, other)| Blow::Swap(one, other)),
        (any::<usize>(), 1..5usize).prop_map(|(line, by)| Blow::Indent(line, by)),
        any::<usize>().prop_map(Blow::Cut),
    ]
}

/// The text after the blow.
fn strike(text: &str, blow: &Blow) -> String {
    let place = |at: usize| {
        let mut at = at % (text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let count = lines.len().max(1);
    if lines.is_empty() {
        lines.push(String::new());
    }
    match blow {
        Blow::Replace(at, length, new) => {
            let from = place(*at);
            let to = place(from + (*length).min(text.len() - from)).max(from);
            return format!("{}{new}{}", &text[..from], &text[to..]);
        }
        Blow::Value(line, new) => {
            let line = &mut lines[line % count];
            let end = line.find(": ").map_or(0, |colon| colon + 2);
            *line = format!("{}{new}\n", &line[..end]);
        }
        Blow::Double(line) => lines.insert(line % count, lines[line % count].clone()),
        Blow::Drop(line) => drop(lines.remove(line % count)),
        Blow::Swap(one, other) => lines.swap(one % count, other % count),
        Blow::Indent(line, by) => lines[line % count].insert_str(0, &" ".repeat(*by)),
        Blow::Cut(at) => return text[..place(*at)].to_owned(),
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

const PENDING: &str = "\
version: 1
id: R1.A
title: Read the slow query log
plannedAction: y
proposedAt: 2026-11-20T09:15:02Z
";

const COMMITTED: &str = "\
version: 1
id: R3.A1a
parent: R2.A1
title: Read the slow query log
plannedAction: |
  Look for plans that changed
  after the upgrade.
proposedAt: \"2026-11-20T09:15:02.114Z\"
state: EXPLORE
requestedState: DEAD
agentId: abc-123
committedAt: \"2026-11-20T09:17:40.902Z\"
findings: |
  # Plans

  - one\t1
  - two: \"2\"
evidence: measured
verificationMethod: >-
  twice
alternativesConsidered:
- nothing
caveats: [The other machine.]
references:
- {target: src/a.rs, lines: '1-2', commit: c, quote: q, note: n}
- target: src/a.rs
  lines: '3'
  namedIn: findings
  pinned: {path: src/a.rs, commit: c, blob: b, uncommitted: true, lines: '3', text: t}
warnings:
- {code: R3_EXPLORE_ONLY, message: \"stored as EXPLORE: too early\"}
reclassified:
- from: EXPLORE
  to: DEAD
  at: \"2026-11-20T10:00:00.000Z\"
  agentId: abc-124
  reason: given up
- {from: DEAD, to: EXPLORE, at: 2026-11-20T11:00:00Z, by: R4.A1a1, settles: 1}
renamedFrom: R3.A1b
otherResults:
- state: DEAD
  agentId: abc-125
  committedAt: 2026-11-20T09:18:00Z
  findings: Nothing.
";

#[test]
fn any_node_file_is_read_or_refused() {
    fuzz(near(vec![PENDING.into(), COMMITTED.into()]), || {
        |text: String| {
            let Ok(node) = node_file::read(&text) else { return };
            let written = node_file::write(&node).unwrap();
            assert_eq!(node_file::read(&written).unwrap(), node, "{written}");
            assert_eq!(
                layout::place(&layout::node(&node.id)),
                layout::Place::Node(node.id),
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
    let valid = "\
version: 1
id: 01a1fb7f-2603-7166-96ef-ddcdd76363f4
title: Why is the sky blue?
query: |
  Why is the sky blue?
  And the sea?
context: here
ruleset: single-root
mode: deep
minRounds: 5
minRoots: 1
allowEarlyTerminal: false
startedAt: 2026-11-20T09:15:02.114Z
";
    fuzz_file(valid, meta_file::read, meta_file::write);
}

#[test]
fn any_conclusion_file_is_read_or_refused() {
    let valid = "version: 1\nendedAt: 2026-11-20T09:15:02Z\nagentId: a\nasked:\n  answer: accepted\n  said: |\n    Yes.\n\
        conclusion: |\n  It scatters.\namended:\n- at: 2026-11-20T09:16:02Z\n  reason: r\n  conclusion: It shines.\notherConclusions:\n- endedAt: 2026-11-21T09:15:02Z\n  conclusion: It bends.\n";
    fuzz_file(valid, conclusion_file::read, conclusion_file::write);
}

#[test]
fn any_comment_file_is_read_or_refused() {
    let valid = "version: 1\nid: 01a1fb7f-2603-7166-96ef-ddcdd76363f4\nnode: R2.A1\nkind: answer\n\
        replyTo: 01a1fb7f-2603-7166-96ef-ddcdd76363f3\nauthor:\n  name: Maria\n  email: m@example.org\n  agentId: a\n\
        by: {kind: agent, client: c, session: s, model: m}\nat: 2026-11-20T09:15:02Z\ntext: |\n  It is so.\n";
    fuzz_file(valid, comment_file::read, comment_file::write);
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
    let valid = ["R3.A1a", "01a1fb7f-2603-7166-96ef-ddcdd76363f4", "EXPLORE", "2026-11-20T09:15:02.114Z"];
    let paths = ["nodes/R3/R3.A1a.yaml", "investigation.yaml", "nodes/"];
    let texts = near(valid.iter().chain(&paths).map(ToString::to_string).collect());
    fuzz(texts, || {
        |text: String| {
            if let Ok(id) = text.parse::<NodeId>() {
                assert_eq!(id.to_string(), text, "an id has one spelling");
                assert_eq!(id.to_string(), format!("R{}.{}", id.round(), id.suffix()));
                assert_eq!(layout::place(&layout::node(&id)), layout::Place::Node(id.clone()));
                let _ = id.child("1");
                let _ = id.child(&text);
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
            if let layout::Place::Node(id) = layout::place(&text) {
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

/// One blow at a valid input, at the place of that number.
#[derive(Clone, Debug)]
enum Twist {
    /// Another value.
    Put(usize, Value),
    /// The text there after a blow.
    Strike(usize, Blow),
    /// What is there, as JSON text.
    Quote(usize),
    /// What is there, in a list.
    Wrap(usize),
    /// What is there, so many times in a list.
    Many(usize, usize),
    /// A field more.
    Add(usize, String, Value),
    /// A field less.
    Remove(usize, usize),
}

fn twist() -> impl Strategy<Value = Twist> {
    let at = any::<usize>;
    prop_oneof![
        (at(), any_json()).prop_map(|(at, value)| Twist::Put(at, value)),
        (at(), blow()).prop_map(|(at, blow)| Twist::Strike(at, blow)),
        at().prop_map(Twist::Quote),
        at().prop_map(Twist::Wrap),
        (at(), 0..50usize).prop_map(|(at, times)| Twist::Many(at, times)),
        (at(), poison(), any_json()).prop_map(|(at, name, value)| Twist::Add(at, name, value)),
        (at(), at()).prop_map(|(at, field)| Twist::Remove(at, field)),
    ]
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
    for twist in twists {
        let (Twist::Put(number, _)
        | Twist::Strike(number, _)
        | Twist::Quote(number)
        | Twist::Wrap(number)
        | Twist::Many(number, _)
        | Twist::Add(number, ..)
        | Twist::Remove(number, _)) = twist;
        let number = number % size(&input);
        let Some(place) = at(&mut input, number) else { continue };
        match (twist, &mut *place) {
            (Twist::Put(_, value), _) => *place = value.clone(),
            (Twist::Strike(_, blow), Value::String(text)) => *text = strike(text, blow),
            (Twist::Quote(_), _) => *place = Value::String(place.to_string()),
            (Twist::Wrap(_), _) => *place = json!([place.take()]),
            (Twist::Many(_, times), _) => *place = Value::Array(vec![place.take(); *times]),
            (Twist::Add(_, name, value), Value::Object(fields)) => {
                fields.insert(name.clone(), value.clone());
            }
            (Twist::Remove(_, field), Value::Object(fields)) if !fields.is_empty() => {
                let name = fields.keys().nth(field % fields.len()).cloned().unwrap_or_default();
                fields.shift_remove(&name);
            }
            _ => {}
        }
    }
    input
}

#[test]
fn any_file_to_be_imported_is_read_or_refused() {
    let old = [
        include_str!("../ancestor/multi-gate.json"),
        include_str!("../ancestor/exhaust.json"),
        include_str!("../ancestor/single-root.json"),
    ];
    let node = node_file::read(COMMITTED).unwrap();
    let valid: Vec<Value> =
        old.into_iter().map(|text| serde_json::from_str(text).unwrap()).chain([data_of(&node).0]).collect();
    let file = (proptest::sample::select(valid), vec(twist(), 0..6));
    let file = file.prop_map(|(value, twists)| twisted(value, &twists).to_string());
    fuzz(prop_oneof![8 => file, 1 => near(vec![old[0].to_owned()])], || {
        |text: String| {
            let Ok(facts) = import::read(&text, import::ImportOptions::default()) else { return };
            let changes: Vec<_> =
                import::steps(&facts).iter().flat_map(|step| step.event.changes()).collect();
            assert_eq!(Investigation::new(facts.meta.clone()).with(&changes), facts.investigation());
        }
    });
}

#[test]
fn any_node_comes_back_from_the_data_of_its_report() {
    fuzz(near(vec![PENDING.into(), COMMITTED.into()]), || {
        |text: String| {
            let Ok(node) = node_file::read(&text) else { return };
            let (data, expected) = data_of(&node);
            let facts = import::read(&data.to_string(), import::ImportOptions::default()).unwrap();
            assert_eq!(*facts.nodes[0], expected, "{data:#}");
        }
    });
}

/// An investigation.json with this node as its root, and the node as it is then.
fn data_of(node: &Node) -> (Value, Node) {
    let root = Node { id: "R1.A".parse().unwrap(), parent: None, ..node.clone() };
    let meta = json!({"id": "01a1fb7f-2603-7166-96ef-ddcdd76363f4", "title": "x", "query": "x", "context": null,
        "ruleset": "drill", "mode": "deep", "minRounds": 3, "minRoots": 1, "allowEarlyTerminal": false,
        "startedAt": "2026-01-05T09:00:00.000Z", "currentRound": 1, "head": "x", "ended": false});
    let data = json!({"version": 1, "meta": meta, "nodes": [NodeView::stored(&root)]});
    (data, root)
}

/// A root with an investigation, which is gone after the batch.
struct Root {
    folder: tempfile::TempDir,
    service: Arc<Service>,
    tools: Vec<Tool>,
    runtime: tokio::runtime::Runtime,
    session: String,
}

/// What stands in a valid input for the id of the investigation.
const SESSION: &str = "<session>";

impl Root {
    fn new() -> Self {
        let folder = crate::support::testing::folder();
        let service = Service::new(folder.path().join("investigations"), World::Machine, None);
        let service = Arc::new(service.with_durability(Durability::Git));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut world =
            Root { folder, tools: tools::all(&service), service, runtime, session: String::new() };
        let started = world.call("tot_start", json!({"query": "Why is the sky blue?", "mode": "smoke"}));
        world.session = started["sessionId"].as_str().unwrap().to_owned();
        for (tool, input) in [
            ("tot_propose", json!({"nodes": [node("R1.A", None)]})),
            ("tot_commit", json!({"results": [result("R1.A", "EXPLORE")]})),
            ("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A")), node("R2.A2", Some("R1.A"))]})),
            ("tot_commit", json!({"results": [result("R2.A1", "EXPLORE")]})),
        ] {
            let mut input = input;
            input["sessionId"] = json!(world.session);
            assert_eq!(world.call(tool, input)["status"], "OK");
        }
        world
    }

    /// Calls a tool and checks that the answer is one.
    fn call(&self, name: &str, input: Value) -> Value {
        let tool = self.tools.iter().find(|tool| tool.about().name == name).unwrap();
        let reply = self.runtime.block_on(tool.answer(input, Caller::default()));
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
        fn fill(value: &mut Value, session: &str) {
            match value {
                Value::String(text) if text.contains(SESSION) => *text = text.replace(SESSION, session),
                Value::Array(items) => items.iter_mut().for_each(|item| fill(item, session)),
                Value::Object(fields) => fields.values_mut().for_each(|item| fill(item, session)),
                _ => {}
            }
        }
        let mut input = input.clone();
        fill(&mut input, &self.session);
        let reply = self.call(name, input);
        if let Some(repository) = reply["repository"].as_str() {
            let repository = PathBuf::from(repository);
            assert!(repository.starts_with(self.folder.path()), "{repository:?} is outside of the root");
            std::fs::remove_dir_all(repository).unwrap();
        }
        let wrote = reply["commit"].is_string();
        if wrote && name != "tot_start" {
            // From the files, not from memory: another service on the same root.
            let service = Service::new(self.folder.path().join("investigations"), World::Machine, None);
            let path = service.store().find(&self.session).unwrap();
            let snapshot = service.store().load(&path).unwrap();
            assert!(snapshot.faults.is_empty(), "{:?}", snapshot.faults);
            assert!(snapshot.ruleset.is_ok());
        }
    }
}

/// A target for each tool: feeds it with inputs near to these, of which those in the list are about the investigation.
macro_rules! fuzz_tools {
    ($($name:ident $tool:literal $inputs:tt;)*) => {
        $(
            #[test]
            fn $name() {
                let mut valid: Vec<Value> = json!($inputs).as_array().unwrap().clone();
                if !["tot_start", "tot_list"].contains(&$tool) {
                    valid.iter_mut().for_each(|input| input["sessionId"] = json!(SESSION));
                }
                let inputs = prop_oneof![
                    8 => (proptest::sample::select(valid), vec(twist(), 0..5))
                        .prop_map(|(input, twists)| twisted(input, &twists)),
                    1 => any_json(),
                ];
                fuzz(inputs, || {
                    let world = Root::new();
                    move |input: Value| world.fuzzed($tool, &input)
                });
            }
        )*
    };
}

fuzz_tools! {
    any_input_of_start_is_answered "tot_start" [
        {"query": "Why?"},
        {"query": "Why?", "title": "x", "ruleset": "multi-gate", "mode": "deep", "minRoots": 3, "minRounds": 5,
         "allowEarlyTerminal": true, "context": "here"}
    ];
    any_input_of_propose_is_answered "tot_propose" [
        {"nodes": [node("R2.A3", Some("R1.A")), node("R3.A1a", Some("R2.A1"))]},
        {"nodes": [node("R2.A2", Some("R1.A"))], "withdraw": ["R2.A3"]},
        {"nodes": [node("R2.A4", Some("R1.A"))]}
    ];
    any_input_of_commit_is_answered "tot_commit" [
        {"results": [{
            "nodeId": "R2.A2", "state": "FOUND", "agentId": "x", "evidence": "seen", "verificationMethod": "twice",
            "alternativesConsidered": ["none"], "caveats": ["one disk"],
            "findings": "# F\n\n## References\n- https://example.org/a - b\n"
        }]},
        {"results": [result("R2.A2", "EXPLORE")]},
        {"results": [result("R2.A2", "DEAD"), result("R2.A1", "DEAD")]}
    ];
    any_input_of_reclassify_is_answered "tot_reclassify" [
        {"nodeId": "R2.A1", "newState": "DEAD", "reason": "so", "agentId": "z", "evidence": "seen"},
        {"nodeId": "R2.A1", "newState": "EXPLORE", "verificationMethod": "twice", "alternativesConsidered": []},
        {"nodeId": "R1.A", "newState": "DEAD"}
    ];
    any_input_of_status_is_answered "tot_status" [{}, {"detail": "full", "graph": "mermaid"}];
    any_input_of_end_is_answered "tot_end" [{"conclusion": "So.", "agentId": "z", "graph": "dot"}];
    any_input_of_amend_is_answered "tot_amend" [
        {"nodeId": "R1.A", "reason": "r", "headline": "h", "findings": "f", "title": "t", "evidence": "e",
         "alternativesConsidered": ["a"], "caveats": ["b"], "agentId": "z",
         "commands": [{"command": "c", "exitCode": 1, "output": "o"}],
         "references": [{"target": "t", "lines": "1-2", "commit": "c", "quote": "q", "note": "n"}]},
        {"reason": "r", "conclusion": "c"}
    ];
    any_input_of_comment_is_answered "tot_comment" [
        {"nodeId": "R1.A", "kind": "objection", "text": "t", "agentId": "z"},
        {"kind": "resolution", "replyTo": "01a1fb7f-2603-7166-96ef-ddcdd76363f4", "text": "It is so.", "agentId": "z"}
    ];
    any_input_of_next_is_answered "tot_next" [
        {},
        {"strategy": "verify", "maxTasks": 3, "dimensions": {"os": ["a", "b"], "load": ["c"]}}
    ];
    any_input_of_step_is_answered "tot_step" [
        {"results": [result("R2.A2", "DEAD")], "maxTasks": 2},
        {"nodes": [node("R2.A5", Some("R1.A"))], "strategy": "deepen"},
        {"nodes": [], "dimensions": {"os": ["a", "b"]}}
    ];
    any_input_of_read_is_answered "tot_read" [{"nodeIds": ["R1.A", "R2.A1"]}, {"nodeIds": ["R2.A1"], "offset": 3}];
    any_input_of_list_is_answered "tot_list" [{}, {"state": "open", "text": "sky", "cursor": "x"}];
    any_input_of_report_is_answered "tot_report" [{}];
}

#[test]
fn any_address_prompt_and_completion_is_answered() {
    use tree_of_thoughts::mcp::{complete, prompts, resources};

    let addresses = [
        "tot://investigations",
        "tot://<session>",
        "tot://<session>/nodes/R1.A",
        "tot://<session>/graph.svg",
    ];
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
            for argument in ["sessionId", "nodeId", "ruleset", text.as_str()] {
                let _ = complete::complete(&world.service, argument, &text, Some(&world.session));
                let _ = complete::complete(&world.service, argument, "", Some(&text));
            }
        }
    });
}

#[test]
fn any_line_is_answered_or_let_pass_and_ends_nothing() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tree_of_thoughts::mcp::{Server, stdio};

    let request = |id: Value, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let hello = request(
        json!(0),
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "f", "version": "1"}}),
    );
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
