//! Sharing, with real git: hubs at paths, over HTTP and over ssh, all on this machine.

#[cfg(unix)]
mod clone;
#[cfg(unix)]
mod comments;
#[cfg(unix)]
mod http;
#[cfg(unix)]
mod index;
#[cfg(unix)]
mod live;
#[cfg(unix)]
mod many;
#[cfg(unix)]
mod notices;
#[cfg(unix)]
mod peers;
#[cfg(unix)]
mod printed;
#[cfg(unix)]
mod resolve;
#[cfg(unix)]
mod signoff;
#[cfg(unix)]
mod stuck;
#[cfg(unix)]
mod sync;
#[cfg(unix)]
mod team;

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::support::{Sandbox, Server, TOT, node, result};

/// One of several machines of a team, with its own root.
pub struct Machine<'a> {
    pub sandbox: &'a Sandbox,
    pub root: PathBuf,
}

/// A command's output and exit status.
#[derive(Debug)]
pub struct Ran {
    pub out: String,
    pub err: String,
    pub status: i32,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran { out: text(output.stdout), err: text(output.stderr), status: output.status.code().unwrap() }
    }
}

impl<'a> Machine<'a> {
    pub fn new(sandbox: &'a Sandbox, name: &str) -> Self {
        Machine { sandbox, root: sandbox.path(name) }
    }

    /// Runs `tot` on this machine's root.
    pub fn tot(&self, arguments: &[&str]) -> Ran {
        self.tot_with(arguments, &[])
    }

    /// Runs `tot` with additional environment variables.
    pub fn tot_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
        let mut command = self.sandbox.command(TOT);
        command.args(arguments).arg("--root").arg(&self.root).envs(environment.iter().copied());
        let ran = Ran::from(command.stdin(std::process::Stdio::null()).output().unwrap());
        // Advice from similar programs that cost their users commits.
        for word in ["--force", "--mirror", "--no-verify", "push -f", "branch -D"] {
            assert!(!ran.out.contains(word) && !ran.err.contains(word), "{word}: {ran:?}");
        }
        ran
    }

    /// Runs `tot`, which must succeed.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.tot(arguments);
        assert_eq!(ran.status, 0, "{arguments:?}: {ran:#?}");
        ran.out
    }

    /// Syncs, and returns the `--json` entry of the only investigation.
    pub fn sync(&self, more: &[&str]) -> Value {
        let ran = self.tot(&[&["sync", "--json"], more].concat());
        let mut document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:#?}"));
        let entries = document["investigations"].as_array_mut().unwrap();
        assert_eq!(entries.len(), 1, "{entries:#?}");
        let entry = entries.remove(0);
        assert_eq!(ran.status, i32::from(!entry["error"].is_null()), "{entry:#}");
        entry
    }

    /// Syncs, which must succeed.
    pub fn synced(&self) -> Value {
        let entry = self.sync(&[]);
        assert!(entry["error"].is_null(), "{entry:#}");
        entry
    }

    /// Syncs, which must fail with this code. Returns the message with its suggestion.
    pub fn fails(&self, code: &str, more: &[&str]) -> String {
        let entry = self.sync(more);
        assert_eq!(entry["error"]["code"], code, "{entry:#}");
        format!(
            "{} {}",
            entry["error"]["message"].as_str().unwrap(),
            entry["error"]["suggestion"].as_str().unwrap_or("")
        )
    }

    pub fn server(&self) -> Server {
        self.sandbox.server_in(&self.root, &["--durability", "git"])
    }

    /// Starts an investigation with one committed node, `R1.A`.
    pub fn start(&self) -> String {
        let mut server = self.server();
        // With a stopped clock, two starts would be one.
        self.sandbox.sleep(1);
        let started = server.ok("tot_start", json!({"query": "Why is the sky blue?", "mode": "smoke"}));
        let id = started["sessionId"].as_str().unwrap().to_owned();
        self.grow_with(&mut server, &id, &[("R1.A", None)], "EXPLORE");
        id
    }

    /// Proposes nodes below `R1.A` and commits them.
    pub fn grow(&self, id: &str, nodes: &[&str]) {
        let nodes: Vec<(&str, Option<&str>)> = nodes.iter().map(|node| (*node, Some("R1.A"))).collect();
        self.grow_with(&mut self.server(), id, &nodes, "EXPLORE");
    }

    fn grow_with(&self, server: &mut Server, id: &str, nodes: &[(&str, Option<&str>)], state: &str) {
        let proposed: Vec<Value> = nodes.iter().map(|(id, parent)| node(id, *parent)).collect();
        server.ok("tot_propose", json!({"sessionId": id, "nodes": proposed}));
        self.sandbox.sleep(60);
        let results: Vec<Value> = nodes.iter().map(|(id, _)| result(id, state)).collect();
        server.ok("tot_commit", json!({"sessionId": id, "results": results}));
    }

    pub fn repository(&self, id: &str) -> PathBuf {
        self.root.join(id)
    }

    pub fn head(&self, id: &str) -> String {
        self.sandbox.head(&self.repository(id))
    }

    /// Returns the ids of the nodes that a server on this machine reads.
    pub fn nodes(&self, id: &str) -> Vec<String> {
        let listed =
            self.sandbox.git(&self.repository(id), &["ls-tree", "-r", "--name-only", "HEAD", "nodes"]);
        let name = |line: &str| Path::new(line).file_stem().unwrap().to_str().unwrap().to_owned();
        let mut nodes: Vec<String> = listed.lines().map(name).collect();
        nodes.sort();
        nodes
    }

    /// Asserts that nothing is lost or uncommitted, and that git calls the repository sound.
    pub fn assert_sound(&self, id: &str) {
        self.sandbox.assert_sound(&self.repository(id));
        let check = self.tot_check(id);
        assert_eq!(check.status, 0, "{check:#?}");
    }

    pub fn tot_check(&self, id: &str) -> Ran {
        self.sandbox.command(TOT).arg("check").arg(self.repository(id)).output().unwrap().into()
    }
}

/// Creates an empty bare repository.
pub fn hub(sandbox: &Sandbox) -> PathBuf {
    let path = sandbox.path("hub.git");
    sandbox.git(
        &sandbox.path("home"),
        &["init", "-q", "--bare", "--initial-branch=main", path.to_str().unwrap()],
    );
    path
}

/// Returns a repository's branches and tags with their commits.
pub fn refs(sandbox: &Sandbox, repository: &Path) -> Vec<String> {
    let listed = sandbox.git(repository, &["for-each-ref", "--format=%(refname)"]);
    listed.lines().map(str::to_owned).collect()
}

/// Two machines that share an investigation through a hub and are in sync.
pub fn two<'a>(sandbox: &'a Sandbox, address: &str) -> (Machine<'a>, Machine<'a>, String) {
    let (one, other) = (Machine::new(sandbox, "one"), Machine::new(sandbox, "other"));
    let id = one.start();
    one.ok(&["remote", "add", "origin", address]);
    one.synced();
    other.ok(&["clone", address]);
    assert_eq!(one.head(&id), other.head(&id));
    (one, other, id)
}

/// Two machines that share an investigation through a new hub.
pub fn team(sandbox: &Sandbox) -> (PathBuf, Machine<'_>, Machine<'_>, String) {
    let hub = hub(sandbox);
    let (one, other, id) = two(sandbox, hub.to_str().unwrap());
    (hub, one, other, id)
}
