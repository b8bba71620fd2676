//! Shared code for the commands that do what a tool does: `tot start`, `next`, `propose`, `commit`, `amend` and `end`.
//!
//! 1. The command makes the call from options, a file, or text written in an editor.
//! 2. The service decides, with the same refusals and codes as for agents. The commit's author comes from git, and the stored
//!    caller from [`super::caller`].
//! 3. The reply is printed as lines, or as JSON with `--json`. If the call is refused, the command exits with status 1.

use std::fs;
use std::io::{BufRead, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::caller::caller_as;
use super::draft::DraftFields;
use super::editor::{self, Edited};
use super::place::{Common, EVERYWHERE, Location, named_id, unnamed, with_words};
use super::print::{can_ask, columns, say, say_json, stored, tell, wrapped};
use super::{CommandError, CommandResult, ExitResult, misused, passed};
use crate::base::world::World;
use crate::domain::{Caller, Code, Diagnostic, Investigation, NodeId, Wording};
use crate::format::layout;
use crate::service::arguments::{self, schema};
use crate::service::project::Project;
use crate::service::reply::{Replied, ReplyFields, TransitionEntry};
use crate::service::{Loaded, Refusal, Service};
use crate::text::one_line;

/// The time after which a command says that it waits for standard input.
const TO_SAY: Duration = Duration::from_secs(2);
/// The time after which it no longer waits for the first byte.
const TO_GIVE_UP: Duration = Duration::from_secs(60);

/// The options of all these commands.
#[derive(Args)]
pub(super) struct WorkArguments {
    #[command(flatten)]
    pub common: Common,
    /// Use no project: files cited from the repository around the current folder are not stored
    #[arg(long, help_heading = EVERYWHERE)]
    no_project: bool,
}

/// The service in this process.
pub(super) struct LocalTools {
    /// The name of the command.
    name: &'static str,
    pub place: Location,
    pub service: Service,
    json: bool,
}

/// An investigation to work on.
pub(super) struct WorkTarget {
    work: LocalTools,
    /// The investigation's folder.
    pub path: PathBuf,
    pub loaded: Loaded,
}

impl LocalTools {
    pub(super) fn new(name: &'static str, arguments: &WorkArguments) -> CommandResult<LocalTools> {
        let place = arguments.common.place()?;
        let mut service = Service::new(place.store.root().to_owned(), World::here(), None);
        // An investigation's folder is not a project.
        let is_project = |project: &Project| !project.root().join(layout::META).is_file();
        service.project = if arguments.no_project { None } else { Project::here().filter(is_project) };
        Ok(LocalTools { name, place, service, json: arguments.common.json })
    }

    /// Returns the investigation to work on.
    pub(super) fn subject(self) -> CommandResult<WorkTarget> {
        let path = self.place.folder()?;
        let session = self.place.store.id(&path)?.to_string();
        let loaded = self.service.read(&session)?;
        Ok(WorkTarget { work: self, path, loaded })
    }

    /// Returns whether a person can be asked.
    pub(super) fn may_ask(&self) -> bool {
        can_ask() && !self.json
    }

    /// Prints the reply. `lines` formats its beginning without `--json`. `named` is the id for the next commands, if they
    /// need one.
    pub(super) fn tell<B: Serialize>(
        &self,
        replied: Replied<B>,
        edited: Option<&Edited>,
        named: Option<&str>,
        lines: impl FnOnce(&B) -> String,
    ) -> ExitResult {
        let (shared, body) = self.service.replied(replied, false);
        // A repeated call succeeds without writing; the file is then the only copy of the text.
        let is_stored = body.is_some() && shared.commit.is_some();
        if is_stored {
            edited.into_iter().for_each(Edited::stored);
        }
        let said = match &body {
            _ if self.json => say_json(&shared.whole(&body)?),
            Some(body) => {
                let (told, outcome) = (lines(body), outcome(&shared, named));
                // A call that only reads begins with what to do next.
                let text = if shared.commit.is_some() { told + &outcome } else { outcome + &told };
                say(&wrapped(&text, columns()))
            }
            None => {
                tell(&format!("{}: rejected, nothing was written\n{}", self.name, reasons(&shared, "  ")));
                Ok(())
            }
        };
        match edited.filter(|_| !is_stored) {
            // Repeating the call would not change anything.
            Some(edited) if body.is_some() => tell(&edited.place()),
            Some(edited) => tell(&edited.kept()),
            None => {}
        }
        if is_stored {
            stored(said)?
        } else {
            said?
        }
        let is_dropped = !is_stored && (edited.is_some() || is_unheard(&shared));
        Ok(passed(body.is_some() && !is_dropped))
    }
}

/// Formats the reasons for a refusal, one per line.
fn reasons(shared: &ReplyFields, indent: &str) -> String {
    let line = |error| format!("{indent}{}\n", one_line(&diagnostic(error)));
    shared.errors.iter().map(line).collect()
}

/// Returns whether a new conclusion was dropped because another one is stored. Agents repeat calls, so they only get a warning. A
/// person would think that the new conclusion was stored.
fn is_unheard(shared: &ReplyFields) -> bool {
    shared.warnings.iter().any(|warning| warning.code == Code::AlreadyEnded)
}

impl WorkTarget {
    pub(super) fn investigation(&self) -> &Investigation {
        self.loaded.investigation()
    }

    pub(super) fn service(&self) -> &Service {
        &self.work.service
    }

    /// Returns the user's name in git, if set.
    pub(super) fn author(&self) -> CommandResult<Option<String>> {
        Ok(self.work.place.store.open(&self.path)?.author())
    }

    /// Returns whether the output is JSON.
    pub(super) fn is_json(&self) -> bool {
        self.work.json
    }

    /// Returns the investigation's id.
    pub(super) fn id(&self) -> String {
        self.investigation().meta().id.to_string()
    }

    /// Returns the person or agent who makes a call.
    pub(super) fn caller(&self) -> CommandResult<Caller> {
        self.caller_as(None)
    }

    /// Returns the caller, who is no person if an agent is named.
    pub(super) fn caller_as(&self, agent: Option<&str>) -> CommandResult<Caller> {
        Ok(caller_as(agent, &self.work.place.store, &self.path)?)
    }

    /// Returns the id of the node that the call is about.
    pub(super) fn node_id(&self, word: &str) -> CommandResult<NodeId> {
        named_id(self.investigation(), word)
    }

    /// Reads a draft. If there is no such file, but its name is in titles, the error names the nodes.
    pub(super) fn read(&self, file: &str) -> CommandResult<String> {
        read(file).map_err(|error| match with_words(self.investigation(), file).as_slice() {
            [] => error.into(),
            nodes => unnamed(file, nodes),
        })
    }

    /// Returns the investigation as the user named it with `-i`.
    pub(super) fn named(&self) -> Option<&str> {
        self.work.place.named()
    }

    /// Prints the reply to a call. `lines` formats its beginning without `--json`.
    pub(super) fn tell<B: Serialize>(
        &self,
        replied: Replied<B>,
        lines: impl FnOnce(&B) -> String,
    ) -> ExitResult {
        self.work.tell(replied, None, self.named(), lines)
    }

    /// Makes a call with text from the editor, and prints its reply. After a refusal, the editor reopens with the reason above
    /// the text.
    pub(super) fn call_edited<B: Serialize, E: std::fmt::Display>(
        &self,
        mut edited: Edited,
        call: impl Fn(&str) -> Result<Replied<B>, E>,
        lines: impl FnOnce(&B) -> String,
    ) -> ExitResult {
        for tries_left in (0..editor::TRIES).rev() {
            let replied = call(&edited.text);
            let reason = match &replied {
                Ok(Ok(_)) => None,
                Ok(Err(refusal)) => Some(reasons(&ReplyFields::refused(refusal), "")),
                Err(error) => Some(error.to_string()),
            };
            match reason {
                Some(reason) if tries_left > 0 && edited.again(&reason)? => {}
                _ => {
                    let replied = edited.understood(replied)?;
                    return self.work.tell(replied, Some(&edited), self.named(), lines);
                }
            }
        }
        Err(CommandError::Unchanged)
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
        editor::write(&editor::folder_in(&self.path), name, text, help, self.command(command, rest))
    }

    /// Formats a command as the user would type it here.
    pub(super) fn command(&self, name: &str, rest: &str) -> String {
        self.work.place.command(name, rest)
    }
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
    // A sentence was probably meant for `-m`.
    let hint = if file.contains(' ') { ". Pass text with -m" } else { "" };
    let read = read.map(|text| text.replace("\r\n", "\n"));
    let name = if file == "-" { "standard input".to_owned() } else { one_line(file) };
    read.map_err(|error| format!("cannot read {name}: {error}{hint}"))
}

/// Returns the message of `-m`, or standard input without one. Returns `None` if standard input is a terminal, where an editor
/// can open.
pub(super) fn given(message: Option<&str>) -> CommandResult<Option<String>> {
    message.map_or_else(|| Ok(piped("-m TEXT")?), |message| text(message).map(Some))
}

/// Reads a text from standard input. Returns `None` if it is a terminal, where an editor can open. `other` is the argument that
/// can take the text instead.
pub(super) fn piped(other: &str) -> Result<Option<String>, String> {
    match standard_input(other)? {
        Some(text) if text.trim().is_empty() => {
            Err(format!("standard input is empty: give the text there, or as {other}"))
        }
        text => Ok(text),
    }
}

/// Reads standard input, which may be empty. Returns `None` if it is a terminal. A script may leave a pipe open that nothing is
/// written to: says what it waits for, and does not wait for ever.
pub(super) fn standard_input(other: &str) -> Result<Option<String>, String> {
    if std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // The bytes stay in the buffer of standard input. Reading them again reports an error.
        let _ = std::io::stdin().lock().fill_buf();
        sender.send(())
    });
    if receiver.recv_timeout(TO_SAY).is_err() {
        tell(&format!("waiting for the text on standard input; it can also be given as {other}"));
        let nothing =
            |_| format!("nothing came on standard input: give the text as {other}, where - waits for it");
        receiver.recv_timeout(TO_GIVE_UP).map_err(nothing)?;
    }
    read("-").map(Some)
}

/// Reads the fields of a draft as the arguments of a call.
pub(super) fn understood<T: DeserializeOwned + JsonSchema>(mut fields: DraftFields) -> Result<T, Refusal> {
    // A file written for a tool also has the fields that the command sets.
    fields.retain(|name, _| !["sessionId", "graph", "model"].contains(&name.as_str()));
    let understood = arguments::understand(&schema::input::<T>(), &Value::Object(fields));
    understood.map(|(input, _)| input).map_err(|errors| Refusal { errors, loaded: None })
}

/// Formats the parents whose state a call changed.
pub(super) fn transition_lines(transitions: &[TransitionEntry]) -> String {
    let line = |it: &TransitionEntry| {
        let by = it.by.as_deref().unwrap_or_default();
        one_line(&format!("{} is now {}, because of {by}", it.node_id, it.state)) + "\n"
    };
    transitions.iter().map(line).collect()
}

/// Formats the last output lines of a writing command: the commit, warnings, notes, and the next step.
fn outcome(shared: &ReplyFields, named: Option<&str>) -> String {
    let commit = shared.commit.as_deref();
    let commit = commit.map(|commit| format!("commit {}", commit.get(..10).unwrap_or(commit)));
    let mut lines: Vec<String> = commit.into_iter().collect();
    lines.extend(shared.warnings.iter().map(|warning| format!("warning: {}", diagnostic(warning))));
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
    use crate::service::reply::{CallStatus, ReplyMessage};

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
        assert_snapshot!(outcome(&shared, None), @"
    commit 0123456789
    warning: NOT_RUN R2.A1: It took ␛[31m1 s.
    Refuted now: R1.A.
    Next: Research R2.A1, then `tot commit R2.A1`.
    ");
        let call = NextCall { call: LegalCall::Withdraw(vec![id]), reason: "It is lost.".into() };
        let shared =
            ReplyFields { message: ReplyMessage::next(NextStep::Call(call)), ..ReplyFields::default() };
        assert_snapshot!(outcome(&shared, Some("0196")), @"Next: `tot propose -i 0196 --withdraw R2.A1`. It is lost.");
        let error = Diagnostic::new(Code::StateLocked, "R1.A can't be FOUND yet.").about("R1.A");
        let how = Wording::both("Use tot_next.", "Use `tot next`.");
        let shared = ReplyFields { message, errors: vec![error.suggest(how)], ..ReplyFields::default() };
        assert_snapshot!(reasons(&shared, ""), @"STATE_LOCKED R1.A can't be FOUND yet. Use `tot next`.");
    }
}
