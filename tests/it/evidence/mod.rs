//! Sources of results: project files as they were when cited, and their later changes.

#[cfg(unix)]
mod attachments;
mod drift;
mod pins;
mod quotes;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tree_of_thoughts::domain::{CitedPath, Lines, LookedUp};
use tree_of_thoughts::service::project::Project;

use crate::support::{Sandbox, Server, node, result};

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

/// An investigation with a pending root.
fn begun(server: &mut Server) -> String {
    let session = server.ok("tot_start", json!({"query": "Why?", "mode": "smoke"}))["sessionId"].clone();
    server.ok("tot_propose", json!({"sessionId": session, "nodes": [node("R1.A", None)]}));
    session.as_str().unwrap().to_owned()
}

/// A project, a server that knows it, and an investigation with a pending root.
fn at_work() -> (Sandbox, PathBuf, Server, String) {
    let sandbox = Sandbox::new();
    let project = project(&sandbox);
    let mut server = sandbox.server_with(&["--project", project.to_str().unwrap()]);
    let session = begun(&mut server);
    (sandbox, project, server, session)
}

/// Looks up lines of a file, or the whole file, as citing them does.
fn look_up(project: &Path, path: &str, lines: Option<Lines>) -> Option<LookedUp> {
    let cited = CitedPath { path: path.into(), lines, commit: None, quote: None };
    Project::around(project).unwrap().look_up(std::slice::from_ref(&cited)).remove(&cited)
}

/// Commits the root with these result fields, and returns the reply.
fn commit_root(server: &mut Server, session: &str, fields: Value) -> Value {
    let mut root = result("R1.A", "EXPLORE");
    fields.as_object().unwrap().iter().for_each(|(name, value)| root[name] = value.clone());
    server.ok("tot_commit", json!({"sessionId": session, "results": [root]}))
}

/// Returns the stored sources of the root.
fn references(server: &mut Server, session: &str) -> Value {
    let reply = server.ok("tot_read", json!({"sessionId": session, "nodeIds": ["R1.A"]}));
    reply["nodes"][0]["references"].clone()
}

/// Returns the messages of the warnings with this code.
fn warnings(reply: &Value, code: &str) -> Vec<String> {
    let all = reply["warnings"].as_array().into_iter().flatten();
    let of_kind = all.filter(|warning| warning["code"] == code);
    of_kind.map(|warning| warning["message"].as_str().unwrap().to_owned()).collect()
}
