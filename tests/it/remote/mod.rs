//! Sharing, with real git: hubs at paths, over HTTP and over ssh, all on this machine.

mod clone;
mod comments;
mod http;
mod live;
mod many;
mod notices;
mod resolve;
mod signoff;
mod stuck;
mod sync;
mod team;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Said, Sandbox, Server, TOT, node, result, short, there, told};

/// Text that looks like a GitHub token.
pub fn token() -> String {
    ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat()
}

/// Asserts that a text has all of these parts.
pub fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// One of several machines of a team, with its own root.
pub struct Machine {
    pub sandbox: Sandbox,
    pub root: PathBuf,
}

impl Machine {
    pub fn new(sandbox: &Sandbox, name: &str) -> Self {
        Machine { sandbox: sandbox.clone(), root: sandbox.path(name) }
    }

    /// Runs `tot` on this machine's root.
    pub fn tot(&self, arguments: &[&str]) -> Said {
        self.tot_with(arguments, &[])
    }

    /// Runs `tot` with additional environment variables.
    pub fn tot_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Said {
        let mut command = self.sandbox.command(TOT);
        command.args(arguments).arg("--root").arg(&self.root).envs(environment.iter().copied());
        let ran = Said::from(command.stdin(std::process::Stdio::null()).output().unwrap());
        // Advice from similar programs that cost their users commits, and secrets.
        for word in ["--force", "--mirror", "--no-verify", "push -f", "branch -D", &token()] {
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

    /// Runs `tot`, which must succeed, and returns its `--json` output.
    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[arguments, &["--json"]].concat())).unwrap()
    }

    /// Runs `tot`, which must fail with a message that has these parts.
    pub fn refuses(&self, arguments: &[&str], parts: &[&str]) -> Said {
        let ran = self.tot(arguments);
        assert_eq!(ran.status, 1, "{arguments:?}: {ran:#?}");
        assert_says(&ran.err.split_whitespace().collect::<Vec<_>>().join(" "), parts);
        ran
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
        self.synced_with(&[])
    }

    pub fn synced_with(&self, more: &[&str]) -> Value {
        let entry = self.sync(more);
        assert!(entry["error"].is_null(), "{entry:#}");
        entry
    }

    /// Syncs, which must succeed. Returns the numbers of commits that came and went.
    pub fn exchanged(&self) -> [u64; 2] {
        let entry = self.synced();
        ["came", "went"].map(|direction| entry[direction].as_u64().unwrap())
    }

    /// Syncs, which must fail with this code, and with a message and suggestion that have these parts. Returns both.
    pub fn fails(&self, code: &str, parts: &[&str]) -> String {
        let error = &self.sync(&[])["error"];
        assert_eq!(error["code"], code, "{error:#}");
        let told = told(error);
        assert_says(&told, parts);
        told
    }

    pub fn server(&self) -> Server {
        self.sandbox.server_in(&self.root, &["--durability", "git"])
    }

    /// Calls a tool of a server, which must accept the call.
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        self.server().ok(tool, arguments)
    }

    /// Starts an investigation with one committed node, `R1.A`.
    pub fn start(&self) -> String {
        let mut server = self.server();
        let id = start(&self.sandbox, &mut server);
        grow(&self.sandbox, &mut server, &id, &["R1.A"]);
        id
    }

    /// Proposes nodes below `R1.A` and commits them.
    pub fn grow(&self, id: &str, nodes: &[&str]) {
        grow(&self.sandbox, &mut self.server(), id, nodes);
    }

    pub fn repository(&self, id: &str) -> PathBuf {
        self.root.join(id)
    }

    /// Runs git in an investigation, and returns its output without the last line break.
    pub fn git(&self, id: &str, arguments: &[&str]) -> String {
        self.sandbox.git(&self.repository(id), arguments).trim_end().to_owned()
    }

    pub fn head(&self, id: &str) -> String {
        self.sandbox.head(&self.repository(id))
    }

    pub fn read(&self, id: &str, file: &str) -> String {
        std::fs::read_to_string(there(&self.repository(id), file)).unwrap()
    }

    pub fn write(&self, id: &str, file: &str, text: &str) {
        std::fs::write(there(&self.repository(id), file), text).unwrap();
    }

    /// Replaces a part of a file in the work tree.
    pub fn edit(&self, id: &str, file: &str, from: &str, to: &str) {
        let text = self.read(id, file);
        assert!(text.contains(from), "{from}: {text}");
        self.write(id, file, &text.replace(from, to));
    }

    /// Commits all changes manually.
    pub fn commit_all(&self, id: &str) {
        self.git(id, &["add", "--all"]);
        self.git(id, &["commit", "--quiet", "-m", "By hand"]);
    }

    /// Returns the ids of the committed nodes.
    pub fn nodes(&self, id: &str) -> Vec<String> {
        let listed = self.git(id, &["ls-tree", "-r", "--name-only", "HEAD", "nodes"]);
        let name = |line: &str| Path::new(line).file_stem().unwrap().to_str().map(short).unwrap();
        let mut nodes: Vec<String> = listed.lines().map(name).collect();
        nodes.sort();
        nodes
    }

    /// Asserts that these commits, by the beginnings of their ids, are in the history.
    pub fn assert_has(&self, id: &str, commits: &[String]) {
        let history = self.git(id, &["rev-list", "HEAD"]);
        for commit in commits {
            assert!(history.lines().any(|line| line.starts_with(commit)), "{commit} is lost");
        }
    }

    /// Asserts that nothing is lost or uncommitted, and that git calls the repository sound.
    pub fn assert_sound(&self, id: &str) {
        self.sandbox.assert_sound(&self.repository(id));
        let check = self.tot_check(id);
        assert_eq!(check.status, 0, "{check:#?}");
    }

    pub fn tot_check(&self, id: &str) -> Said {
        self.sandbox.run(TOT, &["check", self.repository(id).to_str().unwrap()])
    }
}

/// Starts an investigation.
pub fn start(sandbox: &Sandbox, server: &mut Server) -> String {
    // With a stopped clock, two starts would be one.
    sandbox.sleep(1);
    let started = server.ok("tot_start", json!({"query": "Why is the sky blue?", "mode": "smoke"}));
    assert_eq!(started["warnings"], Value::Null, "{started:#}");
    started["sessionId"].as_str().unwrap().to_owned()
}

/// Proposes `R1.A` or nodes below it, and commits them. Returns the two commits.
pub fn grow(sandbox: &Sandbox, server: &mut Server, id: &str, nodes: &[&str]) -> [String; 2] {
    let parent = |id: &str| if id == "R1.A" { None } else { Some("R1.A") };
    let proposed: Vec<Value> = nodes.iter().map(|id| node(id, parent(id))).collect();
    let results: Vec<Value> = nodes.iter().map(|id| result(id, "EXPLORE")).collect();
    let proposal = server.ok("tot_propose", json!({"sessionId": id, "nodes": proposed}));
    sandbox.sleep(60);
    let commit = server.ok("tot_commit", json!({"sessionId": id, "results": results}));
    [proposal, commit].map(|reply| reply["commit"].as_str().unwrap().to_owned())
}

/// An empty bare repository to share through.
pub struct Hub {
    sandbox: Sandbox,
    pub path: PathBuf,
    pub address: String,
}

pub fn hub(sandbox: &Sandbox) -> Hub {
    bare(sandbox, "hub.git")
}

pub fn bare(sandbox: &Sandbox, name: &str) -> Hub {
    let path = sandbox.path(name);
    let address = path.to_str().unwrap().to_owned();
    sandbox.git(&sandbox.path("home"), &["init", "-q", "--bare", "--initial-branch=main", &address]);
    Hub { sandbox: sandbox.clone(), path, address }
}

impl Hub {
    /// Runs git in the hub, and returns its output without the last line break.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.path, arguments).trim_end().to_owned()
    }

    /// Returns its branches and tags.
    pub fn refs(&self) -> Vec<String> {
        refs(&self.sandbox, &self.path)
    }

    /// Returns its branches and tags with their objects.
    pub fn state(&self) -> String {
        self.git(&["for-each-ref"])
    }

    /// Returns its commit of an investigation, or an empty string if it has none.
    pub fn head(&self, id: &str) -> String {
        self.git(&["for-each-ref", "--format=%(objectname)", &branch(id)])
    }

    /// Sets its commit of an investigation.
    pub fn set_head(&self, id: &str, commit: &str) {
        self.git(&["update-ref", &branch(id), commit]);
    }

    /// Installs a hook that sees each push first.
    pub fn hook(&self, script: &str) -> PathBuf {
        self.sandbox.script(&format!("{}/hooks/pre-receive", self.address), script)
    }
}

/// Returns the branch of an investigation in a hub.
pub fn branch(id: &str) -> String {
    format!("refs/heads/tot/{id}")
}

/// Returns a repository's branches and tags.
pub fn refs(sandbox: &Sandbox, repository: &Path) -> Vec<String> {
    let listed = sandbox.git(repository, &["for-each-ref", "--format=%(refname)"]);
    listed.lines().map(str::to_owned).collect()
}

/// Two machines that share an investigation through a hub and are in sync.
pub fn two(sandbox: &Sandbox, address: &str) -> (Machine, Machine, String) {
    let (one, other) = (Machine::new(sandbox, "one"), Machine::new(sandbox, "other"));
    let id = one.start();
    one.ok(&["remote", "add", "origin", address]);
    one.synced();
    other.ok(&["clone", address]);
    assert_eq!(one.head(&id), other.head(&id));
    (one, other, id)
}

/// Two machines that share an investigation through a new hub.
pub fn team(sandbox: &Sandbox) -> (Hub, Machine, Machine, String) {
    let hub = hub(sandbox);
    let (one, other, id) = two(sandbox, &hub.address);
    (hub, one, other, id)
}

/// Syncs machines until all have the same commits, and asserts that this is sound and that nothing is left to do.
pub fn settle(machines: &[&Machine], id: &str) {
    for machine in machines.iter().chain(machines) {
        machine.synced();
    }
    for machine in machines {
        assert_eq!(machine.exchanged(), [0, 0]);
        assert_eq!(machine.head(id), machines[0].head(id));
        machine.assert_sound(id);
    }
}
