//! An investigation and its nodes as Markdown, for `tot export` and for the resources of the server.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::assess::{Answer, Assessment, NEWEST_RUNS, RunEntry, newest_runs};
use crate::decide::blockers::blockers;
use crate::decide::next::outlook;
use crate::domain::{Author, Caller, Classification, Conclusion, DRAFT, Investigation, Node, NodeId};
use crate::fields::{
    CHANGES_OF_STATE, CHANGES_OF_TEXTS, COMMANDS, FINDINGS, HEADLINE, LINKS, OTHER_RESULTS, PLANNED,
    REFERENCES,
};
use crate::format::layout;
use crate::markdown::{self, Reader, ShownSource, Source, code_span};
use crate::ruleset::rules::objections;
use crate::service::Loaded;
use crate::service::address::ResourceAddress;
use crate::store::Snapshot;
use crate::text::{counted, one_line};

/// The maximum number of lines in a list.
pub const LINES: usize = 500;

/// The target of links between nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Links point to the other node's resource.
    Addresses,
    /// Links point to the other node's position in the same document.
    Document,
}

/// Returns an investigation with all its nodes as a single document, for readers without a server.
pub fn document(snapshot: &Snapshot) -> String {
    let ruleset = snapshot.ruleset.as_ref().ok();
    let loaded = ruleset.map(|ruleset| Loaded { snapshot: snapshot.clone(), ruleset: Arc::clone(ruleset) });
    let mut text = overview(snapshot, loaded.as_ref(), Links::Document);
    let assessment = Assessment::new(&snapshot.investigation, snapshot.rules());
    for one in snapshot.investigation.preorder() {
        let _ = write!(text, "\n---\n\n<a id=\"{}\"></a>\n\n", one.id);
        text.push_str(&node(&assessment, one, Links::Document));
    }
    text
}

/// Writes an investigation's overview.
pub fn overview(snapshot: &Snapshot, loaded: Option<&Loaded>, links: Links) -> String {
    let investigation = snapshot.investigation.as_ref();
    let meta = investigation.meta();
    let id = meta.id.to_string();
    let mut text = format!("# {}\n\n{}\n", literal(&meta.title), quoted(&meta.query));
    let committed = investigation.committed().count();
    let _ = writeln!(
        text,
        "Method {} ({}). Started {}. {} committed, {} pending, round {} of at least {}.",
        meta.ruleset,
        meta.mode,
        meta.started_at,
        counted(committed, "node"),
        investigation.pending().count(),
        investigation.current_round(),
        meta.min_rounds
    );
    if links == Links::Addresses {
        let _ = writeln!(
            text,
            "\n[History]({}) · [Graph]({})",
            ResourceAddress::History(id.clone()),
            ResourceAddress::GraphSvg(id)
        );
    }
    if let Some(context) = &meta.context {
        section(&mut text, "Context", context);
    }
    let assessment = Assessment::new(investigation, snapshot.rules());
    if let Some(end) = investigation.conclusion() {
        ended(&mut text, &assessment, end);
    }
    if let Some(draft) = investigation.draft() {
        let by = by(draft.agent_id.as_deref(), &draft.caller);
        let state = assessment.report().map(|report| literal(&report.words)).unwrap_or_default();
        let report = known(&assessment, None, &draft.report());
        let _ = write!(text, "\n## {DRAFT}\n\nWritten {}{by}. {state}.\n\n{report}", draft.ended_at);
    }
    match (loaded, &snapshot.ruleset) {
        (Some(loaded), _) => write_judgments(&mut text, loaded, links),
        (None, Err(fault)) => {
            let _ = write!(
                text,
                "\n## Not evaluated\n\nIts rules are unusable: {}.\n",
                literal(&fault.to_string())
            );
        }
        (None, Ok(_)) => {}
    }
    listing(&mut text, "Errors", snapshot.faults.iter().map(|fault| literal(&fault.to_string())));
    tree(&mut text, investigation, links);
    text
}

/// Writes the conclusion and how the investigation ended.
fn ended(text: &mut String, assessment: &Assessment<'_>, end: &Conclusion) {
    let ended_by = by(end.agent_id.as_deref(), &end.caller);
    let _ = write!(text, "\n## Conclusion\n\nEnded {}{ended_by}.\n", end.ended_at);
    if let Some(stopped) = &end.stopped {
        let note = stopped.note.as_deref().map(|note| format!(" {}", literal(note))).unwrap_or_default();
        let _ = write!(text, "\nStopped early: {}.{note}\n", stopped.reason.label());
    }
    if let Some(reopened) = &end.reopened {
        let _ = write!(text, "\n{}.\n", literal(&reopened.line()));
    }
    if let Some(asked) = &end.asked {
        let _ = write!(text, "\n{}\n", literal(&asked.line()));
    }
    if let Some(line) = assessment.known_bottom_line() {
        let _ = write!(text, "\n**{}**\n", literal(&line));
    }
    match (&end.conclusion, end.concluded_at) {
        (None, _) => text.push_str("\nEnded without a conclusion.\n"),
        (Some(conclusion), None) => {
            let _ = write!(text, "\n{}", known(assessment, None, conclusion));
        }
        (Some(conclusion), Some(at)) => {
            let conclusion = known(assessment, None, conclusion);
            let _ = write!(text, "\nConcluded after ending, {at}:\n\n{conclusion}");
        }
    }
    for amended in &end.amended {
        let _ = write!(text, "\nAmended {}\n", literal(&amended.line()));
        let before = amended.report();
        if !before.is_empty() {
            let _ = write!(text, "\nConclusion before:\n\n{}", quoted(&before));
        }
    }
    for other in end.other_conclusions.iter().filter(|other| !other.draft) {
        let by = by(other.agent_id.as_deref(), &other.caller);
        let report = other.report();
        let said = if report.is_empty() { "Without a conclusion." } else { &report };
        let _ = write!(text, "\nAlso ended elsewhere, {}{by}:\n\n{}", other.ended_at, quoted(said));
    }
}

/// Returns the author with a leading space, or an empty string if the author is unknown.
fn by(agent: Option<&str>, caller: &Caller) -> String {
    let line = literal(&caller.by_line(agent));
    if line.is_empty() { line } else { format!(" {line}") }
}

/// Writes the judgments based on the rules.
fn write_judgments(text: &mut String, loaded: &Loaded, links: Links) {
    let (investigation, rules) = (loaded.investigation(), loaded.rules());
    let assessment = loaded.assessment();
    let told = |answer: &Answer<'_>| {
        let by = answer.because_of().into_iter().take(5).map(|id| link(investigation, id, links));
        let by: Vec<String> = by.collect();
        let by = if by.is_empty() { String::new() } else { format!(": {}", by.join(", ")) };
        let node = link(investigation, &answer.node.id, links);
        let evidence = match answer.runs.is_empty() {
            true => String::new(),
            false => format!("; {}", assessment.evidence_words(answer)),
        };
        format!("{node}: {}, {}{by}{evidence}", literal(answer.node.name()), literal(&answer.words()))
    };
    if let Some(words) = assessment.words() {
        let _ = write!(text, "\nVerdict: {}.\n", literal(&words));
    }
    if let Some(evidence) = assessment.whole_evidence().filter(|_| assessment.runs().next().is_some()) {
        let _ = write!(text, "\nEvidence: {}.\n", literal(&evidence));
    }
    for bound in assessment.bound() {
        let _ = write!(text, "\n{}: {}\n", bound.role.label(), link(investigation, bound.id, links));
    }
    listing(text, "Limits", assessment.limits().iter().map(|limit| literal(&limit.to_string())));
    listing(text, "Answers", assessment.answers.iter().map(told));
    listing(text, "Refuted", assessment.refuted.iter().map(told));
    if investigation.end().is_some() {
        return;
    }
    let outlook = outlook(investigation, &rules);
    let _ = write!(text, "\n## Next\n\n{}\n", outlook.next_step.wording(None).agent());
    let blockers = blockers(investigation, &rules);
    let said = blockers.iter().map(|blocker| literal(blocker.message.agent()));
    listing(text, "Blockers of the end", said);
}

fn tree(text: &mut String, investigation: &Investigation, links: Links) {
    let nodes = investigation.preorder();
    if nodes.is_empty() {
        return;
    }
    text.push_str("\n## Tree\n\n");
    for node in nodes.iter().take(LINES) {
        let depth = node.round().saturating_sub(1).min(30) as usize;
        let _ = writeln!(text, "{}- {}", "  ".repeat(depth), node_line(investigation, node, links));
    }
    more(text, nodes.len().saturating_sub(LINES));
}

fn node_line(investigation: &Investigation, node: &Node, links: Links) -> String {
    let state = node.state().map_or("proposed".to_owned(), ToString::to_string);
    format!("{} {state}: {}", link(investigation, &node.id, links), literal(node.name()))
}

/// Writes a node.
pub fn node(assessment: &Assessment<'_>, node: &Node, links: Links) -> String {
    let investigation = assessment.investigation;
    let result = node.classification.as_ref();
    let mut text = format!("# {} {}\n\n", node.id, literal(&node.title));
    match result {
        Some(result) => {
            let asked = result.requested_state.as_ref().map(|state| format!(" (requested as {state})"));
            let by = by(result.agent_id.as_deref(), &result.caller);
            let by = if by.starts_with(" by ") { by } else { format!(" by an unnamed agent{by}") };
            let (state, asked) = (result.current_state(), asked.unwrap_or_default());
            let _ = write!(text, "{state}{asked}, committed {}{by}", result.committed_at);
            if let Some(began) = result.started_at {
                let _ = write!(text, ", research started {began}");
            }
        }
        None => {
            let _ = write!(text, "Proposed {}, not committed", node.proposed_at);
        }
    }
    let parent = node.parent.as_ref().map(|parent| link(investigation, parent, links));
    let below = parent.as_ref().map_or_else(|| "a root".to_owned(), |parent| format!("below {parent}"));
    let _ = write!(text, "; {below}");
    if links == Links::Addresses {
        let session = ResourceAddress::Overview(investigation.meta().id.to_string());
        let _ = write!(text, ", in [{}]({session})", literal(&investigation.meta().title));
    }
    text.push_str(".\n");
    if let Some(parent) = parent.filter(|_| result.is_some_and(|it| it.refutes)) {
        let _ = write!(text, "\nIt refutes {parent}.\n");
    }
    if !node.covers.is_empty() {
        let _ = write!(text, "\nCovers {}.\n", literal(&node.covers.join(", ")));
    }
    if let Some(claim) = &node.claim {
        let _ = write!(text, "\nClaimed by {}.\n", literal(&claim.line()));
    }
    if result.is_some_and(Classification::is_contested) {
        text.push_str(
            "\nContested: its results have different states, and no one has decided between them.\n",
        );
    }
    section(&mut text, PLANNED, &node.planned_action);
    let fields = node.result_fields();
    let field = |name: &str| fields.iter().find(|field| field.name == name).map_or("", |field| &*field.value);
    section(&mut text, HEADLINE, field(HEADLINE));
    if let Some(findings) = Some(field(FINDINGS)).filter(|findings| !findings.trim().is_empty()) {
        let findings = known(assessment, Some(&node.id), findings);
        let _ = write!(text, "\n## {FINDINGS}\n\n{findings}");
    }
    for backing in result.into_iter().flat_map(Classification::backing) {
        match backing.is_list {
            true => listing(&mut text, backing.heading, backing.entries.iter().map(|entry| literal(entry))),
            false => section(&mut text, backing.heading, &backing.entries.concat()),
        }
    }
    for name in [COMMANDS, REFERENCES] {
        section(&mut text, name, &indented(field(name)));
    }
    let (runs, more_runs) = newest_runs(assessment.runs_of(&node.id), NEWEST_RUNS);
    let told = runs.iter().map(|run| ran(&run.entry(RUN_TEXT, RUN_ENTRIES)));
    listing(&mut text, "Recorded commands", told);
    more(&mut text, more_runs);
    let linked = result.into_iter().flat_map(|it| &it.links);
    let linked = linked.map(|it| format!("{} {}", it.kind.label(), link(investigation, &it.to, links)));
    listing(&mut text, LINKS, linked);
    let warnings = result.into_iter().flat_map(Classification::all_warnings);
    listing(&mut text, "Warnings", warnings.map(|warning| literal(&warning.line())));
    let changes = result.into_iter().flat_map(|it| &it.reclassified).map(|change| {
        let by = match &change.by {
            Author::Child(child) => format!(" by its child {}", link(investigation, child, links)),
            Author::Caller(caller) => by(change.agent(), caller),
        };
        let why = change.reason.as_deref().map(|why| format!(": {}", literal(why))).unwrap_or_default();
        let mut line = format!("{} {} → {}{by}{why}", change.at, change.from, change.to);
        for backing in change.backing() {
            for entry in backing.entries {
                let _ = write!(line, " {}: {}", backing.heading, literal(entry));
            }
        }
        line
    });
    listing(&mut text, CHANGES_OF_STATE, changes);
    let files = investigation.attachments_of(&node.id).iter();
    let files = files.map(|(name, bytes)| {
        format!("{} ({})", literal(&layout::attachment(&node.id, name)), counted(*bytes as usize, "byte"))
    });
    listing(&mut text, "Attachments", files);
    let open = objections::open(investigation);
    let lines = investigation.comments_on(&node.id).map(|comment| {
        let is_open = open.iter().any(|objection| objection.comment.id == comment.id);
        let open = if is_open { " (open)" } else { "" };
        let (kind, by) = (comment.kind.label(), literal(&comment.author.label()));
        format!("{} {kind}{open} {} by {by}: {}", comment.at, comment.id, literal(&comment.shown()))
    });
    listing(&mut text, "Comments", lines);
    let amended = result.into_iter().flat_map(|it| &it.amended).map(|amendment| literal(&amendment.line()));
    listing(&mut text, CHANGES_OF_TEXTS, amended);
    for other in node.results().skip(1) {
        section(&mut text, OTHER_RESULTS, &indented(&other.text()));
    }
    let children = investigation.children(&node.id).map(|child| node_line(investigation, child, links));
    listing(&mut text, "Children", children);
    text
}

/// The maximum length of each text field in a run, and the maximum number of expectations and repetitions per run.
const RUN_TEXT: usize = 300;
const RUN_ENTRIES: usize = 3;

/// Formats a command run as one line.
fn ran(run: &RunEntry) -> String {
    let RunEntry {
        run_id,
        command,
        ended,
        captured_by,
        note,
        files,
        not_stored,
        inputs,
        output,
        expectations,
        standing,
        repetitions,
    } = run;
    let expected = expectations.iter().map(|it| format!("expected {it}"));
    let printed = Some(one_line(output)).filter(|output| !output.is_empty());
    let printed = printed.map(|output| format!("it printed: {output}"));
    let with = (!files.is_empty()).then(|| format!("stored with it: {}", files.join(", ")));
    let lacks = not_stored.iter().map(|files| format!("not stored, and missing in a rerun: {files}"));
    let more = note
        .iter()
        .cloned()
        .chain(with)
        .chain(lacks)
        .chain(inputs.iter().cloned())
        .chain(expected)
        .chain(repetitions.iter().cloned())
        .chain(printed);
    let more: String = more.map(|it| format!("; {it}")).collect();
    let about = literal(&format!("({ended}): {standing}; captured by {captured_by} as {run_id}{more}"));
    format!("{} {about}", code_span(command))
}

/// Formats text as an indented code block.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// Writes a section under a heading, unless it is blank.
fn section(text: &mut String, heading: &str, body: &str) {
    if !body.trim().is_empty() {
        let _ = write!(text, "\n## {heading}\n\n{}", quoted(body));
    }
}

/// Writes a list under a heading, unless it is empty.
fn listing(text: &mut String, heading: &str, entries: impl Iterator<Item = String>) {
    let entries: Vec<String> = entries.collect();
    if entries.is_empty() {
        return;
    }
    let _ = write!(text, "\n## {heading}\n\n");
    for entry in entries.iter().take(LINES) {
        let _ = writeln!(text, "- {entry}");
    }
    more(text, entries.len().saturating_sub(LINES));
}

/// Writes the number of omitted entries.
pub fn more(text: &mut String, number: usize) {
    if number > 0 {
        let _ = write!(text, "\nAnd {number} more.\n");
    }
}

fn link(investigation: &Investigation, id: &NodeId, links: Links) -> String {
    match links {
        Links::Addresses => {
            format!("[{id}]({})", ResourceAddress::Node(investigation.meta().id.to_string(), id.to_string()))
        }
        Links::Document => format!("[{id}](#{id})"),
    }
}

/// Puts untrusted text on one line, as text without Markdown.
pub fn literal(text: &str) -> String {
    markdown::literal(text, usize::MAX, Reader::Page)
}

/// Quotes text with how each passage with a source is known. `own` is the node whose findings it is.
fn known(assessment: &Assessment<'_>, own: Option<&NodeId>, text: &str) -> String {
    let shown = |source: &Source| ShownSource {
        file: None,
        state: Some(assessment.source(source, own, &|_| None).known()),
    };
    markdown::quoted_with(text, usize::MAX, Reader::Page, &shown)
}

fn quoted(text: &str) -> String {
    markdown::quoted(text, usize::MAX, Reader::Page)
}
