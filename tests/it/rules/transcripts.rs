//! Plays the dialogues of `transcripts/`: calls as an agent makes them, with their replies, on the pure decisions.
//!
//! A line that begins with `>` is a call, and the lines below it are the reply; an accepted call may have none. The
//! arguments are those of the tools, in YAML. Text that a scenario does not depend on is filled in: `R2.A1 DEAD` is a
//! result with findings, evidence, alternatives and an agent of its own. `TOT_WRITE_TRANSCRIPTS=1` writes the replies
//! anew; read the difference before committing it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tree_of_thoughts::decide::amend::amend;
use tree_of_thoughts::decide::blockers::{blockers, weakened};
use tree_of_thoughts::decide::claim::{Claimant, claim, release};
use tree_of_thoughts::decide::comment::comment;
use tree_of_thoughts::decide::commit::NodeResult;
use tree_of_thoughts::decide::end::End;
use tree_of_thoughts::decide::next::{Next, claim_next, next, outlook};
use tree_of_thoughts::decide::propose::{NewNode, Propose};
use tree_of_thoughts::decide::{Decision, Rejection};
use tree_of_thoughts::domain::{Caller, Change, Code, CommentId, Commenter, Diagnostic, Event, NodeId};
use tree_of_thoughts::report::review::review;
use tree_of_thoughts::service::check::{Severity, Subject, check};
use tree_of_thoughts::service::project::ProjectEvidence;
use tree_of_thoughts::store::Snapshot;
use tree_of_thoughts::yaml;

use super::table::{EVIDENCE, Table, ruleset, worded};

#[test]
fn every_transcript_is_what_the_rules_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/rules/transcripts");
    let mut wrong = String::new();
    for file in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let text = std::fs::read_to_string(&file).unwrap();
        let scenarios: Vec<&str> = text.split_inclusive("\n```\n").collect();
        let played: Vec<String> = scenarios.iter().map(|scenario| play(scenario)).collect();
        if std::env::var_os("TOT_WRITE_TRANSCRIPTS").is_some() {
            std::fs::write(&file, played.concat()).unwrap();
        }
        for (now, _) in played.iter().zip(&scenarios).filter(|(now, before)| now != before) {
            wrong.push_str(&format!("{} is now:\n{now}\n", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Plays the calls of a scenario. Returns its text with the current replies.
fn play(scenario: &str) -> String {
    let Some((before, calls)) = scenario.split_once("```text\n") else { return scenario.to_owned() };
    let mut table = Table::new("single-root");
    let mut played = format!("{before}```text\n");
    for line in calls.lines() {
        let call = line.strip_prefix("> ");
        if call.is_some() || line.starts_with(['#', '`']) {
            played.push_str(&format!("{line}\n"));
        }
        let reply = call.map(|call| table.call(call)).unwrap_or_default();
        played.extend(reply.lines().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")));
    }
    // `tot check` must not take what calls have done for tampering.
    let subject = Subject {
        snapshot: Snapshot::without_repository(table.investigation, (*table.ruleset).clone()),
        history: Vec::new(),
        files: BTreeMap::new(),
        left_out: Vec::new(),
        wants_signatures: false,
        faults: Vec::new(),
        damaged: Vec::new(),
        lost: Vec::new(),
    };
    let mut faults = check(&subject);
    faults.retain(|it| it.severity == Severity::Error || it.message.ends_with("no warning about it."));
    assert!(faults.is_empty(), "{scenario}\n{faults:?}");
    played
}

impl Table {
    /// Makes a call, a verb with arguments. Returns the reply.
    pub fn call(&mut self, call: &str) -> String {
        let (verb, arguments) = call.split_once(' ').unwrap_or((call, ""));
        let mut items: Vec<Value> = yaml::from_text(&format!("[{arguments}]")).unwrap();
        items.iter_mut().for_each(expand);
        let first = items.first().and_then(Value::as_str).unwrap_or_default();
        match verb {
            "start" => {
                let request = filled(&items[1..], json!({"query": "Why is the sky blue?"}));
                match Table::started(ruleset(first), request) {
                    Ok(table) => *self = table,
                    Err(rejection) => return said(Err(rejection)),
                }
            }
            "as" => self.caller = caller(first),
            "sleep" => self.sleep(items[0].as_i64().unwrap()),
            "grow" => {
                let nodes = items.iter().map(|item| new(&short(item, "nodeId", "state")["nodeId"])).collect();
                let proposed = self.propose(Propose { nodes, ..Propose::default() });
                self.sleep(60);
                let committed = proposed.and_then(|_| self.commit(items.iter().map(result).collect()));
                return committed.map_or_else(|refused| said(Err(refused)), |_| String::new());
            }
            "mark" => self.marked = Some(self.investigation.clone()),
            // Only a merge of two clones can close a parent whose child is pending.
            "merge" => {
                let (id, state) = first.split_once(' ').unwrap();
                let mut node = self.node(id).clone();
                node.classification.as_mut().unwrap().state = state.parse().unwrap();
                self.investigation = self.investigation.with(&[Change::Node(node.into())]);
            }
            "unreadable" => {
                self.investigation = self.investigation.clone().with_unreadable(ids(&items));
            }
            "run" => return self.run(Some(first).filter(|id| !id.is_empty())).to_string(),
            _ => return self.decided(verb, &items).map_or_else(|| self.shown(verb, &items), said),
        }
        String::new()
    }

    /// Decides a call of a tool. Returns `None` for other calls.
    fn decided(&mut self, verb: &str, items: &[Value]) -> Option<Result<Decision, Rejection>> {
        Some(match verb {
            "propose" => {
                let nodes = items.iter().filter(|item| item["withdraw"].is_null()).map(new).collect();
                let withdraw = items.iter().filter_map(|item| item["withdraw"].as_array()).flatten();
                let withdraw = withdraw.map(|id| id.as_str().unwrap().to_owned()).collect();
                self.propose(Propose { nodes, withdraw, reopen: None })
            }
            "commit" => self.commit(items.iter().map(result).collect()),
            "reclassify" => {
                let defaults = json!({"reason": "It was looked into once more.", "evidence": EVIDENCE});
                self.reclassify(filled(&[short(&items[0], "nodeId", "newState")], defaults))
            }
            "amend" => {
                let given = self.with_comment("correction", merged(items, json!({})));
                let reason = given.get("correction").is_none().then_some("A number was wrong.");
                let request = filled(&[given], json!({"reason": reason.unwrap_or_default()}));
                self.take(|table, rules| {
                    let Table { investigation, caller, known, now, .. } = table;
                    amend(investigation, rules, request, caller, known, *now)
                })
            }
            "comment" => {
                self.sleep(60);
                let person = self.caller.person.as_ref().map(|person| person.name.clone());
                let agent = person.is_none().then_some("a reader");
                let given = merged(items, json!({"agentId": agent, "text": "The cache was warm."}));
                let given = self.with_comment("replyTo", given);
                let request = filled(&[given], json!({}));
                let id = CommentId::new(u64::try_from(self.now.milliseconds()).unwrap(), [0; 10]);
                let author = Commenter {
                    name: person.unwrap_or_else(|| "Tester".to_owned()),
                    caller: self.caller.clone(),
                    ..Commenter::default()
                };
                self.take(|table, rules| comment(&table.investigation, rules, request, author, id, table.now))
            }
            "end" => {
                let given = merged(
                    items,
                    json!({"conclusion": "Air scatters blue light.", "bottomLine": "It scatters."}),
                );
                // The server asks a person, so it is not an argument.
                let asked = serde_json::from_value(given["asked"].clone()).unwrap();
                self.end(End { asked, ..filled(&[given], json!({})) })
            }
            "claim" => match &items[0] {
                Value::String(agent) => self.take(|table, rules| {
                    claim_next(&table.investigation, rules, &plan_of(agent), Some(30), table.now)
                }),
                given => {
                    let claimant = Claimant {
                        agent_id: given["agentId"].as_str().map(str::to_owned),
                        minutes: given["minutes"].as_u64().and_then(|minutes| minutes.try_into().ok()),
                    };
                    let nodes = ids(given["nodes"].as_array().unwrap());
                    self.take(|table, rules| claim(&table.investigation, rules, &nodes, &claimant, table.now))
                }
            },
            "release" => self.take(|table, _| release(&table.investigation, &ids(items))),
            _ => return None,
        })
    }

    /// Replaces `newest` or `oldest` by the id of that comment.
    fn with_comment(&self, key: &str, mut given: Value) -> Value {
        let mut comments = self.investigation.comments();
        let found = match given[key].as_str() {
            Some("newest") => comments.next_back(),
            Some("oldest") => comments.next(),
            _ => None,
        };
        found.into_iter().for_each(|it| given[key] = json!(it.id.to_string()));
        given
    }

    /// Answers a question, which changes nothing.
    fn shown(&self, verb: &str, items: &[Value]) -> String {
        let (investigation, rules) = (&self.investigation, self.rules());
        let first = items.first().and_then(Value::as_str).unwrap_or_default();
        let mut lines = Vec::new();
        match verb {
            "owed" => return listed("owed: ", &blockers(investigation, &rules)),
            "next" => lines.push(worded(&outlook(investigation, &rules).next_step.wording(None))),
            "plan" => {
                let plan = next(investigation, &rules, &plan_of(first), self.now).unwrap();
                lines.push(worded(&plan.outlook.next_step.wording(None)));
                lines.extend(plan.pending.iter().map(|task| format!("pending: {}", task.id)));
                lines.extend(plan.claimed.iter().map(|(id, by)| format!("claimed: {id} by {}", by.agent_id)));
                lines.extend(plan.tasks.iter().map(|task| format!("task: {}", task.id)));
            }
            "verdict" => {
                let found = self.assessment();
                lines.push(format!("{}. {}", found.in_short(), found.found()));
                for answer in found.answers.iter().chain(&found.refuted) {
                    let why: Vec<&str> = answer.because_of().into_iter().map(NodeId::as_str).collect();
                    let line = format!("{}: {} ({})", answer.node.id, answer.words(), why.join(", "));
                    lines.push(line.replace(" ()", ""));
                }
                lines.extend(found.bound().map(|bound| format!("{}: {}", bound.role.label(), bound.id)));
                lines.extend(found.dead_ends.iter().map(|node| format!("dead end: {}", node.id)));
                let against = found.open.iter().map(|it| &it.comment);
                let against = against
                    .filter_map(|it| Some(format!("open {} to {}", it.kind.label(), it.node.as_ref()?)));
                lines.extend(against);
                lines.extend(found.limits().iter().map(ToString::to_string));
                let left = found.owed.iter().filter(|_| found.outcome.is_ended());
                lines.extend(left.map(|step| format!("left undone: {}", step.code)));
            }
            "report" => lines.extend(self.assessment().report().map(|report| report.words)),
            "weakened" => {
                let weakened = weakened(self.marked.as_ref().unwrap(), investigation, &rules);
                lines.extend(weakened.refuted.iter().map(|id| format!("now refuted: {id}")));
                lines.extend(weakened.unconfirmed.iter().map(|id| format!("no longer confirmed: {id}")));
            }
            "review" => {
                let evidence = ProjectEvidence::default();
                for item in review(self.marked.as_ref(), investigation, Some(&rules), &evidence) {
                    let node = item.node.map_or_else(|| "the whole".to_owned(), |node| node.to_string());
                    lines.push(format!("{node}: {}", item.title));
                    let notes = item.notes.iter();
                    lines.extend(notes.map(|note| format!("  {} - {}", note.risk.label(), note.text)));
                }
            }
            "show" => {
                let stored = match first {
                    "conclusion" => serde_json::to_value(investigation.conclusion()),
                    id => serde_json::to_value(self.node(id)),
                };
                let stored = stored.unwrap();
                let keys = items[1..].iter().map(|key| key.as_str().unwrap());
                let shown = keys.filter_map(|key| Some((key.to_owned(), stored.get(key)?.clone())));
                return yaml::to_text(&shown.collect::<Map<_, _>>()).unwrap();
            }
            unknown => panic!("`{unknown}` is not a call"),
        }
        lines.join("\n")
    }
}

/// Formats the reply to a call: errors, or state changes of parents and warnings.
pub fn said(outcome: Result<Decision, Rejection>) -> String {
    let decision = match outcome {
        Ok(decision) => decision,
        Err(rejection) => return listed("error: ", &rejection.errors),
    };
    let changed = match &decision.event {
        Some(Event::Committed { transitions, .. } | Event::Reclassified { transitions, .. }) => {
            transitions.iter().map(|it| format!("{} {} -> {}\n", it.node.id, it.from, it.to)).collect()
        }
        Some(_) => String::new(),
        None => "unchanged\n".to_owned(),
    };
    changed + &listed("warning: ", &decision.warnings)
}

/// Formats diagnostics as agents see them, one per line.
fn listed(kind: &str, diagnostics: &[Diagnostic]) -> String {
    // A text that is too long may be in a field that only agents use.
    let for_people = diagnostics.iter().filter(|it| it.code != Code::TextTooLong);
    for_people.for_each(|it| drop(worded(&it.text())));
    diagnostics.iter().map(|it| format!("{kind}{it}\n")).collect()
}

/// Expands `301×é`.
fn expand(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((times, text)) = text.split_once('×') {
                *value = json!(text.repeat(times.parse().unwrap()));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(expand),
        Value::Object(fields) => fields.values_mut().for_each(expand),
        _ => {}
    }
}

/// Returns `two` as a session, and `Ada <ada@example.org>` as a person.
fn caller(name: &str) -> Caller {
    match name.split_once(" <") {
        Some((name, email)) => Caller::of_person(name, Some(email.trim_end_matches('>').to_owned())),
        None => Caller { session: Some(name.to_owned()), ..Caller::default() },
    }
}

/// Returns a request for an agent's next task, or for all tasks.
fn plan_of(agent: &str) -> Next {
    match agent {
        "" => Next::default(),
        agent => Next { agent_id: Some(agent.to_owned()), max_tasks: Some(1), ..Next::default() },
    }
}

fn ids(items: &[Value]) -> Vec<NodeId> {
    items.iter().map(|id| id.as_str().unwrap().parse().unwrap()).collect()
}

/// Returns `R2.A1 DEAD` as a mapping with these two keys.
fn short(item: &Value, key: &str, other: &str) -> Value {
    let Some(text) = item.as_str() else { return item.clone() };
    let (id, rest) = text.split_once(' ').unwrap_or((text, ""));
    json!({key: id, other: rest})
}

fn merged(items: &[Value], mut fields: Value) -> Value {
    for (key, value) in items.iter().flat_map(|item| item.as_object().unwrap()) {
        fields[key] = value.clone();
    }
    fields
}

fn filled<T: DeserializeOwned>(items: &[Value], defaults: Value) -> T {
    serde_json::from_value(merged(items, defaults)).unwrap_or_else(|error| panic!("{items:?}: {error}"))
}

/// Returns a node to propose. By default, its parent is the node whose suffix it extends by one character.
fn new(item: &Value) -> NewNode {
    let given = item.as_str().map_or_else(|| item.clone(), |id| json!({"id": id}));
    let id = given["id"].as_str().unwrap();
    let parent = id.parse::<NodeId>().ok().filter(|id| id.round() > 1).map(|id| {
        let suffix = id.suffix();
        format!("R{}.{}", id.round() - 1, &suffix[..suffix.len() - 1])
    });
    let defaults = json!({"parent": parent, "title": format!("Title of {id}"), "plannedAction": "Look."});
    filled(std::slice::from_ref(&given), defaults)
}

/// Returns a result to commit.
fn result(item: &Value) -> NodeResult {
    let given = short(item, "nodeId", "state");
    let id = given["nodeId"].as_str().unwrap();
    let defaults = json!({
        "findings": format!("Findings of {id}."),
        "agentId": format!("agent-{id}"),
        "evidence": EVIDENCE,
        "alternativesConsidered": ["A cold cache, which a second run rules out.", "A wrong clock."],
    });
    filled(std::slice::from_ref(&given), defaults)
}
