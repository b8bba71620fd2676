//! Withheld texts occur nowhere in a site.

use super::*;
use crate::domain::{
    Amendment, Citation, Command, Comment, CommentKind, Commenter, NamedIn, Pin, Reclassification, StateName,
};
use crate::service::withhold::{List, Withheld, WithheldError};

/// A word in each text of the node and nowhere else.
const SECRET: &str = "Quetzalcoatl";
const NODE: &str = "R4.A1a1";

/// Returns a text with the secret.
fn text(what: &str) -> String {
    format!("The {what} of {SECRET} is `{SECRET}`, see https://{SECRET}.example.org/{SECRET}")
}

fn commands() -> Vec<Command> {
    vec![Command { command: text("command"), exit_code: Some(1), output: Some(text("output")) }]
}

fn references() -> Vec<Citation> {
    let given = Citation {
        target: text("target"),
        quote: Some(text("quote")),
        note: Some(text("note")),
        ..Citation::default()
    };
    let pin = Pin {
        path: format!("src/{SECRET}.rs"),
        commit: None,
        blob: "aa".to_owned(),
        uncommitted: true,
        lines: None,
        text: Some(text("cited file")),
    };
    let named_in = Some(NamedIn::Findings);
    vec![given, Citation { target: pin.path.clone(), named_in, pinned: Some(pin), ..Citation::default() }]
}

fn warning() -> Warning {
    Warning { code: Code::Suspicious, message: text("warning") }
}

fn reclassification(from: &StateName, to: &StateName) -> Reclassification {
    Reclassification {
        agent_id: Some("lead".to_owned()),
        reason: Some(text("reason")),
        evidence: Some(text("evidence")),
        verification_method: Some(SECRET.to_owned()),
        alternatives_considered: vec![text("one"), text("other")],
        warnings: vec![warning()],
        ..Reclassification::new(from.clone(), to.clone(), time(800))
    }
}

fn amendment() -> Amendment {
    Amendment {
        title: Some(text("title")),
        headline: Some(text("headline")),
        findings: Some(text("findings")),
        evidence: Some(text("evidence")),
        alternatives_considered: Some(vec![text("alternative")]),
        caveats: Some(vec![text("caveat")]),
        commands: Some(commands()),
        references: Some(references()),
        ..Amendment::new(time(801), text("reason of the amendment"))
    }
}

fn filled(node: &Node) -> Node {
    let mut node = node.clone();
    node.title = text("title");
    node.planned_action = text("plan");
    node.covers = vec![format!("engine={SECRET}")];
    let Some(it) = &mut node.classification else { return node };
    it.headline = Some(text("headline"));
    it.findings = text("findings");
    it.evidence = Some(text("evidence"));
    // The rules ignore this field on its own.
    it.verification_method = Some(SECRET.to_owned());
    it.alternatives_considered = vec![text("one alternative"), text("another")];
    it.caveats = vec![text("one caveat"), text("other caveat")];
    it.commands = commands();
    it.references = references();
    it.warnings.push(warning());
    let state = it.current_state().clone();
    it.reclassified.push(reclassification(&state, &state));
    it.amended.push(amendment());
    let other = it.clone();
    it.other_results.push(other);
    node
}

fn comment(number: u8, node: Option<&str>, reply_to: Option<u8>, text: &str) -> Arc<Comment> {
    let id = |number: u8| format!("01989c3e-7f2a-7000-8000-0000000000{number:02x}").parse().unwrap();
    Arc::new(Comment {
        id: id(number),
        node: node.map(|node| node.parse().unwrap()),
        kind: if node.is_some() { CommentKind::Objection } else { CommentKind::Answer },
        reply_to: reply_to.map(id),
        author: Commenter { name: "Maria".to_owned(), ..Commenter::default() },
        at: time(180),
        text: text.to_owned(),
        saw: None,
        edits: Vec::new(),
    })
}

/// Returns a run with the secret in each of its texts.
fn run(number: u8, node: Option<&str>, what: RunOf, of: u8) -> Arc<Run> {
    let mut run = super::run(number, node, what, of, &text);
    if let RunKind::Captured(ran) | RunKind::Repeated { ran, .. } = &mut Arc::make_mut(&mut run).what {
        ran.attachments.push(format!("{SECRET}.log").parse().unwrap());
    }
    run
}

/// Returns the sample with the secret in each text of one node and in the commits about the node.
fn secret() -> ReportInput {
    let mut input = sample();
    let old = input.snapshot.investigation.as_ref();
    // A run for the node, its rerun and judgement, and a run that only the node's result names.
    let runs = [
        run(1, Some(NODE), captured, 0),
        run(2, Some(NODE), repeated, 1),
        run(3, None, judged, 2),
        run(4, None, captured, 0),
    ];
    let nodes: Vec<Arc<Node>> = old
        .nodes()
        .map(|node| {
            if node.id.as_str() == NODE {
                Arc::new(naming(filled(node), runs[3].id))
            } else {
                Arc::clone(node)
            }
        })
        .collect();
    let node = nodes.iter().find(|node| node.id.as_str() == NODE).unwrap().clone();
    let state = node.state().unwrap().clone();
    let (new, _) = Investigation::from_facts(old.meta().clone(), nodes, old.conclusion().cloned());
    // An objection, its answer, and an answer that only its file claims to be one.
    let objection = comment(1, Some(NODE), None, &text("objection"));
    let said = [
        Arc::clone(&objection),
        comment(2, None, Some(1), &text("answer")),
        comment(3, None, Some(2), &text("answer to the answer")),
        comment(4, None, Some(4), "Public"),
    ];
    let attached = Attached {
        node: NODE.parse().unwrap(),
        name: format!("{SECRET}.log").parse().unwrap(),
        content: text("attachment").into_bytes(),
    };
    let file = Change::Attached(Arc::new(attached.clone()));
    input.snapshot.investigation = Arc::new(new.with_comments(said).with_runs(runs.clone()).with(&[file]));
    let name = attached.name.clone();
    input.attachments.push(attached);
    let path = crate::format::layout::node(&node.id);
    let fault = Fault::new(&path, Some(3), text("fault"));
    input.snapshot.faults.push(fault.clone());
    let astray = format!("attachments/{NODE}/.{SECRET}");
    input.snapshot.faults.push(Fault::new(astray, None, text("fault beside it")));
    let touching = &mut input.history[2];
    touching.happenings = vec![
        Happening::Proposed(Arc::clone(&node)),
        Happening::Claimed(Arc::clone(&node)),
        Happening::Released(Arc::clone(&node)),
        Happening::Committed(Arc::clone(&node)),
        Happening::OtherResult(Arc::clone(&node), 0),
        Happening::Reclassified(Arc::clone(&node), reclassification(&state, &state)),
        Happening::Amended(Arc::clone(&node), amendment()),
        Happening::Edited(Arc::clone(&node)),
        Happening::Withdrawn(Arc::clone(&node)),
        Happening::Removed(Arc::clone(&node)),
        Happening::Attached(node.id.clone(), name.clone()),
        Happening::AttachmentChanged(node.id.clone(), name.clone()),
        Happening::AttachmentRemoved(node.id.clone(), name.clone()),
    ];
    touching.paths.push(crate::format::layout::attachment(&node.id, &name));
    touching.paths.push(format!("attachments/{NODE}/.{SECRET}"));
    touching.message = format!("{}\n\n{}\n\nMerged: {}\n", text("subject"), text("body"), text("trailer"));
    touching.faults.push(fault);
    let talking = &mut input.history[5];
    talking.happenings = vec![
        Happening::Commented(objection),
        Happening::CommentEdited(comment(5, None, Some(1), &text("edited answer"))),
        Happening::CommentRemoved(comment(6, Some(NODE), None, &text("removed objection"))),
        Happening::CommentRemoved(comment(7, None, Some(6), &text("removed answer"))),
    ];
    talking.happenings.extend(runs.iter().cloned().map(Happening::Ran));
    talking.happenings.push(Happening::RunEdited(run(5, Some(NODE), captured, 0)));
    talking.happenings.push(Happening::RunRemoved(run(6, Some(NODE), captured, 0)));
    talking.message = text("message of a comment");
    talking.faults.push(Fault::new(
        "comments/01989c3e-7f2a-7000-8000-000000000009.yaml",
        None,
        text("fault in a comment"),
    ));
    input.history[3].happenings.clear();
    input.history[3].paths.push(path);
    input.history[3].message = text("message of a file that is not read");
    input.history[4].gaps.push("Only some changes of this commit are read.".to_owned());
    input.history[4].message = text("message of what is not read");
    input
}

/// Adds a run to the result of a node.
fn naming(mut node: Node, run: RunId) -> Node {
    if let Some(result) = &mut node.classification {
        result.runs.push(run);
    }
    node
}

fn with_secret(files: &Files) -> Vec<&str> {
    let has = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).to_lowercase();
        text.contains(&SECRET.to_lowercase())
    };
    files.iter().filter(|(_, bytes)| has(bytes)).map(|(path, _)| path.as_str()).collect()
}

fn files(input: &ReportInput, before: &ReportInput) -> Files {
    let before = before.snapshot.clone();
    let names = ["HEAD~1".to_owned(), "HEAD".to_owned()];
    let comparison = Some(Comparison { before, relation: Relation::Forward, names });
    let contents = SiteContents { inputs: vec![input.clone()], comparison, ..SiteContents::default() };
    let base_url = Some("https://example.org/".parse().unwrap());
    let templates = Templates::load(&SiteOptions { base_url, ..SiteOptions::default() }).unwrap();
    let mut files = site(&contents, &templates).unwrap();
    for (name, bytes) in [
        ("export.json", export::data(input).unwrap()),
        ("export.html", export::html(input, &SiteOptions::default()).unwrap().bytes),
        ("export.svg", export::svg(input).into_bytes()),
        (
            "changes.md",
            changes::markdown(&diff::Diff::new(&sample().snapshot, &input.snapshot), ["a", "b"]).into_bytes(),
        ),
    ] {
        files.insert(name.to_owned(), bytes);
    }
    files
}

fn followed(list: List, input: &ReportInput) -> Result<Withheld, WithheldError> {
    list.follow(&input.snapshot, &input.history, &[])
}

#[test]
fn what_is_withheld_is_in_no_byte_of_a_site() {
    let (mut input, mut before) = (secret(), sample());
    let public = files(&input, &before);
    let told = with_secret(&public);
    for file in [
        "index.html",
        "tree.html",
        "graph.svg",
        "graph.dot",
        "search-data.js",
        "history.html",
        "references.html",
        "judged.html",
        "print.html",
        "compare.html",
        "investigation.json",
        "export.html",
    ] {
        assert!(told.contains(&file), "the secret is not even in {file}");
    }
    let mut list = List::default();
    list.add(NODE.parse().unwrap(), "Anna", Some("names a customer"));
    let withheld = followed(list, &input).unwrap();
    input.withhold(&withheld);
    // The earlier state already contains the text.
    before.snapshot = secret().snapshot;
    withheld.hide(&mut before.snapshot);
    let files = files(&input, &before);
    assert_eq!(with_secret(&files), Vec::<&str>::new());
    assert!(
        page(&files, "index.html").contains("Public")
            || page(&files, "investigation.json").contains("Public")
    );
    let label = "Withheld by Anna: names a customer";
    for file in
        ["index.html", "tree.html", "graph.svg", "search-data.js", "history.html", "investigation.json"]
    {
        assert!(String::from_utf8_lossy(&files[file]).contains(label), "{file}");
    }
    let (own, gone): (Vec<&String>, Vec<&String>) =
        public.keys().partition(|path| !path.starts_with("attachments/"));
    assert_eq!(files.keys().collect::<Vec<_>>(), own);
    assert_eq!(gone, [&format!("attachments/{NODE}/{SECRET}.log.txt")]);
}

#[test]
fn what_follows_from_the_facts_stays_as_it_is() {
    for input in [sample(), backed(), unfinished(), edited(), concluded_late()] {
        let mut hidden = input.clone();
        let mut list = List::default();
        hidden.snapshot.investigation.nodes().for_each(|node| list.add(node.id.clone(), "Anna", None));
        hidden.withhold(&followed(list, &input).unwrap());
        let data = |input: &ReportInput| -> serde_json::Value {
            let mut data: serde_json::Value = serde_json::from_slice(&export::data(input).unwrap()).unwrap();
            // The citations of a withheld confirmation are unknown.
            for answer in data["answers"].as_array_mut().unwrap() {
                let by = answer["verdict"].get_mut("confirmedBy").and_then(|by| by.as_array_mut());
                by.into_iter().flatten().for_each(|by| by["distance"] = serde_json::Value::Null);
            }
            data
        };
        let (public, hidden) = (data(&input), data(&hidden));
        for key in ["answers", "refuted", "theories", "deadEnds", "quality", "meta", "conclusion"] {
            assert_eq!(public[key], hidden[key], "{key}");
        }
    }
}

#[test]
fn a_list_that_is_not_understood_publishes_nothing() {
    let read = |text: &str| List::read(Some(text));
    let list =
        "withheld:\n  - nodes: [R4.A1a1, R1.A]\n    by: Anna\n    why: x\n  - {nodes: [R2.A1], by: Bo}\n";
    let mut input = sample();
    input.withhold(&followed(read(list).unwrap(), &sample()).unwrap());
    assert_eq!(input.snapshot.investigation.node(&"R2.A1".parse().unwrap()).unwrap().title, "Withheld by Bo");
    for text in [
        "",
        "withheld",
        "withheld: R1.A",
        "withhold: []",
        "withheld: [{nodes: [R1.A]}]",
        "withheld: [{node: R1.A, by: x}]",
        "withheld: [{nodes: [nonsense], by: x}]",
        "withheld: [{nodes: [R1.A], by: x, until: never}]",
        "withheld: [",
    ] {
        assert!(read(text).is_err(), "{text}");
    }
    let misspelt = read("withheld: [{nodes: [R9.A1], by: x}]").unwrap();
    assert!(matches!(followed(misspelt, &sample()), Err(WithheldError::Stranger(_))));
    assert!(List::read(None).unwrap().is_empty());
}
