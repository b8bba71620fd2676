//! `tot setup --check`: checks what `tot` needs, and suggests fixes.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;

use crate::base::parallel;
use crate::cli::client_config::{CLIENTS, Client, ours};
use crate::cli::place::{Location, RootArgument};
use crate::cli::print::{say, say_fields};
use crate::cli::programs::{self, greet, on_path};
use crate::cli::{CommandError, ExitResult, is_person, passed, setup};
use crate::format::layout::{ATTRIBUTES, ATTRIBUTES_TEXT};
use crate::service::project::Project;
use crate::service::remote::{GitProgram, RemoteError};
use crate::text::{counted, one_line};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum CheckStatus {
    /// No problem.
    Ok,
    /// Something optional is missing.
    Note,
    /// A problem to fix.
    Wrong,
}

/// A check and its result.
#[derive(Debug, Serialize)]
struct SetupCheck {
    name: &'static str,
    status: CheckStatus,
    message: String,
    /// The suggested fix.
    advice: Option<String>,
}

impl SetupCheck {
    fn ok(name: &'static str, message: impl Into<String>) -> SetupCheck {
        SetupCheck { name, status: CheckStatus::Ok, message: message.into(), advice: None }
    }

    fn note(name: &'static str, message: impl Into<String>, advice: impl Into<String>) -> SetupCheck {
        SetupCheck { name, status: CheckStatus::Note, message: message.into(), advice: Some(advice.into()) }
    }

    fn wrong(name: &'static str, message: impl Into<String>, advice: impl Into<String>) -> SetupCheck {
        SetupCheck { name, status: CheckStatus::Wrong, message: message.into(), advice: Some(advice.into()) }
    }
}

pub(super) fn run(root_option: &RootArgument, is_json: bool) -> ExitResult {
    let mut checks = git();
    checks.push(server());
    checks.extend(clients());
    match root_option.place() {
        Ok(place) => checks.extend([project(), Some(root(&place)), merging(&place)].into_iter().flatten()),
        Err(error) => {
            let advice = "Name another with --root DIR or TOT_ROOT.";
            checks.push(SetupCheck::wrong("root", error.to_string(), advice));
        }
    }
    match is_json {
        true => say_fields(&json!({"checks": checks}))?,
        false => say(&checks.iter().map(line).collect::<String>())?,
    }
    Ok(passed(checks.iter().all(|check| check.status != CheckStatus::Wrong)))
}

/// Formats a check for printing.
fn line(check: &SetupCheck) -> String {
    let status = match check.status {
        CheckStatus::Ok => "ok",
        CheckStatus::Note => "note",
        CheckStatus::Wrong => "wrong",
    };
    let advice = check.advice.as_deref().map(|advice| format!("{:16}{}\n", "", one_line(advice)));
    format!("{status:<6}{:<10}{}\n{}", check.name, one_line(&check.message), advice.unwrap_or_default())
}

fn git() -> Vec<SetupCheck> {
    let git = match GitProgram::find(is_person()) {
        Ok(git) => git,
        Err(error) => {
            let advice = match &error {
                RemoteError::NoGit(_) | RemoteError::TooOld { .. } => {
                    "Install git, or put it on PATH: https://git-scm.com"
                }
                _ => "Until git itself works, `tot` can't sync, run or sign.",
            };
            return vec![SetupCheck::wrong("git", CommandError::from(error).to_string(), advice)];
        }
    };
    let settings = git.settings(Path::new(".")).unwrap_or_default();
    let set = |variable: &str, key: &str| {
        let named = || std::env::var(variable).ok().filter(|value| !value.is_empty());
        settings.last(key).map(str::to_owned).or_else(named)
    };
    let version = git.version().unwrap_or_default();
    let name = set("GIT_AUTHOR_NAME", "user.name");
    let email = set("GIT_AUTHOR_EMAIL", "user.email");
    let identity = match (name, email) {
        (Some(name), Some(email)) => {
            SetupCheck::ok("identity", format!("{name} <{email}>, the author of your commits"))
        }
        (name, _) => SetupCheck::note(
            "identity",
            format!("git does not know your {}", if name.is_none() { "name" } else { "address" }),
            "git config --global user.name 'Ada Lovelace' && git config --global user.email ada@example.org",
        ),
    };
    let format = set("", "gpg.format").unwrap_or_else(|| "openpgp".to_owned());
    let command = || set("", "gpg.ssh.defaultkeycommand").filter(|_| format == "ssh");
    let tried = |key: &String| match format.as_str() {
        "openpgp" => git.openpgp_fault(key).map_or(Ok(()), |said| Err((said, None))),
        // A trial could ask for a PIN.
        "x509" => Ok(()),
        _ => match git.try_signing() {
            // A key that waits to be touched, or a slow program.
            Err(RemoteError::TimedOut { .. } | RemoteError::Ending { .. }) => Ok(()),
            tried => tried.map_err(|error| (error.to_string(), error.without_key())),
        },
    };
    let key = set("", "user.signingkey").or_else(command);
    let signing = match key.as_ref().map(tried) {
        Some(Err((said, advice))) if !said.contains("incorrect passphrase") => SetupCheck::wrong(
            "signing",
            format!("a key ({format}) is set, but {said}"),
            advice.unwrap_or("tot approve would fail in the same way."),
        ),
        Some(_) => SetupCheck::ok("signing", format!("a key ({format}) is set, for tot approve")),
        None => SetupCheck::note(
            "signing",
            "no key is set; only tot approve needs one",
            "git config --global gpg.format ssh && git config --global user.signingkey ~/.ssh/id_ed25519.pub",
        ),
    };
    vec![SetupCheck::ok("git", version), identity, signing]
}

fn server() -> SetupCheck {
    let Some(file) = on_path("tot-mcp") else {
        let advice = "Agents can start it by its full path, which tot setup uses; or add its folder to PATH.";
        return SetupCheck::note("server", "tot-mcp is not on PATH", advice);
    };
    match greet(&[file.to_string_lossy().into_owned()]) {
        Ok(()) => SetupCheck::ok("server", format!("{} is on PATH", file.display())),
        Err(fault) => SetupCheck::wrong("server", format!("{} {fault}", file.display()), REINSTALL),
    }
}

const REINSTALL: &str =
    "Install tot and tot-mcp again, in one version; `which -a tot tot-mcp` shows all that are on PATH.";

/// Checks the clients: starts the programs in their files that are this server, and reports unreadable files, and installed
/// clients that do not start this server.
fn clients() -> Vec<SetupCheck> {
    let mut checks: Vec<SetupCheck> = Vec::new();
    let mut without = Vec::new();
    for client in &CLIENTS {
        let known = checks.len();
        for file in client.files().filter_map(|file| setup::resolve(file).ok()) {
            let found = match setup::read(&file).map(Option::unwrap_or_default) {
                Ok(text) => {
                    let started = ours(&text);
                    match doubt(client, &file, &text, !started.is_empty()) {
                        Some(doubt) => vec![doubt],
                        None => started.iter().map(|words| start(client, &file, words)).collect(),
                    }
                }
                Err(error) => {
                    vec![SetupCheck::wrong("client", format!("{}: {error}", client.name), "Fix the file.")]
                }
            };
            for check in found {
                // A file may name the server once per project.
                if !checks.iter().any(|other| other.message == check.message) {
                    checks.push(check);
                }
            }
        }
        if checks.len() == known && setup::is_installed(client).unwrap_or(false) {
            without.push((client.name, format!("tot setup {} --write", client.word)));
        }
    }
    if !without.is_empty() {
        let (names, commands): (Vec<&str>, Vec<String>) = without.into_iter().unzip();
        let message = format!("not configured in this folder or for this user: {}", names.join(", "));
        checks.push(SetupCheck::note("client", message, format!("{}.", commands.join(", "))));
    }
    if checks.is_empty() {
        let advice = "tot setup finds the installed clients and configures them.";
        checks.push(SetupCheck::note("client", "no client is configured for this folder or user", advice));
    }
    checks
}

/// Returns what is wrong with a client's file that may name this server and does not start it.
fn doubt(client: &Client, file: &Path, text: &str, is_started: bool) -> Option<SetupCheck> {
    let is_cut = !text.trim().is_empty()
        && file.extension().is_some_and(|extension| extension == "json")
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_err_and(|error| error.is_eof());
    let is_named = || ["\"tot\":", "\"tree-of-thoughts\":", ".tot]"].iter().any(|name| text.contains(name));
    let fault = if is_cut {
        "ends within its JSON"
    } else if !is_started && is_named() {
        "has an entry tot, which does not start tot-mcp"
    } else {
        return None;
    };
    let advice = format!("tot setup {} prints what to write instead.", client.word);
    Some(SetupCheck::wrong("client", format!("{}: {} {fault}", client.name, file.display()), advice))
}

/// Starts the server as a client's file does, given the words that start it.
fn start(client: &Client, file: &Path, words: &[String]) -> SetupCheck {
    let (who, file) = (client.name, file.display());
    let Some(program) = words.first() else {
        return SetupCheck::ok(
            "client",
            format!("{who} starts the server by uvx, npx or a container per {file}; not tried"),
        );
    };
    let outcome = match programs::named(program) {
        Ok(Some(path)) => {
            let path = path.to_string_lossy().into_owned();
            greet(&std::iter::once(path).chain(words[1..].iter().cloned()).collect::<Vec<_>>())
        }
        Ok(None) => {
            let message =
                format!("{who}: {file} names {program}, in this project or known only to the client");
            return SetupCheck::note("client", message, "It was not started. Start it by hand to try it.");
        }
        Err(fault) => Err(fault),
    };
    match outcome {
        Ok(()) => SetupCheck::ok("client", format!("{who} starts the server per {file}")),
        Err(fault) => {
            let advice = format!("tot setup {} prints what to write instead.", client.word);
            SetupCheck::wrong("client", format!("{who}: {file} names {program}, which {fault}"), advice)
        }
    }
}

fn root(place: &Location) -> SetupCheck {
    let root = place.store.root();
    let shown = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let shown = shown.display();
    if let Err(error) = std::fs::read_dir(root) {
        return match error.kind() {
            std::io::ErrorKind::NotFound => SetupCheck::note(
                "root",
                format!("{shown} does not exist yet"),
                "tot start creates it with the first investigation; --root DIR and TOT_ROOT name another.",
            ),
            _ => SetupCheck::wrong(
                "root",
                format!("{shown} can't be read: {error}"),
                "Name another with --root DIR or TOT_ROOT.",
            ),
        };
    }
    let folders = place.store.folders();
    let git = GitProgram::find(false);
    let fault = |folder: &PathBuf| {
        let read = place
            .store
            .load(folder)
            .and_then(|_| place.store.check_references(folder))
            .map_err(CommandError::from);
        let read =
            read.and_then(|()| git.as_ref().map_or(Ok(()), |git| Ok(git.references(folder).map(drop)?)));
        read.err().map(|error| error.to_string())
    };
    let faults: Vec<String> = parallel::each(&folders, 4, fault).into_iter().flatten().collect();
    let number = counted(folders.len(), "investigation");
    match (faults.first(), &place.note) {
        (None, Some(note)) => SetupCheck::note("root", format!("{shown}, {number}"), note.clone()),
        (None, None) => SetupCheck::ok("root", format!("{shown}, {number}")),
        (Some(first), _) => {
            let which = if faults.len() > 1 { "the first: " } else { "" };
            let message =
                format!("{shown}, {number}, of which {} can't be used; {which}{first}", faults.len());
            SetupCheck::wrong("root", message, "tot check --full shows all.")
        }
    }
}

/// Checks that git reads the project around the current folder, which citations and runs are about.
fn project() -> Option<SetupCheck> {
    let (here, git) = (std::env::current_dir().ok()?, GitProgram::find(false).ok()?);
    let (root, _) = Project::work_tree_around(&here)?;
    let error = git.resolve(root, "HEAD").err()?;
    let message = format!("git can't read the project {}: {error}", root.display());
    Some(SetupCheck::wrong("project", message, "Until then, commands in it are not captured in its state."))
}

/// Checks that plain git commands merge by node: that git finds this program, and that each investigation names it.
fn merging(place: &Location) -> Option<SetupCheck> {
    let folders = place.store.folders();
    let by_line = folders.iter().filter(|folder| matches!(place.store.merges_by_node(folder), Ok(false)));
    let by_line: Vec<String> = by_line.map(|folder| folder.display().to_string()).collect();
    if !by_line.is_empty() {
        let attributes = ATTRIBUTES_TEXT.lines().skip(1).collect::<Vec<_>>().join("` and `");
        let advice = format!(
            "`tot sync` sets git up; `{ATTRIBUTES}` there needs the lines `{attributes}`. Until then, git merges by line, and \
             `tot merge --resolve` helps with conflicts."
        );
        return Some(SetupCheck::note("merge", format!("no merge driver in {}", by_line.join(", ")), advice));
    }
    let advice = "Add its folder to PATH. Until then, git merges by line.";
    let is_missing = !folders.is_empty() && on_path("tot").is_none();
    is_missing.then(|| SetupCheck::note("merge", "tot is not on PATH, where git looks for it", advice))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn a_check_is_a_line_and_what_to_do() {
        let checks =
            [SetupCheck::ok("git", "2.50"), SetupCheck::wrong("root", "no \u{1b}[2J root", "Make it.")];
        assert_snapshot!(checks.iter().map(line).collect::<String>(), @"
            ok    git       2.50
            wrong root      no ␛[2J root
                            Make it.
            ");
    }
}
