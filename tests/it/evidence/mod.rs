//! Sources of results: project files as they were when cited, and their later changes.

#[cfg(unix)]
mod attachments;
mod drift;
mod numbers;
mod pins;
mod quotes;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tree_of_thoughts::domain::{CitedPath, Lines, LookedUp};
use tree_of_thoughts::service::project::Project;

use crate::support::{Sandbox, Server, Session, node, result};

/// A committed project with a file of twenty lines.
fn project(sandbox: &Sandbox) -> PathBuf {
    let project = sandbox.path("project");
    std::fs::create_dir_all(project.join("src")).unwrap();
    write(&project, "src/db.py", &numbered("line", 20));
    sandbox.git(&project, &["init", "-q", "-b", "main"]);
    commit_all(sandbox, &project);
    project
}

fn numbered(word: &str, lines: usize) -> String {
    (1..=lines).map(|at| format!("{word} {at}\n")).collect()
}

fn write(project: &Path, path: &str, text: &str) {
    std::fs::create_dir_all(project.join(path).parent().unwrap()).unwrap();
    std::fs::write(project.join(path), text).unwrap();
}

fn commit_all(sandbox: &Sandbox, project: &Path) -> String {
    sandbox.git(project, &["add", "-A"]);
    sandbox.git(project, &["commit", "-q", "--allow-empty", "-m", "Change"]);
    sandbox.head(project)
}

/// An investigation with a pending root, through a server on the default root.
fn begun(sandbox: &Sandbox, server: Server) -> Session {
    // With a stopped clock, two starts are one.
    sandbox.sleep(1);
    let mut session = Session::start_with(sandbox, server, json!({"query": "Why?", "mode": "smoke"}));
    session.ok("tot_propose", json!({"nodes": [node("R1.A", None)]}));
    session
}

/// A project, and an investigation with a pending root, through a server that knows the project.
fn at_work(sandbox: &Sandbox) -> (PathBuf, Session) {
    let project = project(sandbox);
    let server = sandbox.server_with(&["--project", project.to_str().unwrap()]);
    (project, begun(sandbox, server))
}

/// Looks up lines of a file, or the whole file, as citing them does.
fn look_up(project: &Path, path: &str, lines: Option<Lines>) -> Option<LookedUp> {
    let cited = CitedPath { path: path.into(), lines, commit: None, quote: None };
    Project::around(project).unwrap().look_up(std::slice::from_ref(&cited)).remove(&cited)
}

/// Returns an object with more fields.
fn with(mut object: Value, fields: &Value) -> Value {
    fields.as_object().unwrap().iter().for_each(|(name, value)| object[name] = value.clone());
    object
}

/// Commits the root with these result fields, and returns the reply.
fn commit_root(session: &mut Session, fields: Value) -> Value {
    session.ok("tot_commit", json!({"results": [with(result("R1.A", "EXPLORE"), &fields)]}))
}

/// Amends these fields of the root, and returns the reply.
fn amend_root(session: &mut Session, fields: Value) -> Value {
    session.ok("tot_amend", with(json!({"nodeId": "R1.A", "reason": "It was wrong."}), &fields))
}

/// Returns the stored sources of the root.
fn references(session: &mut Session) -> Value {
    session.ok("tot_read", json!({"nodeIds": ["R1.A"]}))["nodes"][0]["references"].clone()
}

/// Returns the committed file of the root.
fn stored(session: &Session) -> String {
    session.text("nodes/R1/R1.A.yaml")
}

/// Returns the messages of the warnings with this code.
fn warnings(reply: &Value, code: &str) -> Vec<String> {
    let all = reply["warnings"].as_array().into_iter().flatten();
    let of_kind = all.filter(|warning| warning["code"] == code);
    of_kind.map(|warning| warning["message"].as_str().unwrap().to_owned()).collect()
}
