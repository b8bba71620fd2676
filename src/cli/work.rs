//! Shared code for the commands that call a tool: `tot start`, `next`, `propose`, `commit`, `reclassify`, `amend` and `end`.
//!
//! 1. The command builds the tool's arguments from options, a file, or text written in an editor.
//! 2. The tool runs in this process, with the same refusals, messages and codes as for agents. The commit's author comes from
//!    git, and the stored caller from [`super::caller`].
//! 3. The reply is printed as lines, or as JSON with `--json`. If the call is refused, the command exits with status 1.

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::{Map, Value, json};

use super::ExitResult;
use super::caller::caller;
use super::draft::ToolArguments;
use super::editor::{self, Edited};
use super::place::{ClockArgument, Common, Location, is_node, split_id};
use super::print::{can_ask, columns, say, say_json, stored, tell, wrapped};
use super::ruleset::RulesetFolder;
use crate::domain::{Caller, Code, Investigation};
use crate::format::layout;
use crate::mcp::tools;
use crate::service::project::Project;
use crate::service::sharing::Sharing;
use crate::service::{Service, Standing};
use crate::text::one_line;

/// The options of all these commands.
#[derive(Args)]
pub(super) struct WorkArguments {
    #[command(flatten)]
    common: Common,
    /// Use no project: files cited from the repository around the current folder are not stored
    #[arg(long)]
    no_project: bool,
    #[command(flatten)]
    clock: ClockArgument,
}

/// Access to the tools in this process.
pub(super) struct LocalTools {
    /// The name of the command.
    name: &'static str,
    pub place: Location,
    service: Arc<Service>,
    json: bool,
}

/// An investigation to work on.
pub(super) struct WorkTarget {
    work: LocalTools,
    /// The investigation's folder.
    pub path: PathBuf,
    pub standing: Standing,
    /// The id as the user gave it, for suggested commands.
    named: Option<String>,
}

impl LocalTools {
    pub(super) fn new(name: &'static str, arguments: &WorkArguments) -> LocalTools {
        LocalTools::on(
            name,
            arguments,
            Service::new(arguments.common.place().store.root().to_owned(), arguments.clock.world(), None),
        )
    }

    /// Opens the root with additional rulesets. New investigations are shared as configured in git.
    pub(super) fn starting(
        arguments: &WorkArguments,
        rulesets: &RulesetFolder,
    ) -> Result<LocalTools, Box<dyn std::error::Error>> {
        let root = arguments.common.place().store.root().to_owned();
        let service = Service::new(root, arguments.clock.world(), None).with_rulesets(rulesets.library()?);
        Ok(LocalTools::on("tot start", arguments, service.with_sharing(Sharing::to(None))))
    }

    fn on(name: &'static str, arguments: &WorkArguments, service: Service) -> LocalTools {
        // An investigation's folder is not a project.
        let is_project = |project: &Project| !project.root().join(layout::META).is_file();
        let project = if arguments.no_project { None } else { Project::here().filter(is_project) };
        let service = Arc::new(service.with_project(project));
        LocalTools { name, place: arguments.common.place(), service, json: arguments.common.json }
    }

    /// Returns the investigation with this id or part of an id. Without an id, returns the default investigation.
    pub(super) fn subject(self, id: Option<&str>) -> Result<WorkTarget, Box<dyn std::error::Error>> {
        let path = self.place.folder(id)?;
        let session = self.place.store.id(&path)?.to_string();
        let standing = self.service.read(&session).map_err(super::refused)?;
        Ok(WorkTarget { work: self, path, standing, named: id.map(str::to_owned) })
    }

    /// Returns whether a person can be asked.
    pub(super) fn may_ask(&self) -> bool {
        can_ask() && !self.json
    }

    /// Calls the tool and returns its reply.
    fn ask(&self, tool: &str, arguments: ToolArguments, caller: Caller) -> io::Result<Answered> {
        let around = around_the_only(&arguments);
        let reply = tools::call(&self.service, tool, Value::Object(arguments), caller)?.content;
        Ok(Answered { reply, around })
    }

    /// Calls the tool and prints its reply. `lines` formats the reply without `--json`.
    pub(super) fn call(
        &self,
        tool: &str,
        arguments: ToolArguments,
        caller: Caller,
        edited: Option<&Edited>,
        lines: impl FnOnce(&Value) -> String,
    ) -> ExitResult {
        self.tell(&self.ask(tool, arguments, caller)?, edited, lines)
    }

    fn tell(
        &self,
        answered: &Answered,
        edited: Option<&Edited>,
        lines: impl FnOnce(&Value) -> String,
    ) -> ExitResult {
        let (reply, is_done) = (&answered.reply, answered.is_done());
        // A repeated call succeeds without writing; the file is then the only copy of the text.
        let is_stored = is_done && reply["commit"].is_string();
        if is_stored {
            edited.into_iter().for_each(Edited::stored);
        }
        let said = if self.json {
            say_json(reply)
        } else if is_done {
            say(&wrapped(&lines(reply), columns()))
        } else {
            tell(&format!("{}: rejected, nothing was written\n{}", self.name, answered.reasons("  ")));
            Ok(())
        };
        match edited.filter(|_| !is_stored) {
            // Repeating the call would not change anything.
            Some(edited) if is_done => tell(&edited.place()),
            Some(edited) => tell(&edited.kept()),
            None => {}
        }
        if is_stored {
            stored(said)?
        } else {
            said?
        }
        let is_dropped = is_done && !is_stored && (edited.is_some() || is_unheard(reply));
        Ok(if is_done && !is_dropped { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// A tool's reply.
struct Answered {
    reply: Value,
    /// The path prefix of the only entry's fields, if the call has a single entry.
    around: Option<String>,
}

impl Answered {
    fn is_done(&self) -> bool {
        self.reply["status"] == "OK"
    }

    /// Formats the reasons for a refusal, one per line.
    fn reasons(&self, indent: &str) -> String {
        let line = |error: &Value| format!("{indent}{}\n", one_line(&diagnostic(error)).trim_end());
        let text: String = list(&self.reply, "errors").map(line).collect();
        self.around.as_ref().map_or_else(|| text.clone(), |around| text.replace(around, "`"))
    }
}

/// Returns whether a new conclusion was dropped because another one is stored. Agents repeat calls, so they only get a warning. A
/// person would think that the new conclusion was stored.
fn is_unheard(reply: &Value) -> bool {
    list(reply, "warnings").any(|warning| Code::AlreadyEnded == word(warning, "code"))
}

impl WorkTarget {
    pub(super) fn investigation(&self) -> &Investigation {
        self.standing.investigation()
    }

    pub(super) fn service(&self) -> &Service {
        &self.work.service
    }

    /// Returns the user's name in git, if set.
    pub(super) fn author(&self) -> Result<Option<String>, Box<dyn std::error::Error>> {
        Ok(self.work.place.store.author(&self.path)?)
    }

    fn ask(&self, tool: &str, mut arguments: ToolArguments) -> Result<Answered, Box<dyn std::error::Error>> {
        arguments.insert("sessionId".to_owned(), json!(self.investigation().meta().id.to_string()));
        Ok(self.work.ask(tool, arguments, caller(&self.work.place.store, &self.path)?)?)
    }

    fn tell(
        &self,
        answered: &Answered,
        edited: Option<&Edited>,
        lines: impl FnOnce(&Value) -> String,
    ) -> ExitResult {
        self.work.tell(answered, edited, |reply| match &self.named {
            Some(id) => next_of(id, &lines(reply)),
            None => lines(reply),
        })
    }

    /// Calls the tool and prints its reply. `lines` formats the reply without `--json`.
    pub(super) fn call(
        &self,
        tool: &str,
        arguments: ToolArguments,
        lines: impl FnOnce(&Value) -> String,
    ) -> ExitResult {
        self.tell(&self.ask(tool, arguments)?, None, lines)
    }

    /// Calls the tool with text from the editor. After a refusal, the editor reopens with the reason above the text.
    pub(super) fn call_edited<E: std::fmt::Display>(
        &self,
        tool: &str,
        mut edited: Edited,
        read: impl Fn(&str) -> Result<ToolArguments, E>,
        lines: impl FnOnce(&Value) -> String,
    ) -> ExitResult {
        for _ in 1..editor::TRIES {
            let reason = match read(&edited.text) {
                Ok(arguments) => {
                    let answered = self.ask(tool, arguments)?;
                    if answered.is_done() {
                        return self.tell(&answered, Some(&edited), lines);
                    }
                    answered.reasons("")
                }
                Err(error) => error.to_string(),
            };
            if !edited.again(&reason)? {
                break;
            }
        }
        let arguments = edited.understood(read(&edited.text))?;
        self.tell(&self.ask(tool, arguments)?, Some(&edited), lines)
    }

    /// Opens an editor on a file in the git folder. Running `command` with `rest` and the file repeats the call without an
    /// editor.
    pub(super) fn edit(
        &self,
        (command, rest): (&str, &str),
        name: &str,
        text: &str,
        help: &str,
    ) -> Result<Edited, Box<dyn std::error::Error>> {
        editor::write(&self.path.join(".git"), name, text, help, self.command(command, rest))
    }

    /// Formats a command as the user would type it here, with the investigation's id if one was given.
    pub(super) fn command(&self, name: &str, rest: &str) -> String {
        let words = [Some(name), self.named.as_deref(), Some(rest).filter(|rest| !rest.is_empty())];
        one_line(&words.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

/// Splits the arguments into an investigation's id and the rest, such as a node or files.
pub(super) fn id_and_rest(what: &[String]) -> (Option<&str>, &[String]) {
    split_id(what, |word| is_node(word) || is_file(word))
}

/// Returns whether a word names a file, existing or not. A sentence such as "It was fast." does not.
pub(super) fn is_file(word: &str) -> bool {
    let is_path = word.contains(['.', '/', '\\']) && !word.contains(char::is_whitespace);
    word == "-" || is_path || Path::new(word).is_file()
}

/// Reads a file, or standard input for `-`. Windows line endings are converted.
pub(super) fn read(file: &str) -> Result<String, String> {
    let read = match file {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map(|_| text)
        }
        _ => fs::read_to_string(file),
    };
    let read = read.map(|text| text.replace("\r\n", "\n"));
    read.map_err(|error| format!("cannot read {}: {error}", one_line(file)))
}

/// Reads standard input. Returns `None` if it is a terminal, where an editor can open.
pub(super) fn piped() -> Result<Option<String>, String> {
    if std::io::stdin().is_terminal() { Ok(None) } else { read("-").map(Some) }
}

/// Collects the fields that have a value.
pub(super) fn fields<const N: usize>(given: [(&str, Value); N]) -> ToolArguments {
    let is_given = |value: &Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
    given
        .into_iter()
        .filter(|(_, value)| is_given(value))
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Phrases in tool messages that only agents understand, with replacements for people.
const SPOKEN: &[(&str, &str)] = &[
    (" (parent: null)", ""),
    ("tot_propose for round", "`tot propose --next` for round"),
    (" (if you have sub-agents, one each)", ""),
    ("tot_step with `strategy: verify` proposes", "`tot next --strategy verify` names"),
    (", then tot_commit with state, findings and agentId", ", then `tot commit`"),
    (
        "No required steps remain: tot_end with your conclusion",
        "No required steps remain: `tot end` with your conclusion",
    ),
    (
        "To reopen it, tot_reclassify a node to an open state",
        "`tot reclassify NODE STATE` with an open state reopens it",
    ),
    ("Call tot_end with `conclusion`: ", "Give it with -m, or as a file: "),
    ("and say in `answers` which it rests on", "and name with --answer what it rests on"),
    (
        "Name them in `answers`, with `as: rival` for those that are only possible; tot_amend can name them later.",
        "Name each with --answer, those that are only possible with --rival; `tot amend --conclusion` can name them later.",
    ),
    ("Say in `reason` ", "Say with -m "),
    ("Give `nodes` with at least one {id, parent, title, plannedAction}", "Give titles, or a file"),
    ("Give `results` with at least one {nodeId, state, findings, agentId}", "Give a file, or name a node"),
    ("leave it out of `withdraw`", "leave it out of --withdraw"),
    ("say the rest in plannedAction", "put the rest below it"),
    ("or null for a root in round 1", "or leave it out for a root in round 1"),
    (
        "Put what was measured or read into `evidence`",
        "State what was measured or read with --evidence, or below `## Evidence`",
    ),
    (
        "why it is not, each in a sentence",
        "why it is not, each in a sentence: --alternative, or a line below `## Alternatives`",
    ),
    (" in alternativesConsidered", " alternatives"),
    ("Give `alternativesConsidered` when reclassifying", "Give each with --alternative"),
    ("Give `evidence` when reclassifying", "Give it with --evidence"),
    ("without an agentId", "without a name"),
    ("Give the id of the agent that did the research", "`git config --global user.name` gives you one"),
    (
        "Leave out `nodeId` to amend the conclusion, its `answers` or `notCovered`",
        "Use --conclusion to amend the conclusion",
    ),
    ("or name a node in `nodeId`", "or name a node"),
    (
        "Give `findings`, `headline` or another part of a node, or, without `nodeId`, `conclusion`, `answers` or `notCovered`",
        "Change at least one text, or name answers with --answer",
    ),
    ("twice in `answers`", "twice as an answer"),
    ("leave `answers` out", "leave --answer out"),
    ("`answers` must name", "--answer must name"),
    ("give `claimed: true` to store", "put `claimed: true` in its file to store"),
    ("minRounds", "--min-rounds"),
    ("minRoots", "--min-roots"),
    ("allowEarlyTerminal", "--allow-early-terminal"),
    ("tot_propose's `withdraw`", "tot propose --withdraw"),
    ("tot_comment with kind resolution and replyTo", "tot resolve"),
    ("tot_comment with kind answer and replyTo", "tot comment --reply-to"),
    (
        "To change it, call tot_amend with `conclusion`, `answers` or `notCovered`.",
        "`tot amend --conclusion` changes what is stored.",
    ),
    ("tot_status", "tot show"),
    ("tot_read", "tot show"),
    ("tot_step", "tot propose --next"),
];

/// Replaces the tools' phrases with those of the commands.
pub(super) fn spoken(text: &str) -> String {
    // For roots, the tool's name and its object form one sentence, which would read as a command.
    let text = match text.contains(" (parent: null)") {
        true => text.replace("tot_propose ", "`tot propose --next` for "),
        false => text.to_owned(),
    };
    let text = SPOKEN.iter().fold(text, |text, (tool, command)| text.replace(tool, command));
    let alike =
        ["start", "propose", "commit", "reclassify", "amend", "comment", "next", "end", "list", "report"];
    alike.iter().fold(text, |text, name| text.replace(&format!("tot_{name}"), &format!("tot {name}")))
}

/// Returns the text of a field, or an empty string if it is absent.
pub(super) fn word<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry[field].as_str().unwrap_or_default()
}

/// Returns the entries of a list, or none if the list is absent.
pub(super) fn list<'a>(reply: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    reply[field].as_array().into_iter().flatten()
}

/// Formats the last output lines of a writing command: changed parents, the commit, warnings, and the next step.
pub(super) fn outcome(reply: &Value) -> String {
    let mut lines: Vec<String> = list(reply, "transitions")
        .map(|it| {
            format!("{} is now {}, because of {}", word(it, "nodeId"), word(it, "state"), word(it, "by"))
        })
        .collect();
    if let Some(commit) = reply["commit"].as_str() {
        lines.push(format!("commit {}", commit.get(..10).unwrap_or(commit)));
    }
    lines.extend(list(reply, "warnings").map(|warning| format!("warning: {}", diagnostic(warning))));
    let counts = reply["omitted"].as_object().into_iter().flat_map(Map::iter);
    lines.extend(counts.map(|(what, number)| format!("{number} more {what}: tot show")));
    // An agent's next call begins with the tool's name.
    let message = match word(reply, "message").strip_prefix("Next: ").and_then(|text| text.split_once(". ")) {
        Some((tool, why)) => format!("`{}`. {}", spoken(tool), spoken(why)),
        None => spoken(word(reply, "message")),
    };
    lines.push(format!("Next: {message}"));
    lines.iter().map(|line| one_line(line) + "\n").collect()
}

/// Adds the investigation's id to the commands in the next-step line.
pub(super) fn next_of(id: &str, lines: &str) -> String {
    let name = |line: String, command: &str| {
        line.replace(&format!("`tot {command}"), &format!("`tot {command} {id}"))
    };
    let named = |line: &str| match line.starts_with("Next: ") {
        true => ["propose", "commit", "reclassify", "end"].into_iter().fold(line.to_owned(), name) + "\n",
        false => format!("{line}\n"),
    };
    lines.lines().map(named).collect()
}

/// Returns the path prefix of the only entry's fields, if the call has a single entry. People write such an entry
/// without the list around it.
fn around_the_only(arguments: &ToolArguments) -> Option<String> {
    let is_only =
        |list: &&str| arguments.get(*list).and_then(Value::as_array).is_some_and(|it| it.len() == 1);
    ["results", "nodes"].into_iter().find(is_only).map(|list| format!("`{list}[0]."))
}

/// Formats a diagnostic: the code, the node and the message.
fn diagnostic(it: &Value) -> String {
    let (code, mut message) = (word(it, "code"), spoken(word(it, "message")));
    if !message.ends_with(['.', '!', '?', ':', '…']) {
        message.push('.');
    }
    // Most messages name the node.
    let node = word(it, "nodeId");
    let node = if node.is_empty() || message.contains(node) { String::new() } else { format!(" {node}:") };
    format!("{code}{node} {message} {}", spoken(word(it, "suggestion")))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::base::world::World;

    #[test]
    fn replies_are_told_in_the_words_of_the_commands() {
        let reply = json!({
            "status": "OK", "message": "Next: tot_step. It proposes R2.A1; tot_status has more.",
            "commit": "0123456789abcdef0123456789abcdef01234567",
            "transitions": [{"nodeId": "R1.A", "from": "FOUND", "state": "EXPLORE", "by": "R2.A1"}],
            "warnings": [{"code": "TOO_FAST", "nodeId": "R2.A1", "message": "It took \u{1b}[31m1 s."}],
            "omitted": {"owed": 3},
        });
        assert_snapshot!(outcome(&reply), @r"
            R1.A is now EXPLORE, because of R2.A1
            commit 0123456789
            warning: TOO_FAST R2.A1: It took ␛[31m1 s.
            3 more owed: tot show
            Next: `tot propose --next`. It proposes R2.A1; tot show has more.
            ");
        let reply = json!({"status": "REJECTED", "errors": [
            {"code": "STATE_LOCKED", "nodeId": "R1.A", "message": "R1.A can't be FOUND yet.", "suggestion": "Use tot_next."},
        ]});
        let answered = Answered { reply, around: None };
        assert_snapshot!(answered.reasons(""), @"STATE_LOCKED R1.A can't be FOUND yet. Use tot next.");
    }

    #[test]
    fn a_next_step_holds_no_half_of_a_command() {
        for (said, told) in [
            (
                "tot_propose 2 roots (parent: null) in one batch.",
                "`tot propose --next` for 2 roots in one batch.",
            ),
            ("tot_propose a root (parent: null).", "`tot propose --next` for a root."),
            (
                "Research R1.A, R1.B (if you have sub-agents, one each), then tot_commit with state, findings and agentId.",
                "Research R1.A, R1.B, then `tot commit`.",
            ),
        ] {
            assert_eq!(spoken(said), told);
        }
        let lines = "R1.A says `tot end`\nNext: `tot propose --next` for a root.\n";
        assert_eq!(
            next_of("0196", lines),
            "R1.A says `tot end`\nNext: `tot propose 0196 --next` for a root.\n"
        );
    }

    /// The snapshots in `every.rs` contain every refusal and warning.
    #[test]
    fn no_refusal_speaks_to_a_person_in_the_words_of_the_tools() {
        let all = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/rules/every.rs");
        let all = fs::read_to_string(all).unwrap();
        let is_code = |word: &str| {
            word.len() > 5
                && word.trim_end_matches(':').bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        };
        let said: Vec<&str> =
            all.lines().filter(|line| line.split_whitespace().next().is_some_and(is_code)).collect();
        assert!(said.len() > 60, "{}", said.len());
        let words = [
            "tot_",
            "agentId",
            "plannedAction",
            "alternativesConsidered",
            "notCovered",
            "`answers`",
            "`withdraw`",
        ];
        for line in said.iter().filter(|line| !line.contains("SUSPICIOUS") && !line.contains("TEXT_TOO_LONG"))
        {
            let told = spoken(line);
            assert!(!words.iter().any(|word| told.contains(word)), "{told}");
        }
    }

    #[test]
    fn every_tool_has_a_command_in_its_place() {
        let service = Arc::new(Service::new(PathBuf::from("nowhere"), World::Machine, None));
        for tool in tools::all(&service) {
            let name = tool.about().name;
            assert!(spoken(name).starts_with("tot "), "{name}");
        }
    }
}
