//! `nodes/R3/R3.A1a.yaml` and its like: one node, from its proposal on.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{CallerEntry, Time, Version, unfit};
use crate::domain::{
    Amendment, Author, Caller, Citation, Claim, Classification, Code, Command, Lines, Link, LinkKind,
    NamedIn, Node, NodeId, Pin, Reclassification, StateName, Warning,
};
use crate::yaml::{self, Text, YamlError};

/// A node; or, in the list `otherResults` of one, a result alone, without the fields of a proposal.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<Version>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    planned_action: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proposed_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    covers: Vec<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    renamed_from: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<StateName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requested_state: Option<StateName>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    refutes: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<CallerEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    committed_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    headline: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    findings: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    evidence: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verification_method: Option<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    alternatives_considered: Vec<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    caveats: Vec<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    commands: Vec<CommandEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    references: Vec<CitationEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links: Vec<LinkEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reclassified: Vec<ReclassificationEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    amended: Vec<AmendmentEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    other_results: Vec<File>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClaimEntry {
    at: Time,
    agent_id: Text,
    until: Time,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CommandEntry {
    command: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Text>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CitationEntry {
    target: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    quote: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    named_in: Option<NamedIn>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pinned: Option<PinEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PinEntry {
    path: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<Text>,
    blob: Text,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    uncommitted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<Lines>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<Text>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LinkEntry {
    to: NodeId,
    kind: LinkKind,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AmendmentEntry {
    at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<CallerEntry>,
    reason: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    headline: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    findings: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    evidence: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alternatives_considered: Option<Vec<Text>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    caveats: Option<Vec<Text>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commands: Option<Vec<CommandEntry>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    references: Option<Vec<CitationEntry>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WarningEntry {
    code: String,
    message: Text,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReclassificationEntry {
    from: StateName,
    to: StateName,
    at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<By>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    evidence: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verification_method: Option<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    alternatives_considered: Vec<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningEntry>,
    #[serde(default, skip_serializing_if = "is_zero")]
    settles: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// What brought a change of state about: a child that confirmed or refuted the node, or else who called.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum By {
    Child(NodeId),
    Caller(CallerEntry),
}

/// The text of the file.
///
/// # Errors
///
/// None in practice; see [`super::files`].
pub fn write(node: &Node) -> Result<String, YamlError> {
    let node = node.clone();
    yaml::to_text(&File {
        version: Some(Version),
        id: Some(node.id),
        parent: node.parent,
        title: Some(Text(node.title)),
        planned_action: Some(Text(node.planned_action)),
        proposed_at: Some(Time(node.proposed_at)),
        covers: texts(node.covers),
        renamed_from: node.renamed_from,
        claim: node.claim.map(|claim| ClaimEntry {
            at: Time(claim.at),
            agent_id: Text(claim.agent_id),
            until: Time(claim.until),
        }),
        ..node.classification.map(result_entry).unwrap_or_default()
    })
}

fn result_entry(result: Classification) -> File {
    File {
        state: Some(result.state),
        requested_state: result.requested_state,
        refutes: result.refutes,
        agent_id: result.agent_id.map(Text),
        by: CallerEntry::of(result.caller),
        started_at: result.started_at.map(Time),
        committed_at: Some(Time(result.committed_at)),
        headline: result.headline.map(Text),
        findings: Some(Text(result.findings)),
        evidence: result.evidence.map(Text),
        verification_method: result.verification_method.map(Text),
        alternatives_considered: texts(result.alternatives_considered),
        caveats: texts(result.caveats),
        commands: result.commands.into_iter().map(command_entry).collect(),
        references: result.references.into_iter().map(citation_entry).collect(),
        links: result.links.into_iter().map(|link| LinkEntry { to: link.to, kind: link.kind }).collect(),
        warnings: warning_entries(result.warnings),
        reclassified: result.reclassified.into_iter().map(reclassification_entry).collect(),
        amended: result.amended.into_iter().map(amendment_entry).collect(),
        other_results: result.other_results.into_iter().map(result_entry).collect(),
        ..File::default()
    }
}

/// The value of the file.
///
/// # Errors
///
/// An invalid file, with the line where it is known.
pub fn read(content: &str) -> Result<Node, YamlError> {
    whole(super::read(content)?)
}

/// Out of the same fields in another format.
impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(fields: D) -> Result<Self, D::Error> {
        whole(File::deserialize(fields)?).map_err(D::Error::custom)
    }
}

fn whole(mut file: File) -> Result<Node, YamlError> {
    let missing = |field: &str| unfit(format!("missing field `{field}`"));
    file.version.ok_or_else(|| missing("version"))?;
    Ok(Node {
        id: file.id.take().ok_or_else(|| missing("id"))?,
        parent: file.parent.take(),
        title: file.title.take().ok_or_else(|| missing("title"))?.0,
        planned_action: file.planned_action.take().ok_or_else(|| missing("plannedAction"))?.0,
        proposed_at: file.proposed_at.take().ok_or_else(|| missing("proposedAt"))?.0,
        covers: plain(std::mem::take(&mut file.covers)),
        renamed_from: file.renamed_from.take(),
        claim: file.claim.take().map(|claim| Claim {
            at: claim.at.0,
            agent_id: claim.agent_id.0,
            until: claim.until.0,
        }),
        classification: result(file)?,
    })
}

/// The result in a file without the fields of its proposal; `None` where there is none.
fn result(file: File) -> Result<Option<Classification>, YamlError> {
    let Some(state) = file.state else {
        let strays = [
            ("findings", file.findings.is_some()),
            ("committedAt", file.committed_at.is_some()),
            ("reclassified", !file.reclassified.is_empty()),
            ("amended", !file.amended.is_empty()),
            ("otherResults", !file.other_results.is_empty()),
        ];
        return match strays.into_iter().find(|(_, is_there)| *is_there) {
            Some((field, _)) => {
                Err(unfit(format!("`{field}` stands without a `state`: a pending proposal has none")))
            }
            None => Ok(None),
        };
    };
    let missing =
        |field: &str| unfit(format!("`{field}` is missing: a node with a `state` has been committed"));
    Ok(Some(Classification {
        state,
        requested_state: file.requested_state,
        refutes: file.refutes,
        agent_id: text(file.agent_id),
        caller: CallerEntry::caller(file.by),
        started_at: file.started_at.map(|time| time.0),
        committed_at: file.committed_at.ok_or_else(|| missing("committedAt"))?.0,
        headline: text(file.headline),
        findings: file.findings.ok_or_else(|| missing("findings"))?.0,
        evidence: text(file.evidence),
        verification_method: text(file.verification_method),
        alternatives_considered: plain(file.alternatives_considered),
        caveats: plain(file.caveats),
        commands: file.commands.into_iter().map(command).collect(),
        references: file.references.into_iter().map(citation).collect(),
        links: file.links.into_iter().map(|link| Link { to: link.to, kind: link.kind }).collect(),
        warnings: warnings(file.warnings),
        reclassified: file.reclassified.into_iter().map(reclassification).collect(),
        amended: file.amended.into_iter().map(amendment).collect(),
        other_results: file.other_results.into_iter().map(other_result).collect::<Result<_, _>>()?,
    }))
}

/// A result in the list of another.
fn other_result(file: File) -> Result<Classification, YamlError> {
    let is_proposal = file.version.is_some()
        || file.id.is_some()
        || file.parent.is_some()
        || file.title.is_some()
        || file.planned_action.is_some()
        || file.proposed_at.is_some()
        || !file.covers.is_empty()
        || file.renamed_from.is_some()
        || file.claim.is_some();
    if is_proposal || !file.other_results.is_empty() {
        return Err(unfit("an entry of `otherResults` holds a result alone"));
    }
    result(file)?.ok_or_else(|| unfit("an entry of `otherResults` has no `state`"))
}

fn texts(texts: Vec<String>) -> Vec<Text> {
    texts.into_iter().map(Text).collect()
}

fn plain(texts: Vec<Text>) -> Vec<String> {
    texts.into_iter().map(|text| text.0).collect()
}

fn text(text: Option<Text>) -> Option<String> {
    text.map(|text| text.0)
}

fn command_entry(command: Command) -> CommandEntry {
    let Command { command, exit_code, output } = command;
    CommandEntry { command: Text(command), exit_code, output: output.map(Text) }
}

fn command(entry: CommandEntry) -> Command {
    Command { command: entry.command.0, exit_code: entry.exit_code, output: text(entry.output) }
}

fn citation_entry(citation: Citation) -> CitationEntry {
    let Citation { target, lines, commit, quote, note, named_in, pinned } = citation;
    CitationEntry {
        target: Text(target),
        lines: lines.map(Text),
        commit: commit.map(Text),
        quote: quote.map(Text),
        note: note.map(Text),
        named_in,
        pinned: pinned.map(|Pin { path, commit, blob, uncommitted, lines, text }| PinEntry {
            path: Text(path),
            commit: commit.map(Text),
            blob: Text(blob),
            uncommitted,
            lines,
            text: text.map(Text),
        }),
    }
}

fn citation(entry: CitationEntry) -> Citation {
    Citation {
        target: entry.target.0,
        lines: text(entry.lines),
        commit: text(entry.commit),
        quote: text(entry.quote),
        note: text(entry.note),
        named_in: entry.named_in,
        pinned: entry.pinned.map(|pin| Pin {
            path: pin.path.0,
            commit: text(pin.commit),
            blob: pin.blob.0,
            uncommitted: pin.uncommitted,
            lines: pin.lines,
            text: text(pin.text),
        }),
    }
}

fn amendment_entry(amendment: Amendment) -> AmendmentEntry {
    AmendmentEntry {
        at: Time(amendment.at),
        agent_id: amendment.agent_id.map(Text),
        by: CallerEntry::of(amendment.caller),
        reason: Text(amendment.reason),
        title: amendment.title.map(Text),
        headline: amendment.headline.map(Text),
        findings: amendment.findings.map(Text),
        evidence: amendment.evidence.map(Text),
        alternatives_considered: amendment.alternatives_considered.map(texts),
        caveats: amendment.caveats.map(texts),
        commands: amendment.commands.map(|all| all.into_iter().map(command_entry).collect()),
        references: amendment.references.map(|all| all.into_iter().map(citation_entry).collect()),
    }
}

fn amendment(entry: AmendmentEntry) -> Amendment {
    Amendment {
        at: entry.at.0,
        agent_id: text(entry.agent_id),
        caller: CallerEntry::caller(entry.by),
        reason: entry.reason.0,
        title: text(entry.title),
        headline: text(entry.headline),
        findings: text(entry.findings),
        evidence: text(entry.evidence),
        alternatives_considered: entry.alternatives_considered.map(plain),
        caveats: entry.caveats.map(plain),
        commands: entry.commands.map(|all| all.into_iter().map(command).collect()),
        references: entry.references.map(|all| all.into_iter().map(citation).collect()),
    }
}

fn warning_entries(warnings: Vec<Warning>) -> Vec<WarningEntry> {
    warnings
        .into_iter()
        .map(|warning| WarningEntry { code: warning.code.to_string(), message: Text(warning.message) })
        .collect()
}

fn warnings(entries: Vec<WarningEntry>) -> Vec<Warning> {
    entries
        .into_iter()
        .map(|entry| Warning { code: Code::parse(&entry.code), message: entry.message.0 })
        .collect()
}

fn reclassification_entry(change: Reclassification) -> ReclassificationEntry {
    let caller = CallerEntry::of(change.caller).map(By::Caller);
    let (agent_id, by) = match change.by {
        Author::Agent(agent) => (Some(Text(agent)), caller),
        Author::Child(child) => (None, Some(By::Child(child))),
        Author::Unknown => (None, caller),
    };
    ReclassificationEntry {
        from: change.from,
        to: change.to,
        at: Time(change.at),
        agent_id,
        by,
        reason: change.reason.map(Text),
        evidence: change.evidence.map(Text),
        verification_method: change.verification_method.map(Text),
        alternatives_considered: texts(change.alternatives_considered),
        warnings: warning_entries(change.warnings),
        settles: change.settles,
    }
}

fn reclassification(entry: ReclassificationEntry) -> Reclassification {
    let agent = entry.agent_id.map_or(Author::Unknown, |agent| Author::Agent(agent.0));
    let (by, caller) = match entry.by {
        Some(By::Child(child)) => (Author::Child(child), Caller::default()),
        Some(By::Caller(caller)) => (agent, CallerEntry::caller(Some(caller))),
        None => (agent, Caller::default()),
    };
    Reclassification {
        from: entry.from,
        to: entry.to,
        at: entry.at.0,
        by,
        caller,
        reason: text(entry.reason),
        evidence: text(entry.evidence),
        verification_method: text(entry.verification_method),
        alternatives_considered: plain(entry.alternatives_considered),
        warnings: warnings(entry.warnings),
        settles: entry.settles,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Person;

    #[test]
    fn a_node_file_is_made_to_be_read() {
        let text = "\
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
alternativesConsidered:
- nothing
warnings:
- code: R3_EXPLORE_ONLY
  message: \"stored as EXPLORE: too early\"
reclassified:
- from: EXPLORE
  to: DEAD
  at: \"2026-11-20T10:00:00.000Z\"
  agentId: abc-124
  reason: given up
";
        let node = read(text).unwrap();
        assert_eq!(write(&node).unwrap(), text);
        assert_eq!(node.state().unwrap().as_str(), "DEAD");
    }

    #[test]
    fn what_a_merge_leaves_comes_back() {
        let text = "\
version: 1
id: R2.A2
parent: R1.A
title: Look
plannedAction: Look at it.
proposedAt: \"2026-11-20T09:15:02.114Z\"
renamedFrom: R2.A1
state: DEAD
committedAt: \"2026-11-20T09:17:40.902Z\"
findings: Nothing.
reclassified:
- from: DEAD
  to: DEAD
  at: \"2026-11-20T10:00:00.000Z\"
  reason: both were repeated
  settles: 1
otherResults:
- state: EXPLORE
  agentId: abc-125
  committedAt: \"2026-11-20T09:18:00.000Z\"
  findings: Something.
";
        let node = read(text).unwrap();
        assert_eq!(write(&node).unwrap(), text);
        assert!(!node.classification.unwrap().is_contested());
        let stray = text.replace("- state: EXPLORE", "- id: R2.A2\n  state: EXPLORE");
        assert!(read(&stray).unwrap_err().to_string().contains("holds a result alone"));
        let pending = "version: 1\nid: R1.A\ntitle: x\nplannedAction: Look.\nproposedAt: \"2026-11-20T09:15:02.000Z\"\n";
        let claimed = format!(
            "{pending}claim:\n  at: \"2026-11-20T09:16:00.000Z\"\n  agentId: a\n  until: \"2026-11-20T10:16:00.000Z\"\n"
        );
        assert_eq!(write(&read(&claimed).unwrap()).unwrap(), claimed);
    }

    #[test]
    fn a_fault_is_named() {
        let pending = "version: 1\nid: R1.A\ntitle: x\nplannedAction: y\nproposedAt: 2026-11-20T09:15:02Z\n";
        assert!(read(pending).unwrap().is_pending());
        for (text, reason) in [
            (pending.replace("version: 1", "version: 2"), "version 2 is not known"),
            (format!("{pending}children: [R2.A1]\n"), "children"),
            (format!("{pending}state: EXPLORE\n"), "`committedAt` is missing"),
            (format!("{pending}findings: x\n"), "stands without a `state`"),
            (pending.replace("R1.A", "R1-A"), "R<round>.<suffix>"),
            (pending.replace("2026-11-20T09:15:02Z", "today"), "`today` is not a time"),
            (format!("{pending}title: z\n"), "title"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["(?s).{0,40}", "[ -~\\n]{0,60}", "[a-z ]{1,20}(\\n[ a-z#:-]{0,20}){0,5}\\n?"]
    }

    proptest! {
        #[test]
        fn any_node_comes_back_as_it_was(
            title in text(), action in text(), findings in text(), evidence in proptest::option::of(text()),
            agent in proptest::option::of(text()), alternatives in proptest::collection::vec(text(), 0..3),
            reason in proptest::option::of(text()), pending: bool, refutes: bool,
        ) {
            let time = |ms| crate::domain::Timestamp::from_milliseconds(ms).unwrap();
            let state = |name: &str| name.parse::<StateName>().unwrap();
            let caller = Caller {
                client: agent.clone(),
                session: reason.clone(),
                model: None,
                person: refutes.then(|| Person { name: title.clone(), email: evidence.clone() }),
                disowned: None,
            };
            let node = Node {
                planned_action: action,
                covers: alternatives.clone(),
                classification: (!pending).then(|| Classification {
                    requested_state: Some(state("DEAD")),
                    refutes: refutes && agent.is_some(),
                    agent_id: agent.clone(),
                    caller: caller.clone(),
                    started_at: refutes.then(|| time(1_699_000_000_000)),
                    headline: reason.clone(),
                    evidence: evidence.clone(),
                    verification_method: evidence,
                    alternatives_considered: alternatives.clone(),
                    caveats: alternatives.clone(),
                    commands: alternatives
                        .iter()
                        .map(|text| Command { command: text.clone(), exit_code: Some(-1), output: reason.clone() })
                        .collect(),
                    references: alternatives
                        .iter()
                        .map(|text| Citation {
                            target: text.clone(),
                            lines: reason.clone(),
                            commit: agent.clone(),
                            quote: Some(text.clone()),
                            note: None,
                            named_in: refutes.then_some(NamedIn::Evidence),
                            pinned: Some(Pin {
                                path: text.clone(),
                                commit: agent.clone(),
                                blob: text.clone(),
                                uncommitted: pending || refutes,
                                lines: refutes.then_some(Lines { first: 1, last: 7 }),
                                text: Some(text.clone()),
                            }),
                        })
                        .collect(),
                    links: LinkKind::ALL
                        .map(|kind| Link { to: "R2.B1".parse().unwrap(), kind })
                        .into_iter()
                        .take(alternatives.len())
                        .collect(),
                    amended: reason
                        .iter()
                        .map(|reason| Amendment {
                            at: time(1_700_000_300_000),
                            agent_id: agent.clone(),
                            caller: caller.clone(),
                            reason: reason.clone(),
                            title: Some(reason.clone()),
                            headline: Some(String::new()),
                            findings: agent.clone(),
                            evidence: Some(String::new()),
                            alternatives_considered: Some(alternatives.clone()),
                            caveats: Some(Vec::new()),
                            commands: Some(Vec::new()),
                            references: agent.is_some().then(|| vec![Citation::default()]),
                        })
                        .collect(),
                    warnings: vec![Warning { code: Code::parse("A_B"), message: reason.clone().unwrap_or_default() }],
                    reclassified: vec![Reclassification {
                        caller: if agent.is_some() { caller } else { Caller::default() },
                        reason,
                        alternatives_considered: alternatives,
                        ..Reclassification::new(
                            state("EXPLORE"),
                            state("DEAD"),
                            time(1_700_000_200_000),
                            agent.map_or(Author::Child("R3.A1a".parse().unwrap()), Author::Agent),
                        )
                    }],
                    ..Classification::new(state("EXPLORE"), findings, time(1_700_000_100_000))
                }),
                ..Node::new(
                    "R2.A1".parse().unwrap(),
                    Some("R1.A".parse().unwrap()),
                    title,
                    time(1_700_000_000_123),
                )
            };
            let written = write(&node).unwrap();
            prop_assert_eq!(read(&written).unwrap(), node, "{}", written);
        }
    }
}
