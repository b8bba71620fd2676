//! Builds a repository from a stream of commits with `git fast-import`, which is fast and does not enforce our rules.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use tree_of_thoughts::domain::{Event, Node};
use tree_of_thoughts::format;

/// Returns the files of committed nodes, with their content.
pub fn files(nodes: impl IntoIterator<Item = Node>) -> Vec<(String, Vec<u8>)> {
    let nodes = nodes.into_iter().map(Arc::new).collect();
    files_of(&Event::Committed { nodes, transitions: Vec::new(), attachments: Vec::new() })
}

/// Returns the files that an event writes, with their content.
pub fn files_of(event: &Event) -> Vec<(String, Vec<u8>)> {
    let files = format::files(event).unwrap().into_iter();
    files.filter_map(|file| Some((file.path, file.content?))).collect()
}

/// The input for `git fast-import`.
pub struct Stream {
    bytes: Vec<u8>,
    branch: String,
    marks: usize,
}

/// The properties of a commit other than its files.
pub struct Commit<'a> {
    pub author: &'a str,
    /// Seconds since 1970.
    pub at: i64,
    pub message: &'a str,
}

impl Stream {
    /// Returns a stream of commits to this branch, whose name must be legal.
    pub fn on(branch: &str) -> Stream {
        Stream { bytes: Vec::new(), branch: branch.to_owned(), marks: 0 }
    }

    /// Adds a commit that writes these files. Authors can't contain `<`, `>` or a line break here; see
    /// [`amend_authors`].
    pub fn commit(&mut self, commit: &Commit<'_>, files: &[(String, Vec<u8>)]) {
        self.marks += 1;
        let person: String =
            commit.author.chars().filter(|c| !matches!(c, '<' | '>' | '\n' | '\0')).collect();
        self.line(&format!("commit refs/heads/{}", self.branch));
        self.line(&format!("mark :{}", self.marks));
        for role in ["author", "committer"] {
            self.line(&format!("{role} {} <stranger@localhost> {} +0000", person.trim(), commit.at));
        }
        self.data(commit.message.as_bytes());
        for (path, content) in files {
            self.line(&format!("M 100644 inline {}", quoted(path)));
            self.data(content);
        }
    }

    /// Adds a tag on the last commit.
    pub fn tag(&mut self, name: &str) {
        self.line(&format!("reset refs/tags/{name}"));
        self.line(&format!("from :{}\n", self.marks));
    }

    /// Creates the repository with an empty work tree.
    pub fn write(&self, dir: &Path) {
        fs::create_dir_all(dir).unwrap();
        git(dir, &["init", "--quiet", &format!("--initial-branch={}", self.branch)], b"");
        // Files stay as committed: nothing is converted, and git asks no questions.
        git(dir, &["fast-import", "--quiet", "--force"], &self.bytes);
    }

    fn line(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(b'\n');
    }

    fn data(&mut self, content: &[u8]) {
        self.line(&format!("data {}", content.len()));
        self.bytes.extend_from_slice(content);
        self.bytes.push(b'\n');
    }
}

/// Quotes a path for fast-import.
fn quoted(path: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in path.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            0x20..=0x7e => quoted.push(char::from(byte)),
            byte => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted + "\""
}

/// Adds one commit per author on top of the branch. Each author is written verbatim, which git itself would not do.
pub fn amend_authors<'a>(dir: &Path, authors: impl Iterator<Item = &'a str>, at: i64) {
    let head = |name: &str| git(dir, &["rev-parse", name], b"");
    let (mut parent, tree) = (head("HEAD"), head("HEAD^{tree}"));
    for author in authors {
        let author: String = author.chars().filter(|c| !matches!(c, '\n' | '\0')).collect();
        let commit = format!(
            "tree {tree}\nparent {parent}\nauthor {author} <{author}> {at} +0000\n\
             committer {author} <x> {at} +0000\n\nBy another author\n"
        );
        parent =
            git(dir, &["hash-object", "-t", "commit", "-w", "--stdin", "--literally"], commit.as_bytes());
    }
    git(dir, &["update-ref", "HEAD", &parent], b"");
}

/// Runs git without any user configuration, and returns its output.
fn git(dir: &Path, arguments: &[&str], input: &[u8]) -> String {
    let mut command = Command::new("git");
    command
        .env_clear()
        .envs(["PATH", "SystemRoot"].iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", if cfg!(windows) { "NUL" } else { "/dev/null" })
        .arg("-C")
        .arg(dir)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {arguments:?} in {}", dir.display());
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns a folder name that most file systems accept and that resembles the text.
pub fn folder_name(text: &str) -> String {
    let name: String = text.chars().map(|c| if matches!(c, '/' | '\0') { '_' } else { c }).collect();
    let end = (0..=name.len().min(150)).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    name[..end].to_owned()
}
