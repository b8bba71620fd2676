//! Shared code for the commands that call a tool: `tot start`, `next`, `propose`, `commit`, `reclassify`, `amend` and `end`.
//!
//! 1. The command builds the tool's arguments from options, a file, or text written in an editor.
//! 2. The tool runs in this process, with the same refusals and codes as for agents. The commit's author comes from
//!    git, and the stored caller from [`super::caller`].
//! 3. The reply is printed as lines, or as JSON with `--json`. If the call is refused, the command exits with status 1.

use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::{Map, Value, json};

use super::caller::caller;
use super::draft::ToolArguments;
use super::editor::{self, Edited};
use super::place::{Common, Location, is_node, split_id};
use super::print::{can_ask, columns, say, say_json, stored, tell, wrapped};
use super::ruleset::RulesetFolder;
use super::{CommandResult, ExitResult, Misused, misused};
use crate::base::world::World;
use crate::domain::wording::command;
use crate::domain::{Caller, Code, Diagnostic, Investigation, Wording};
use crate::format::layout;
use crate::mcp::tool::ToolReply;
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
    pub(super) fn new(name: &'static str, arguments: &WorkArguments) -> CommandResult<LocalTools> {
        LocalTools::on(name, arguments, |service, _| service)
    }

    /// Opens the root with additional rulesets. New investigations are shared as configured in git.
    pub(super) fn starting(arguments: &WorkArguments, rulesets: &RulesetFolder) -> CommandResult<LocalTools> {
        let rulesets = rulesets.library()?;
        LocalTools::on("tot start", arguments, |service, note| {
            service.with_rulesets(rulesets).with_sharing(Sharing::to(None)).with_root_note(note)
        })
    }

    fn on(
        name: &'static str,
        arguments: &WorkArguments,
        with: impl FnOnce(Service, Option<String>) -> Service,
    ) -> CommandResult<LocalTools> {
        let place = arguments.common.place()?;
        let service = Service::new(place.store.root().to_owned(), World::here(), None);
        let service = with(service, place.note.clone());
        // An investigation's folder is not a project.
        let is_project = |project: &Project| !project.root().join(layout::META).is_file();
        let project = if arguments.no_project { None } else { Project::here().filter(is_project) };
        let service = Arc::new(service.with_project(project));
        Ok(LocalTools { name, place, service, json: arguments.common.json })
    }

    /// Returns the investigation with this id or part of an id. Without an id, returns the default investigation.
    pub(super) fn subject(self, id: Option<&str>) -> CommandResult<WorkTarget> {
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
    pub(super) fn ask(&self, tool: &str, arguments: ToolArguments, caller: Caller) -> io::Result<ToolReply> {
        tools::call(&self.service, tool, Value::Object(arguments), caller)
    }

    /// Prints the reply. `lines` formats its beginning without `--json`. `named` is the id for the next commands, if they
    /// need one.
    pub(super) fn tell(
        &self,
        reply: &ToolReply,
        edited: Option<&Edited>,
        named: Option<&str>,
        lines: impl FnOnce(&Value) -> String,
    ) -> ExitResult {
        let is_done = !reply.shared.is_rejected();
        // A repeated call succeeds without writing; the file is then the only copy of the text.
        let is_stored = is_done && reply.shared.commit.is_some();
        if is_stored {
            edited.into_iter().for_each(Edited::stored);
        }
        let said = if self.json {
            say_json(&reply.content)
        } else if is_done {
            say(&wrapped(&(lines(&reply.content) + &outcome(reply, named)), columns()))
        } else {
            tell(&format!("{}: rejected, nothing was written\n{}", self.name, reasons(reply, "  ")));
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

/// Formats the reasons for a refusal, one per line.
fn reasons(reply: &ToolReply, indent: &str) -> String {
    let line = |error| format!("{indent}{}\n", one_line(&diagnostic(error)));
    reply.shared.errors.iter().map(line).collect()
}

/// Returns whether a new conclusion was dropped because another one is stored. Agents repeat calls, so they only get a warning. A
/// person would think that the new conclusion was stored.
fn is_unheard(reply: &ToolReply) -> bool {
    reply.shared.warnings.iter().any(|warning| warning.code == Code::AlreadyEnded)
}

impl WorkTarget {
    pub(super) fn investigation(&self) -> &Investigation {
        self.standing.investigation()
    }

    pub(super) fn service(&self) -> &Service {
        &self.work.service
    }

    /// Returns the user's name in git, if set.
    pub(super) fn author(&self) -> CommandResult<Option<String>> {
        Ok(self.work.place.store.author(&self.path)?)
    }

    fn ask(&self, tool: &str, mut arguments: ToolArguments) -> CommandResult<ToolReply> {
        arguments.insert("sessionId".to_owned(), json!(self.investigation().meta().id.to_string()));
        Ok(self.work.ask(tool, arguments, caller(&self.work.place.store, &self.path)?)?)
    }

    fn tell(
        &self,
        reply: &ToolReply,
        edited: Option<&Edited>,
        lines: impl FnOnce(&Value) -> String,
    ) -> ExitResult {
        self.work.tell(reply, edited, self.named.as_deref(), lines)
    }

    /// Calls the tool and prints its reply. `lines` formats its beginning without `--json`.
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
                    let reply = self.ask(tool, arguments)?;
                    if !reply.shared.is_rejected() {
                        return self.tell(&reply, Some(&edited), lines);
                    }
                    reasons(&reply, "")
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
    ) -> CommandResult<Edited> {
        editor::write(&self.path.join(".git"), name, text, help, self.command(command, rest))
    }

    /// Formats a command as the user would type it here, with the investigation's id if one was given.
    pub(super) fn command(&self, name: &str, rest: &str) -> String {
        command(name, self.named.as_deref(), rest)
    }
}

/// Splits the arguments into an investigation's id and the rest, a node or files.
///
/// # Errors
///
/// Returns an error if the first could be an id or a file.
pub(super) fn id_and_rest(what: &[String]) -> Result<(Option<&str>, &[String]), Misused> {
    let is_both = |word: &&String| word.bytes().all(|byte| byte.is_ascii_hexdigit()) && is_file(word);
    match what.first().filter(is_both) {
        Some(word) => Err(Misused(format!(
            "`{word}` could be an id or the file of that name: write ./{word} for the file, or more of the id"
        ))),
        None => Ok(split_id(what, |word| is_node(word) || is_file(word))),
    }
}

/// Returns whether a word names a file, existing or not. A sentence such as "It was fast." does not.
fn is_file(word: &str) -> bool {
    let is_path = word.contains(['.', '/', '\\']) && !word.contains(char::is_whitespace);
    word == "-" || is_path || Path::new(word).is_file()
}

/// Returns a text from the command line, or standard input for `-`.
///
/// # Errors
///
/// Returns an error if the text is the name of a file, which is meant to be read.
pub(super) fn text(text: &str) -> CommandResult<String> {
    if text != "-" && Path::new(text).is_file() {
        return Err(misused(format!("`{0}` is a file: `- <{0}` in its place reads it", one_line(text))));
    }
    if text == "-" { Ok(read(text)?) } else { Ok(text.to_owned()) }
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

/// Returns the message, or standard input without one. Returns `None` if standard input is a terminal, where an editor can
/// open.
pub(super) fn given(message: Option<&str>) -> Result<Option<String>, String> {
    message.map_or_else(piped, |text| Ok(Some(text.to_owned())))
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

/// Returns the text of a field, or an empty string if it is absent.
pub(super) fn word<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry[field].as_str().unwrap_or_default()
}

/// Returns the entries of a list, or none if the list is absent.
pub(super) fn list<'a>(reply: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    reply[field].as_array().into_iter().flatten()
}

/// Formats the last output lines of a writing command: changed parents, the commit, warnings, notes, and the next step.
fn outcome(reply: &ToolReply, named: Option<&str>) -> String {
    let mut lines: Vec<String> = list(&reply.content, "transitions")
        .map(|it| {
            format!("{} is now {}, because of {}", word(it, "nodeId"), word(it, "state"), word(it, "by"))
        })
        .collect();
    let shared = &reply.shared;
    lines.extend(
        shared.commit.as_deref().map(|commit| format!("commit {}", commit.get(..10).unwrap_or(commit))),
    );
    lines.extend(shared.warnings.iter().map(|warning| format!("warning: {}", diagnostic(warning))));
    let counts = reply.content["omitted"].as_object().into_iter().flat_map(Map::iter);
    let counts = counts.filter(|(what, _)| *what != "warnings");
    lines.extend(counts.map(|(what, number)| format!("{number} more {what}: tot show")));
    lines.extend(shared.message.notes.iter().map(|note| note.person().to_owned()));
    let next = shared.message.next.as_ref();
    lines.extend(next.map(|next| format!("Next: {}", next.wording(named).person())));
    lines.iter().map(|line| one_line(line) + "\n").collect()
}

/// Formats a diagnostic: the code, the node and the message.
fn diagnostic(it: &Diagnostic) -> String {
    let mut message = it.message.person().to_owned();
    if !message.ends_with(['.', '!', '?', ':', '…']) {
        message.push('.');
    }
    // Most messages name the node.
    let node = it.node.as_deref().filter(|node| !message.contains(node));
    let node = node.map(|node| format!(" {node}:")).unwrap_or_default();
    let how = it.suggestion.as_ref().map_or("", Wording::person);
    format!("{}{node} {message} {how}", it.code).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::decide::next::{LegalCall, NextCall, NextStep};
    use crate::domain::NodeId;
    use crate::mcp::wire::{CallStatus, ReplyFields, ReplyMessage};

    #[test]
    fn replies_are_told_in_the_words_of_the_commands() {
        let id: NodeId = "R2.A1".parse().unwrap();
        let warning = Diagnostic::new(Code::NotRun, "It took \u{1b}[31m1 s.").about(&id);
        let message = ReplyMessage { notes: vec!["Refuted now: R1.A.".into()], next: None };
        let commit = NextCall { call: LegalCall::Commit(vec![id.clone()]), reason: "".into() };
        let shared = ReplyFields {
            status: CallStatus::Ok,
            message: ReplyMessage { next: Some(NextStep::Call(commit)), ..message.clone() },
            warnings: vec![warning],
            commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
            ..ReplyFields::default()
        };
        let content = json!({
            "transitions": [{"nodeId": "R1.A", "from": "FOUND", "state": "EXPLORE", "by": "R2.A1"}],
            "omitted": {"owed": 3, "warnings": 2},
        });
        let mut reply = ToolReply { content, shared, question: None };
        assert_snapshot!(outcome(&reply, None), @"
    R1.A is now EXPLORE, because of R2.A1
    commit 0123456789
    warning: NOT_RUN R2.A1: It took ␛[31m1 s.
    3 more owed: tot show
    Refuted now: R1.A.
    Next: Research R2.A1, then `tot commit`.
    ");
        let call = NextCall { call: LegalCall::Withdraw(vec![id]), reason: "It is lost.".into() };
        reply.shared =
            ReplyFields { message: ReplyMessage::next(NextStep::Call(call)), ..ReplyFields::default() };
        reply.content = json!({});
        assert_snapshot!(outcome(&reply, Some("0196")), @"Next: `tot propose 0196 --withdraw R2.A1`. It is lost.");
        let error = Diagnostic::new(Code::StateLocked, "R1.A can't be FOUND yet.").about("R1.A");
        let how = Wording::both("Use tot_next.", "Use `tot next`.");
        reply.shared = ReplyFields { message, errors: vec![error.suggest(how)], ..ReplyFields::default() };
        assert_snapshot!(reasons(&reply, ""), @"STATE_LOCKED R1.A can't be FOUND yet. Use `tot next`.");
    }
}
