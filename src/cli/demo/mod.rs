//! Plays a complete investigation with the real tools.
//!
//! The tools are those of `tot mcp`, in this process. The result is an ordinary investigation of an ordinary project,
//! `project/`, whose files are committed first.
//!
//! `story.yaml` lists an agent's calls with their times, the commands that were run, and the change of the project. Times and
//! identities are fixed, so every demo produces the same commits. A reply that differs from the story stops the demo.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use include_dir::{Dir, include_dir};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::base::world::World;
use crate::decide::run::{NewRun, NewRuns};
use crate::domain::run::{Ran, RunComparison};
use crate::domain::{Caller, Code, NodeId, RunId, RunKind, Timestamp};
use crate::format::FileChange;
use crate::format::message::RUN;
use crate::mcp::tools;
use crate::report;
use crate::service::Service;
use crate::service::project::Project;
use crate::service::sharing::Sharing;
use crate::store::StoreError;
use crate::store::git::{CommitText, Git, GitOptions};
use crate::yaml::{self, YamlError};

const STORY: &str = include_str!("story.yaml");
static PROJECT: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/src/cli/demo/project");
/// The author of all commits.
const AUTHOR: (&str, &str) = ("Tree of Thoughts demo", "demo@localhost");
/// The client in the replies' commits.
const CLIENT: &str = concat!("tot-demo/", env!("CARGO_PKG_VERSION"));
/// The entry of the story that commits a change of the project.
const CHANGE: &str = "git commit";

/// The result of a demo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// The investigation's folder.
    pub repository: PathBuf,
    /// The number of committed nodes.
    pub nodes: u64,
    /// The number of tool calls.
    pub calls: usize,
    /// The number of stored command runs.
    pub runs: usize,
    /// The number of commits.
    pub commits: usize,
    /// The number of calls rejected by a rule.
    pub rejected: usize,
    /// The path of an interesting node's file.
    pub a_node: String,
    /// The tag that marks the conclusion.
    pub tag: String,
}

/// The reason why the demo stopped early.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The folder is not empty.
    #[error("{} exists and is not empty: choose another folder, or remove it", .0.display())]
    NotEmpty(PathBuf),
    /// A file could not be written.
    #[error("cannot write {}", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The project could not be committed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The story is invalid.
    #[error("the story can't be read: {0}")]
    Story(#[from] YamlError),
    /// A reply differs from the story.
    #[error("call {number}, {tool}: {reason}")]
    Unexpected {
        /// The number of the call, starting at 1.
        number: usize,
        /// The name of the tool.
        tool: String,
        /// The difference between the reply and the story.
        reason: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Story {
    start: Timestamp,
    calls: Vec<StoryCall>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoryCall {
    at: Timestamp,
    /// The calling session, by default the lead session.
    #[serde(default = "lead")]
    session: String,
    tool: String,
    args: Value,
    #[serde(default)]
    expect: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
}

/// The arguments of a call that stores a run, or its repetition with the same result.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoryRun {
    node: NodeId,
    note: Option<String>,
    of: Option<RunId>,
    ran: Ran,
}

/// The arguments of a change of the project: `old` is replaced by `new`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoryChange {
    file: String,
    old: String,
    new: String,
    message: String,
}

fn lead() -> String {
    "lead".to_owned()
}

/// Plays the story into `dir`, which must be empty or missing, and reports each call to `progress`.
///
/// # Errors
///
/// Returns an error if the folder is not empty, the server fails, or a reply differs from the story.
pub fn play(dir: &Path, progress: impl Fn(&str)) -> Result<Played, DemoError> {
    let io = |source| DemoError::Io { path: dir.to_owned(), source };
    if dir.exists() && std::fs::read_dir(dir).map_err(io)?.next().is_some() {
        return Err(DemoError::NotEmpty(dir.to_owned()));
    }
    std::fs::create_dir_all(dir).map_err(io)?;
    let clock = dir.join(".clock");
    let outcome = play_calls(dir, &clock, progress);
    // A leftover clock file does no harm.
    let _ = std::fs::remove_file(&clock);
    outcome
}

fn play_calls(dir: &Path, clock: &Path, progress: impl Fn(&str)) -> Result<Played, DemoError> {
    let story: Story = yaml::from_text(STORY)?;
    let git = create_project(dir, story.start)?;
    let mut service = Service::new(dir.join("investigations"), World::File(clock.to_owned()), None);
    service.store = service.store.with_author(AUTHOR.0, AUTHOR.1);
    // A team's remote is not for a demo.
    service.sharing = Some(Sharing::to(Some(String::new())));
    service.project = Project::around(dir).ok();
    let service = Arc::new(service);
    let tools = tools::all(&service);
    let reply = |tool: &str, arguments: Value, session: &str| {
        let (client, session) = (Some(CLIENT.to_owned()), Some(session.to_owned()));
        let caller = Caller { client, session, ..Caller::default() };
        let tool = tools.iter().find(|known| known.about().name == tool);
        tool.map(|tool| tool.call(arguments, &caller).content).unwrap_or_default()
    };
    let mut played = Played::default();
    let mut session = Value::Null;
    let all = story.calls.len();
    for (index, call) in story.calls.into_iter().enumerate() {
        let number = index + 1;
        progress(&format!("call {number} of {all}: {}", call.tool));
        std::fs::write(clock, call.at.to_string())
            .map_err(|source| DemoError::Io { path: clock.to_owned(), source })?;
        let mut arguments = call.args.clone();
        if call.tool != "tot_start"
            && let Some(fields) = arguments.as_object_mut()
        {
            fields.insert("sessionId".into(), session.clone());
        }
        if call.tool == CHANGE {
            change_project(&git, number, call)?;
            continue;
        }
        if call.tool == RUN {
            record(&service, session.as_str().unwrap_or_default(), number, call)?;
            played.commits += 1;
            played.runs += 1;
            continue;
        }
        played.calls += 1;
        let reply = reply(&call.tool, arguments, &call.session);
        check(number, &call, &reply)?;
        played.commits += usize::from(reply["commit"].is_string());
        played.rejected += usize::from(reply["status"] == "REJECTED");
        match call.tool.as_str() {
            "tot_start" => {
                session = reply["sessionId"].clone();
                let folder = session.as_str().unwrap_or_default();
                played.repository = dir.join("investigations").join(folder);
            }
            "tot_reclassify" if played.a_node.is_empty() => {
                played.a_node = format!("nodes/*/{}-*", reply["nodeId"].as_str().unwrap_or_default());
            }
            "tot_end" => played.tag = reply["tag"].as_str().unwrap_or_default().to_owned(),
            _ => {}
        }
    }
    let status = reply("tot_status", json!({"sessionId": session, "graph": "none"}), &lead());
    played.nodes = status["totalNodes"].as_u64().unwrap_or_default();
    Ok(played)
}

/// Creates the project's repository with its first commit.
fn create_project(dir: &Path, at: Timestamp) -> Result<Git, DemoError> {
    let mut files = Vec::new();
    report::collect(&PROJECT, &mut files);
    let files: Vec<FileChange> = files
        .into_iter()
        .map(|(path, content)| FileChange { path, content: Some(content.to_vec()) })
        .collect();
    let options = GitOptions { author: Some(AUTHOR), ..GitOptions::ISOLATED };
    // A repository is made in a new folder, but this one may be a mount point or the current folder.
    let made = dir.join("demo");
    let message = "A job queue in one SQLite file";
    drop(Git::init(options, &made, "demo", &files, message, at.seconds())?);
    let moved = || {
        for entry in std::fs::read_dir(&made)? {
            let entry = entry?;
            std::fs::rename(entry.path(), dir.join(entry.file_name()))?;
        }
        std::fs::remove_dir(&made)
    };
    moved().map_err(|source| DemoError::Io { path: dir.to_owned(), source })?;
    Ok(Git::open(dir, options)?)
}

/// Commits a change of the project from the story.
fn change_project(git: &Git, number: usize, call: StoryCall) -> Result<(), DemoError> {
    let unexpected = |reason: String| DemoError::Unexpected { number, tool: CHANGE.to_owned(), reason };
    let change: StoryChange =
        serde_json::from_value(call.args).map_err(|error| unexpected(error.to_string()))?;
    let text = PROJECT.get_file(&change.file).and_then(|file| file.contents_utf8()).unwrap_or_default();
    if text.matches(&change.old).count() != 1 {
        return Err(unexpected(format!("{:?} is not once in {}", change.old, change.file)));
    }
    let changes = [FileChange::text(change.file, text.replace(&change.old, &change.new))];
    let head = git.head()?.commit.ok_or_else(|| unexpected("the project has no commit".to_owned()))?;
    let commit = CommitText { changes: &changes, message: &change.message, at: call.at.seconds() };
    git.writer()?.commit(head, &[commit], None, |_| Ok(()))?.1?;
    Ok(())
}

/// Stores a run from the story.
fn record(service: &Service, session: &str, number: usize, call: StoryCall) -> Result<(), DemoError> {
    let unexpected = |reason: String| DemoError::Unexpected { number, tool: call.tool.clone(), reason };
    let StoryRun { node, note, of, ran } =
        serde_json::from_value(call.args).map_err(|error| unexpected(error.to_string()))?;
    let at = ran.project.as_ref().and_then(|project| project.commit.clone());
    let what = match of {
        Some(of) => RunKind::Repeated { of, at, verdict: RunComparison::Same, ran },
        None => RunKind::Captured(ran),
    };
    let run = NewRun { node: Some(node), note, what };
    let caller =
        Caller { client: Some("tot-demo".to_owned()), session: Some(call.session), ..Caller::default() };
    let runs = NewRuns { runs: vec![run], ..NewRuns::default() };
    service.record(session, runs, &caller).map(drop).map_err(|refusal| unexpected(refusal.line()))
}

/// Checks that the status and the warnings of a reply match the story exactly.
fn check(number: usize, call: &StoryCall, reply: &Value) -> Result<(), DemoError> {
    let unexpected = |reason: String| DemoError::Unexpected { number, tool: call.tool.clone(), reason };
    let expected = call.expect.as_deref().unwrap_or("OK");
    if reply["status"] != expected {
        return Err(unexpected(format!("expected {expected}, but got: {}", reply["message"])));
    }
    let codes =
        reply["warnings"].as_array().into_iter().flatten().filter_map(|warning| warning["code"].as_str());
    let found: BTreeSet<&str> = codes.filter(|code| !Code::parse(code).is_passing()).collect();
    let expected: BTreeSet<&str> = call.warnings.iter().map(String::as_str).collect();
    if found != expected {
        return Err(unexpected(format!("expected the warnings {expected:?}, but got {found:?}")));
    }
    Ok(())
}
