//! Node files, such as `nodes/R3/R3.A1a-k3f9q2.yaml`.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::OtherFields;
use crate::domain::{Classification, Node};

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(file: D) -> Result<Self, D::Error> {
        file.deserialize_map(NodeVisitor)
    }
}

/// Reads the fields of a proposal, and passes all others to the result.
struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Node, A::Error> {
        let (mut id, mut parent, mut title, mut planned_action) = (None, None, None, None);
        let (mut proposed_at, mut covers, mut replaces) = (None, Vec::new(), Vec::new());
        let (mut claim, mut withdrawn) = (None, None);
        let mut keys = Vec::new();
        let take = |key: &str, map: &mut A| {
            match key {
                "id" => id = Some(map.next_value()?),
                "parent" => parent = map.next_value()?,
                "title" => title = Some(map.next_value()?),
                "plannedAction" => planned_action = Some(map.next_value()?),
                "proposedAt" => proposed_at = Some(map.next_value()?),
                "covers" => covers = map.next_value()?,
                "replaces" => replaces = map.next_value()?,
                "claim" => claim = map.next_value()?,
                "withdrawn" => withdrawn = map.next_value()?,
                of_result => {
                    keys.push(of_result.to_owned());
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let mut fields = OtherFields::of(map, take);
        let classification = match Classification::deserialize(MapAccessDeserializer::new(&mut fields)) {
            // After the last field, only a missing one can be the reason.
            Err(error) if !fields.is_at_end => return Err(error),
            result => result.ok(),
        };
        let missing = A::Error::missing_field;
        let node = Node {
            id: id.ok_or_else(|| missing("id"))?,
            parent,
            title: title.ok_or_else(|| missing("title"))?,
            planned_action: planned_action.ok_or_else(|| missing("plannedAction"))?,
            proposed_at: proposed_at.ok_or_else(|| missing("proposedAt"))?,
            covers,
            replaces,
            claim,
            withdrawn,
            classification,
        };
        if node.is_pending() && !keys.is_empty() { Err(A::Error::custom(lacking(&keys))) } else { Ok(node) }
    }
}

/// Describes what a result with these keys lacks.
fn lacking(keys: &[String]) -> String {
    let has = |key: &str| keys.iter().any(|other| other == key);
    if has("state") {
        let field = if has("committedAt") { "findings" } else { "committedAt" };
        return format!("`{field}` is missing, but the node has a `state`");
    }
    let stray = if has("findings") { "findings" } else { &keys[0] };
    format!("`{stray}` requires a `state`, which a pending proposal does not have")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{
        Amendment, Author, Caller, Citation, ClaimHash, Code, Command, CommentId, Lines, Link, LinkKind,
        NamedIn, Person, Pin, Reclassification, StateName, Warning,
    };
    use crate::format::StoredFile;

    #[test]
    fn a_node_file_is_made_to_be_read() {
        let text = "\
version: 2
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
        let node = Node::read(text).unwrap();
        assert_eq!(Node::write(&node).unwrap(), text);
        assert_eq!(node.state().unwrap().as_str(), "DEAD");
    }

    #[test]
    fn what_a_merge_leaves_comes_back() {
        let text = "\
version: 2
id: R2.A2
parent: R1.A
title: Look
plannedAction: Look at it.
proposedAt: \"2026-11-20T09:15:02.114Z\"
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
        let node = Node::read(text).unwrap();
        assert_eq!(Node::write(&node).unwrap(), text);
        assert!(!node.classification.unwrap().is_contested());
        let stray = text.replace("- state: EXPLORE", "- id: R2.A2\n  state: EXPLORE");
        assert!(Node::read(&stray).unwrap_err().to_string().contains("`id` is not a key"));
        let pending = "version: 2\nid: R1.A\ntitle: x\nplannedAction: Look.\nproposedAt: \"2026-11-20T09:15:02.000Z\"\n";
        let claimed = format!(
            "{pending}claim:\n  at: \"2026-11-20T09:16:00.000Z\"\n  agentId: a\n  until: \"2026-11-20T10:16:00.000Z\"\n"
        );
        let withdrawn =
            format!("{claimed}withdrawn:\n  at: \"2026-11-20T09:17:00.000Z\"\n  by:\n    client: it/1\n");
        for text in [claimed, withdrawn] {
            assert_eq!(Node::write(&Node::read(&text).unwrap()).unwrap(), text);
        }
    }

    /// The file retains the name, although nothing else uses it.
    #[test]
    fn a_person_whom_git_has_disowned_stays_in_the_file() {
        let text = "\
version: 2
id: R1.A
title: Look
plannedAction: Look at it.
proposedAt: \"2026-11-20T09:15:02.114Z\"
state: DEAD
by:
  kind: person
  name: Ada
committedAt: \"2026-11-20T09:17:40.902Z\"
findings: Nothing.
reclassified:
- from: DEAD
  to: FOUND
  at: \"2026-11-20T10:00:00.000Z\"
  by:
    kind: person
    name: Ada
";
        let mut node = Node::read(text).unwrap();
        node.visit_callers(|_, caller| caller.disown());
        assert_eq!(Node::write(&node).unwrap(), text);
    }

    #[test]
    fn a_fault_is_named() {
        let pending = "version: 2\nid: R1.A\ntitle: x\nplannedAction: y\nproposedAt: 2026-11-20T09:15:02Z\n";
        assert!(Node::read(pending).unwrap().is_pending());
        for (text, reason) in [
            (pending.replace("version: 2", "version: 3"), "version 3 is not known"),
            (format!("{pending}children: [R2.A1]\n"), "children"),
            (format!("{pending}state: EXPLORE\n"), "`committedAt` is missing"),
            (format!("{pending}findings: x\n"), "requires a `state`"),
            (pending.replace("R1.A", "R1-A"), "R<round>.<suffix>"),
            (pending.replace("2026-11-20T09:15:02Z", "today"), "`today` is not a time"),
            (format!("{pending}title: z\n"), "title"),
        ] {
            let error = Node::read(&text).unwrap_err().to_string();
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
                    saw: refutes.then_some(ClaimHash::GONE),
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
                        .map(|kind| Link {
                            saw: refutes.then_some(ClaimHash::GONE),
                            state: refutes.then(|| state("DEAD")),
                            ..Link::new("R2.B1".parse().unwrap(), kind)
                        })
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
                            correction: agent.is_some().then(|| CommentId::new(7, [1; 10])),
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
                        by: match &agent {
                            Some(_) => Author::Caller(caller),
                            None => Author::Child("R3.A1a".parse().unwrap()),
                        },
                        agent_id: agent,
                        reason,
                        alternatives_considered: alternatives,
                        ..Reclassification::new(state("EXPLORE"), state("DEAD"), time(1_700_000_200_000))
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
            let written = Node::write(&node).unwrap();
            prop_assert_eq!(Node::read(&written).unwrap(), node, "{}", written);
        }
    }
}
