//! One call at a time, killed before each of its system calls that can change a file: by strace, which delivers SIGKILL
//! at the K-th call of a kind, for K = 1, 2, 3 until the tool call ends unharmed.
//!
//! Each run has a copy of the same investigation, with work of the user's in it: a file that is changed, one that is
//! staged, one that git does not know, and a node's file edited by hand. After the kill, git must call the repository
//! sound, HEAD must be the old commit or the call's, a new server must be able to make the same call or know that it
//! was made, and then the user's work must be as it was, and `git status` with it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::thread;

use serde_json::{Value, json};

use crate::Form;
use crate::figures::{Fault, Figures};
use crate::place::{git, investigations, is_sound, judge, judge_log, judge_remains, server, start};
use crate::support::stdio::Gone;
use crate::support::{Sandbox, Server, codes, node, result, there};

/// System calls that change the file system or affect its state.
const CALLS: &str = "openat creat write pwrite64 writev copy_file_range rename renameat renameat2 mkdir mkdirat rmdir \
                     unlink unlinkat link linkat symlink symlinkat truncate ftruncate fallocate fsync fdatasync syncfs \
                     flock fchmod fchmodat utimensat";

/// In the short form, one of this many steps is tried.
const STRIDE: usize = 24;

/// The number of steps tried at the same time.
const THREADS: usize = 4;

/// The accepted calls: the tool, and its arguments other than the session.
type Call = (&'static str, Value);

/// The call to kill, and the repository that it runs on.
#[derive(Default)]
struct Kind {
    name: &'static str,
    before: Vec<Call>,
    /// True if the root's `.gitignore` does not exist yet.
    is_first: bool,
    /// True if `git gc` packs objects and references first.
    is_packed: bool,
    /// True if git's index is large.
    is_large: bool,
    call: Call,
    /// An earlier killed call and the step of its kill. The recovery from it is then killed.
    earlier: Option<(Call, &'static str, usize)>,
    /// The call after that one.
    next: Call,
}

fn propose(ids: &[&str]) -> Call {
    let nodes: Vec<Value> = ids.iter().map(|id| node(id, Some("R1.A"))).collect();
    ("tot_propose", json!({"nodes": nodes}))
}

fn commit(ids: &[&str], state: &str) -> Call {
    let results: Vec<Value> = ids.iter().map(|id| result(id, state)).collect();
    ("tot_commit", json!({"results": results}))
}

fn reclassify(id: &str, state: &str) -> Call {
    ("tot_reclassify", json!({"nodeId": id, "newState": state, "reason": "It is so.", "agentId": "judge"}))
}

fn kinds() -> Vec<Kind> {
    let two = &["R2.A1", "R2.A2"];
    let end: Call = ("tot_end", json!({"conclusion": "It survives."}));
    let withdraw: Call = ("tot_propose", json!({"withdraw": two}));
    let begin: Call = ("tot_start", json!({"query": "What else survives?"}));
    let other = propose(&["R2.A9"]);
    let revive = reclassify("R2.A1", "EXPLORE");
    let kind = |name, before: &[Call], call: &Call, next: &Call| Kind {
        name,
        before: before.to_vec(),
        call: call.clone(),
        next: next.clone(),
        ..Kind::default()
    };
    // Before the second work tree file, and between moving HEAD and replacing the index.
    let halfway = |name, step| Kind {
        earlier: Some((propose(two), "rename", step)),
        ..kind(name, &[], &propose(&["R2.A8"]), &other)
    };
    let proposed = [propose(two)];
    let dead = [propose(two), commit(two, "DEAD")];
    let ended = [propose(two), commit(two, "DEAD"), end.clone()];
    vec![
        kind("tot_start", &[], &begin, &begin),
        Kind { is_first: true, ..kind("tot_start, the first", &[], &begin, &begin) },
        kind("tot_propose", &[], &propose(two), &other),
        kind("tot_propose, withdrawing", &proposed, &withdraw, &other),
        kind("tot_commit", &proposed, &commit(two, "EXPLORE"), &other),
        halfway("recovery to the old HEAD", 2),
        halfway("recovery to the new HEAD", 3),
        Kind { is_packed: true, ..kind("tot_commit after git gc", &proposed, &commit(two, "DEAD"), &other) },
        Kind {
            is_large: true,
            ..kind("tot_commit with many untracked files", &proposed, &commit(two, "EXPLORE"), &other)
        },
        kind("tot_reclassify", &dead, &revive, &other),
        kind("tot_end", &dead, &end, &end),
        kind("tot_reclassify, reopening", &ended, &revive, &other),
    ]
}

pub fn run(form: Form) -> Vec<Figures> {
    if !has_strace() {
        println!("steps: left out, since strace is missing or may not trace here (apt-get install strace)");
        return Vec::new();
    }
    // On other machines, the same step is a different system call.
    let kinds = kinds().into_iter().filter(|kind| kind.earlier.is_none() || cfg!(target_arch = "x86_64"));
    let waiting = Mutex::new(kinds.collect::<Vec<_>>().into_iter().enumerate().rev().collect::<Vec<_>>());
    let rows = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((number, kind)) = { waiting.lock().unwrap().pop() } {
                    let row = Bench::new(&kind).run(form);
                    println!("steps: {}, {} kills", kind.name, row.kills);
                    rows.lock().unwrap().insert(number, row);
                }
            });
        }
    });
    rows.into_inner().unwrap().into_values().collect()
}

/// Returns whether strace can attach to a process other than its child.
fn has_strace() -> bool {
    let sandbox = Sandbox::new();
    let server = server(&sandbox, &sandbox.root());
    Tracer::attach(&sandbox, &server, &["-e", "trace=none"]).is_some()
}

/// A strace process attached to a server.
struct Tracer(std::process::Child);

impl Tracer {
    fn attach(sandbox: &Sandbox, server: &Server, arguments: &[&str]) -> Option<Tracer> {
        let mut command = sandbox.command("strace");
        command.args(["-f", "-p", &server.process().to_string()]).args(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().ok()?;
        let mut said = BufReader::new(child.stderr.take()?);
        let tracer = Tracer(child);
        let mut line = String::new();
        said.read_line(&mut line).ok()?;
        // It may print more, about threads that start and end.
        thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        line.contains(" attached").then_some(tracer)
    }

    /// Waits until strace exits, after the server has died.
    fn join(mut self) {
        self.0.wait().unwrap();
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One kind of call, with the investigation that it applies to.
struct Bench<'a> {
    kind: &'a Kind,
    sandbox: Sandbox,
    session: String,
    user: String,
}

/// The user's own files, with their content.
const USER: &[(&str, &str)] = &[
    ("notes.md", "Changed, and not staged.\n"),
    ("plan.md", "Changed and staged.\n"),
    ("new.md", "New and staged.\n"),
    ("scratch.txt", "Not known to git.\n"),
];

impl<'a> Bench<'a> {
    fn new(kind: &'a Kind) -> Self {
        let sandbox = Sandbox::new();
        let root = sandbox.path("template");
        let mut server = server(&sandbox, &root);
        let session = start(&mut server);
        for call in &kind.before {
            let reply = make(&mut server, &session, call).unwrap();
            assert_eq!(reply["status"], "OK", "{}: {reply}", kind.name);
        }
        drop(server);
        let repository = root.join(&session);
        let write = |name: &str, text: &str| std::fs::write(repository.join(name), text).unwrap();
        let git = |arguments: &[&str]| sandbox.git(&repository, arguments);
        write("notes.md", "Notes.\n");
        write("plan.md", "Plan.\n");
        if kind.is_large {
            // Long names make the index large with few files.
            std::fs::create_dir(repository.join("attic")).unwrap();
            (0..1_500).for_each(|number| write(&format!("attic/{number:0>150}"), ""));
            git(&["add", "attic"]);
            assert!(std::fs::metadata(repository.join(".git/index")).unwrap().len() > 300_000);
        }
        git(&["add", "notes.md", "plan.md"]);
        git(&["commit", "-qm", "By hand"]);
        if kind.is_packed {
            git(&["gc", "-q"]);
        }
        for (name, text) in USER {
            write(name, text);
        }
        git(&["add", "plan.md", "new.md"]);
        let root_node = there(&repository, "nodes/R1/R1.A.yaml");
        let text = std::fs::read_to_string(&root_node).unwrap();
        std::fs::write(root_node, text + "# Edited by hand.\n").unwrap();
        let mut bench = Bench { kind, sandbox, session, user: String::new() };
        bench.user = bench.users_work(&repository).unwrap();
        bench
    }

    /// Returns the user's changes, according to git and the file system.
    fn users_work(&self, repository: &Path) -> Result<String, String> {
        let mut told = String::new();
        for arguments in
            [&["status", "--porcelain", "--untracked-files=all"][..], &["diff"], &["diff", "--cached"]]
        {
            told += &git(&self.sandbox, repository, arguments)?;
        }
        for (name, _) in USER {
            told += &std::fs::read_to_string(repository.join(name))
                .map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(told)
    }

    fn run(&self, form: Form) -> Figures {
        let mut figures = Figures::of(format!("{}, killed at each step", self.kind.name));
        let counts = self.count();
        if form.long {
            for call in counts.keys() {
                let mut step = 1;
                while self.kill_at(call, step, &mut figures) {
                    step += 1;
                }
            }
        } else {
            let steps = counts.iter().flat_map(|(call, count)| (1..=*count).map(move |step| (call, step)));
            let offset = form.seed as usize % STRIDE;
            for (call, step) in steps.skip(offset).step_by(STRIDE) {
                self.kill_at(call, step, &mut figures);
            }
        }
        judge_log(&self.sandbox, &mut figures);
        figures
    }

    /// Counts the system calls of each kind in the tool call.
    fn count(&self) -> BTreeMap<&'static str, usize> {
        let root = self.copy();
        let log = self.sandbox.path("trace");
        // A question mark lets strace skip calls that a machine does not have.
        let trace = format!("trace=?{}", CALLS.replace(' ', ",?"));
        let reply =
            self.traced(&root, &self.kind.call, &["-o", &log.to_string_lossy(), "-e", &trace]).unwrap();
        assert_eq!(reply["status"], "OK", "{}: {reply}", self.kind.name);
        let text = std::fs::read_to_string(log).unwrap();
        let made = text.lines().filter_map(|line| Some(line.split_whitespace().nth(1)?.split_once('(')?.0));
        let mut counts = BTreeMap::new();
        for name in made.filter_map(|name| CALLS.split(' ').find(|known| *known == name)) {
            *counts.entry(name).or_insert(0) += 1;
        }
        std::fs::remove_dir_all(root).unwrap();
        counts
    }

    /// Copies the template, including file times.
    fn copy(&self) -> PathBuf {
        let root = self.sandbox.path("copy");
        let mut copy = self.sandbox.command("cp");
        assert!(copy.arg("-a").arg(self.sandbox.path("template")).arg(&root).status().unwrap().success());
        if self.kind.is_first {
            std::fs::remove_file(root.join(".gitignore")).unwrap();
        }
        if let Some((call, name, step)) = &self.kind.earlier {
            let is_killed = self.is_killed_at(&root, call, name, *step);
            assert!(is_killed, "{}: it was killed before", self.kind.name);
        }
        root
    }

    /// Makes a call on a new server under strace.
    fn traced(&self, root: &Path, call: &Call, arguments: &[&str]) -> Result<Value, Gone> {
        let mut server = server(&self.sandbox, root);
        let tracer = Tracer::attach(&self.sandbox, &server, arguments).unwrap();
        let outcome = make(&mut server, &self.session, call);
        drop(server);
        tracer.join();
        outcome
    }

    /// Makes a call that is killed at the step. Returns whether it got that far.
    fn is_killed_at(&self, root: &Path, call: &Call, name: &str, step: usize) -> bool {
        let trace = format!("trace={name}");
        let inject = format!("inject={name}:signal=SIGKILL:when={step}");
        self.traced(root, call, &["-o", "/dev/null", "-e", &trace, "-e", &inject]).is_err()
    }

    /// Kills the call at the step. Returns whether it got that far.
    fn kill_at(&self, call: &str, step: usize, figures: &mut Figures) -> bool {
        let root = self.copy();
        let head = self.sandbox.head(&root.join(&self.session));
        let is_killed = self.is_killed_at(&root, &self.kind.call, call, step);
        if is_killed {
            figures.kills += 1;
            let known = figures.faults.len();
            self.judge(&root, &head, figures);
            for (_, problem) in &mut figures.faults[known..] {
                *problem = format!("{}, killed at {call} {step}: {problem}", self.kind.name);
            }
        }
        std::fs::remove_dir_all(root).unwrap();
        is_killed
    }

    fn judge(&self, root: &Path, before: &str, figures: &mut Figures) {
        let git = |arguments: &[&str]| git(&self.sandbox, &root.join(&self.session), arguments);
        let revision = |name: &str| git(&["rev-parse", name]).unwrap_or_else(|said| said).trim().to_owned();
        if !investigations(root).iter().all(|it| is_sound(&self.sandbox, it, "after the kill", figures)) {
            return;
        }
        let head = revision("HEAD");
        let is_published = head != before;
        if is_published && revision("HEAD^") != before {
            figures.fault(Fault::Lost, format!("HEAD is {head}, after {before}"));
        }
        // Repeats the call on a new server: it succeeds now, or it succeeded before the kill.
        let again = make(&mut server(&self.sandbox, root), &self.session, &self.kind.call).unwrap();
        if again["status"] == "OK" {
            self.judge_rest(root, "after the same call", figures);
        } else if !is_published || !is_refusal_of_repetition(&again) {
            let problem = format!("published: {is_published}, the same call again: {again}");
            figures.fault(Fault::NeedsRepair, problem);
        }
        let next = make(&mut server(&self.sandbox, root), &self.session, &self.kind.next).unwrap();
        if next["status"] != "OK" {
            return figures.fault(Fault::NeedsRepair, format!("the next call: {next}"));
        }
        self.judge_rest(root, "after the next call", figures);
        let history: String =
            investigations(root).iter().map(|it| self.sandbox.git(it, &["rev-list", "HEAD"])).collect();
        for commit in [&again, &next].into_iter().filter_map(|reply| reply["commit"].as_str()) {
            figures.acknowledged += 1;
            if !history.contains(commit) {
                figures.fault(Fault::Lost, format!("{commit} is in no history"));
            }
        }
        if self.kind.call.0 == "tot_end" {
            let (tag, head) = (revision("ended/1^{commit}"), revision("HEAD"));
            let kind = git(&["cat-file", "-t", "ended/1"]);
            if tag != head || kind.as_deref() != Ok("tag\n") {
                figures.fault(Fault::NeedsRepair, format!("the tag: {tag} {kind:?}, HEAD {head}"));
            }
        }
    }

    /// After an accepted call, no trace of the kill remains, and the user's work is unchanged.
    fn judge_rest(&self, root: &Path, when: &str, figures: &mut Figures) {
        match self.users_work(&root.join(&self.session)) {
            Ok(told) if told == self.user => {}
            Ok(told) => {
                let problem = format!("{when}, before:\n{}\nafter:\n{told}", self.user);
                figures.fault(Fault::Touched, problem);
            }
            Err(said) => figures.fault(Fault::Touched, format!("{when}: {said}")),
        }
        let ignore = std::fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        if !ignore.contains("/*/") {
            figures.fault(Fault::NeedsRepair, format!("{when}, the root's .gitignore: {ignore:?}"));
        }
        for repository in investigations(root) {
            // The user's work was compared above.
            let judge = if repository.ends_with(&self.session) { judge_remains } else { judge };
            judge(&self.sandbox, &repository, when, figures);
        }
    }
}

/// Makes the call in the session.
fn make(server: &mut Server, session: &str, (tool, arguments): &Call) -> Result<Value, Gone> {
    let mut arguments = arguments.clone();
    if *tool != "tot_start" {
        arguments["sessionId"] = json!(session);
    }
    server.try_call(tool, arguments)
}

/// Returns whether a call is refused because it already succeeded.
fn is_refusal_of_repetition(reply: &Value) -> bool {
    let codes = codes(&reply["errors"]);
    !codes.is_empty() && codes.iter().all(|code| ["NOT_PROPOSED", "UNCHANGED"].contains(&code.as_str()))
}
