//! Identifies the caller of a writing command: the person configured in git, or the agent whose shell runs the command.

use std::path::Path;

use super::print::tell;
use crate::domain::Caller;
use crate::store::{Store, StoreError};

/// Environment variables that agents set for their commands. Each entry contains the variable, the agent, and the variable with
/// the session id. An agent that hides these variables passes for a person, as in git itself.
const AGENTS: &[(&str, &str, Option<&str>)] = &[
    ("CLAUDECODE", "claude-code", Some("CLAUDE_CODE_SESSION_ID")),
    ("CODEX_THREAD_ID", "codex", Some("CODEX_THREAD_ID")),
    ("CODEX_SANDBOX", "codex", None),
    ("CODEX_CI", "codex", None),
    ("CURSOR_AGENT", "cursor", None),
    ("GEMINI_CLI", "gemini-cli", Some("GEMINI_SESSION_ID")),
    ("QWEN_CODE", "qwen-code", None),
    ("OPENCODE", "opencode", None),
    ("OPENCODE_CLIENT", "opencode", None),
    ("GOOSE_TERMINAL", "goose", None),
    ("COPILOT_CLI", "copilot-cli", None),
    ("COPILOT_AGENT", "copilot", None),
    ("AUGMENT_AGENT", "augment", None),
    ("ANTIGRAVITY_AGENT", "antigravity", None),
    ("CLINE_ACTIVE", "cline", None),
    ("CRUSH", "crush", None),
];
/// The variables in which any agent can state its name. The first takes precedence over the names in [`AGENTS`].
const ANY_AGENT: [&str; 2] = ["AI_AGENT", "AGENT"];

/// Returns the caller of a command in this investigation. If git does not know the person's name, none is stored: a shared
/// default name would make all unnamed people look like one person.
pub(super) fn caller(store: &Store, path: &Path) -> Result<Caller, StoreError> {
    if let Some(agent) = agent_here() {
        return Ok(agent);
    }
    let git = store.open(path)?;
    let Some(name) = git.author() else {
        tell(
            "git does not know your name, so this is stored without a name: `git config --global user.name 'Your Name'`",
        );
        return Ok(Caller::default());
    };
    Ok(Caller::of_person(name, git.identity().1))
}

/// Returns the caller of a command that was given the name of an agent, if any. It is not the person whose shell runs it.
pub(super) fn caller_as(agent: Option<&str>, store: &Store, path: &Path) -> Result<Caller, StoreError> {
    if agent.is_some() { Ok(agent_here().unwrap_or_default()) } else { caller(store, path) }
}

/// Parses the name of an agent.
pub(super) fn agent_name(text: &str) -> Result<String, &'static str> {
    Some(text.trim().to_owned()).filter(|name| !name.is_empty()).ok_or("an agent has a name")
}

fn agent_here() -> Option<Caller> {
    agent(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
}

/// Returns the agent identified by these variables.
fn agent(variable: impl Fn(&str) -> Option<String>) -> Option<Caller> {
    let known = AGENTS.iter().find(|(marker, ..)| variable(marker).is_some());
    let [first, last] = ANY_AGENT;
    let name = || known.map(|(_, name, _)| (*name).to_owned());
    let client = variable(first).or_else(name).or_else(|| variable(last))?;
    let session = known.and_then(|(_, _, session)| variable((*session)?));
    Some(Caller { client: Some(client), session, ..Caller::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_the_shell_of_an_agent_is_no_persons() {
        let in_shell = |variables: &[(&str, &str)]| {
            let caller = agent(|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })?;
            Some((caller.client?, caller.session.unwrap_or_default()))
        };
        let some = |client: &str, session: &str| Some((client.to_owned(), session.to_owned()));
        assert_eq!(in_shell(&[("EDITOR", "vi")]), None);
        assert_eq!(
            in_shell(&[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "s-1")]),
            some("claude-code", "s-1")
        );
        assert_eq!(in_shell(&[("CODEX_SANDBOX", "seatbelt")]), some("codex", ""));
        assert_eq!(in_shell(&[("AI_AGENT", "devin@1"), ("CODEX_CI", "1")]), some("devin@1", ""));
        assert_eq!(in_shell(&[("AGENT", "amp")]), some("amp", ""));
    }
}
