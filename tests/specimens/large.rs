//! An ordinary investigation of any size, with the typical shape of large ones. It has not ended.

use std::path::Path;
use std::sync::Arc;

use tree_of_thoughts::domain::run::{Output, ProjectState, Ran, RunComparison, Seconds, System};
use tree_of_thoughts::domain::{
    Classification, Commenter, Event, Investigation, Meta, Node, NodeId, Reclassification, Run, RunId,
    RunKind, SessionId, Timestamp,
};
use tree_of_thoughts::format::{StoredFile, layout, message};
use tree_of_thoughts::ruleset::builtin;

use super::repository::{Commit, Stream, files, files_of};

const BEGIN: i64 = 1_795_000_000_000;

/// The number of nodes in a proposal. Each is proposed and committed in two commits.
const BATCH: usize = 10;

/// Writes an investigation with this many nodes to a repository: two wide levels, then lines that end in an answer or a
/// dead end.
pub fn write(folder: &Path, size: usize) {
    write_as(folder, size, meta(size), 0);
}

/// Writes an investigation with this many nodes and runs, each in its own commit. Every fifth run is a rerun of the
/// previous one, and every second rerun differs.
pub fn write_runs(folder: &Path, runs: usize, size: usize) {
    write_as(folder, size, meta(size), runs);
}

/// Writes this many investigations below a folder, each started an hour after the previous one.
pub fn write_many(folder: &Path, number: usize, size: usize) {
    for at in 0..number {
        let begun = BEGIN + at as i64 * 3_600_000;
        let id = SessionId::new(begun as u64, [size as u8; 10]);
        let meta = Meta { id, title: format!("{} ({at})", meta(size).title), ..meta(size) };
        write_as(&folder.join(id.to_string()), size, meta, 0);
    }
}

fn write_as(folder: &Path, size: usize, meta: Meta, runs: usize) {
    let mut stream = Stream::on("main");
    let mut at = 0;
    let mut commit = |tool: &str, message: String, nodes: &[Node], files: Vec<(String, Vec<u8>)>| {
        at += 1;
        // The state that a call leaves.
        let nodes: String = nodes.iter().map(|node| format!("Node: {}\n", node.id.whole())).collect();
        let message = format!("{message}\n\nTool: {tool}\n{nodes}");
        let commit = Commit { author: "A Researcher", at: time(at).seconds(), message: &message };
        stream.commit(&commit, &files);
    };
    let start = vec![
        (layout::ATTRIBUTES.to_owned(), layout::ATTRIBUTES_TEXT.into()),
        (layout::META.to_owned(), meta.write().unwrap().into()),
        (layout::RULESET.to_owned(), builtin::all()[0].text.clone().into()),
    ];
    commit("tot_start", format!("Start {}", meta.title), &[], start);
    let all = nodes(size);
    let (committed, proposed) = all.split_at(all.len() - 3.min(size / 10));
    for (number, batch) in committed.chunks(BATCH).enumerate() {
        // Files written by a call have the time of its commit.
        let batch: Vec<Node> = batch.iter().cloned().map(|node| called_at(node, 2 * number + 2)).collect();
        let batch = batch.as_slice();
        let proposed = batch.iter().map(|node| Node { classification: None, ..node.clone() });
        commit("tot_propose", format!("Propose {} nodes", batch.len()), batch, files(proposed));
        commit("tot_commit", format!("Commit {} nodes", batch.len()), batch, files(batch.iter().cloned()));
    }
    // The newest nodes are still pending.
    if !proposed.is_empty() {
        let pending = proposed.iter().map(|node| Node { classification: None, ..node.clone() });
        commit("tot_propose", format!("Propose {} nodes", proposed.len()), proposed, files(pending));
    }
    for number in 0..runs {
        let run = run(number, &all[number / 5 % all.len()].id);
        let tool = if run.of().is_some() { message::RERUN } else { message::RUN };
        let node = all.iter().find(|node| Some(&node.id) == run.node.as_ref());
        let event = Event::Ran { runs: vec![Arc::new(run)], attachments: Vec::new() };
        commit(tool, format!("Run {number}"), node.map_or(&[], std::slice::from_ref), files_of(&event));
    }
    stream.write(folder);
}

/// Returns a command that prints 2 KB, or its rerun.
fn run(number: usize, node: &NodeId) -> Run {
    let id = |number: usize| RunId::new(BEGIN as u64 + number as u64, [7; 10]);
    let (is_repetition, differs) = (number % 5 == 4, number % 10 == 9);
    let of = if is_repetition { number - 1 } else { number };
    let text =
        format!("{}{}", text(&format!("{of}"), 2_000), if differs { "\nAnother value.\n" } else { "" });
    let (bytes, sha256) = (text.len() as u64, format!("{:064x}", hash(&text)));
    let output = Output { text, bytes, sha256, ..Output::default() };
    let command = ["python3", "measure.py", "--batch", &of.to_string()].map(str::to_owned).to_vec();
    let ran = Ran {
        folder: Some("bench".to_owned()),
        project: Some(ProjectState { commit: Some("3f2a91c0".repeat(5)), ..ProjectState::default() }),
        seconds: Seconds { milliseconds: 1_200 },
        output,
        system: System { os: "linux".to_owned(), architecture: "x86_64".to_owned(), cpus: 2 },
        ..Ran::new(command, time(0))
    };
    let verdict = if differs { RunComparison::Differs } else { RunComparison::Same };
    let at = Some("3f2a91c0".repeat(5));
    let what = match is_repetition {
        true => RunKind::Repeated { of: id(of), at, verdict, ran },
        false => RunKind::Captured(ran),
    };
    let author = Commenter { name: "A Researcher".to_owned(), ..Commenter::default() };
    Run { id: id(number), node: Some(node.clone()), author, at: time(1), note: None, what }
}

/// Returns the node as left by the call that proposed it at this minute and the call that committed it a minute later.
fn called_at(node: Node, minute: usize) -> Node {
    let mut classification = node.classification;
    if let Some(result) = &mut classification {
        result.committed_at = time(minute + 1);
        result.reclassified.iter_mut().for_each(|change| change.at = time(minute + 4));
    }
    Node { proposed_at: time(minute), classification, ..node }
}

/// Returns an investigation with this many nodes, without a repository.
pub fn investigation(size: usize) -> Investigation {
    let (investigation, faults) =
        Investigation::from_facts(meta(size), nodes(size).into_iter().map(Arc::new), None);
    assert!(faults.is_empty(), "{faults:?}");
    investigation
}

/// Returns the findings of an investigation with this many nodes as Markdown files would contain them: title and text.
pub fn texts(size: usize) -> Vec<(String, String, String)> {
    nodes(size)
        .into_iter()
        .map(|node| {
            let findings = node.classification.map(|c| c.findings).unwrap_or_default();
            (node.id.to_string(), node.title, findings)
        })
        .collect()
}

fn meta(size: usize) -> Meta {
    Meta {
        id: SessionId::new(BEGIN as u64, [size as u8; 10]),
        title: format!("An investigation of {size} nodes"),
        query:
            "Why did the nightly import become slow in spring, and what is the smallest change that mends it?"
                .to_owned(),
        context: Some("The import reads **40 million** rows a night; nobody changed its code.".to_owned()),
        ruleset: builtin::DEFAULT.to_owned(),
        mode: "deep".to_owned(),
        min_rounds: 5,
        min_roots: 1,
        allow_early_terminal: false,
        started_at: time(0),
    }
}

fn time(minutes: usize) -> Timestamp {
    Timestamp::from_milliseconds(BEGIN + minutes as i64 * 60_000).unwrap()
}

fn nodes(size: usize) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::with_capacity(size);
    let mut level: Vec<(NodeId, &str)> = vec![("R1.A".parse().unwrap(), "EXPLORE")];
    nodes.push(node(&level[0].0, None, "EXPLORE", size));
    // A seventh of the nodes, so that lines of five follow.
    let wide = (size / 7).max(5);
    let (branches, under_each) = (wide.isqrt().max(5), wide.div_ceil(wide.isqrt().max(5)));
    let mut thirds: Vec<NodeId> = Vec::new();
    while nodes.len() < size && !level.is_empty() {
        let round = level[0].0.round() + 1;
        let steps: Vec<String> = match round {
            2 => (1..=branches).map(|step| step.to_string()).collect(),
            3 => (0..under_each).map(letters).collect(),
            round if round % 2 == 0 => vec!["1".to_owned()],
            _ => vec!["a".to_owned()],
        };
        let mut next = Vec::new();
        for (parent, step) in level.iter().flat_map(|parent| steps.iter().map(move |step| (parent, step))) {
            if nodes.len() == size {
                break;
            }
            let id = NodeId::of_proposal(parent.0.short().child(step).unwrap(), &[]);
            let state = match (round, parent.1, nodes.len() % 5) {
                (..4, ..) => "EXPLORE",
                (_, "FOUND", _) => "VERIFY",
                (_, "EXHAUST", _) => "DEAD",
                (_, _, 0) => "FOUND",
                (_, _, 1) => "EXHAUST",
                (8.., ..) => "DEAD",
                _ => "EXPLORE",
            };
            nodes.push(node(&id, Some(parent.0.clone()), state, size));
            if round == 3 {
                thirds.push(id.clone());
            }
            if !matches!(state, "VERIFY" | "DEAD") {
                next.push((id, state));
            }
        }
        level = next;
    }
    // Lines that ended early leave some nodes over.
    let over = size - nodes.len();
    for (parent, number) in thirds.iter().cycle().zip(0..over) {
        let step = format!("{}", 2 + number / thirds.len());
        let id = NodeId::of_proposal(parent.short().child(&step).unwrap(), &[]);
        nodes.push(node(&id, Some(parent.clone()), "DEAD", size));
    }
    nodes
}

pub fn node(id: &NodeId, parent: Option<NodeId>, state: &str, size: usize) -> Node {
    let number = hash(id.as_str());
    let target = |by: u64| format!("{}", hash(&format!("{size}{by}{id}")) % 97);
    let mut findings = text(id.as_str(), 2_300);
    findings.push_str(&format!(
        "\n\n| run | rows | seconds |\n|---|---:|---:|\n| before | {} | {} |\n| after | {} | {} |\n\n\
         ```sql\nSELECT count(*) FROM imports WHERE batch = {};\n```\n\n> Measured on a copy, *three* times.\n\n\
         ## References\n\n- https://docs.example/import/{} - The manual\n- `src/service/import/part_{}.rs:{}` - the loop\n",
        number % 1_000,
        number % 77,
        number % 2_000,
        number % 55,
        number % 500,
        target(1),
        target(2),
        1 + number % 300,
    ));
    let minute = id.round() as usize * 10;
    let first = if number.is_multiple_of(11) { "EXPLORE" } else { state };
    let title = format!("{} and {}", words(id.as_str(), 5), words(&format!("{id}x"), 3));
    Node {
        planned_action: "Read the log, repeat the run on a copy, and compare it with last week's.".to_owned(),
        classification: Some(Classification {
            agent_id: Some(format!("agent-{id}")),
            evidence: matches!(state, "FOUND" | "VERIFY" | "DEAD")
                .then(|| format!("Three runs: {} s, {} s, {} s.", number % 40, number % 41, number % 42)),
            verification_method: (state == "FOUND").then(|| "Repeated on another machine.".to_owned()),
            alternatives_considered: if state == "FOUND" {
                vec!["A larger cache".to_owned()]
            } else {
                Vec::new()
            },
            reclassified: if number.is_multiple_of(11) && state != "EXPLORE" {
                vec![Reclassification {
                    agent_id: Some("reviewer".to_owned()),
                    reason: Some("The second run says so.".to_owned()),
                    ..Reclassification::new(first.parse().unwrap(), state.parse().unwrap(), time(minute + 8))
                }]
            } else {
                Vec::new()
            },
            ..Classification::new(first.parse().unwrap(), findings, time(minute + 5))
        }),
        ..Node::new(id.clone(), parent, title, time(minute))
    }
}

/// `a` to `z`, `aa`, `ab` …
pub fn letters(number: usize) -> String {
    let letter = char::from(b'a' + (number % 26) as u8);
    match number / 26 {
        0 => letter.to_string(),
        more => letters(more - 1) + &letter.to_string(),
    }
}

/// Returns Markdown of about this many bytes, with different words in each text.
pub fn text(key: &str, bytes: usize) -> String {
    let mut text = format!("What was seen at {key}: {}.\n", words(key, 12));
    let mut paragraph = 0;
    while text.len() < bytes {
        let key = format!("{key}/{paragraph}");
        let line = words(&key, 14);
        match paragraph % 6 {
            0 => text.push_str(&format!("\n## {}\n", words(&key, 4))),
            1 | 2 => text.push_str(&format!("\n- **{}** {line}", words(&key, 2))),
            3 => text.push_str(&format!("\n\n{line}, see `{}`.\n", words(&key, 1))),
            _ => text.push_str(&format!("\n{line}; *{}*.", words(&key, 2))),
        }
        paragraph += 1;
    }
    text
}

fn words(key: &str, number: usize) -> String {
    const WORDS: [&str; 24] = [
        "queue", "index", "the", "plan", "of", "lock", "was", "retry", "and", "slow", "page", "in", "log",
        "cache", "row", "batch", "without", "filter", "a", "night", "after", "copy", "read", "wait",
    ];
    let mut state = hash(key);
    let mut words = Vec::with_capacity(number);
    for _ in 0..number {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        words.push(WORDS[(state >> 33) as usize % WORDS.len()]);
    }
    words.join(" ")
}

fn hash(key: &str) -> u64 {
    key.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
