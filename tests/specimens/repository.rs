//! A repository from a stream of commits, by `git fast-import`: fast, and held to no rule of ours.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What `git fast-import` reads.
pub struct Stream {
    bytes: Vec<u8>,
    branch: String,
    marks: usize,
}

/// A commit beside its files.
pub struct Commit<'a> {
    pub author: &'a str,
    /// Seconds since 1970.
    pub at: i64,
    pub message: &'a str,
}

impl Stream {
    /// Commits to this branch, which is a legal name.
    pub fn on(branch: &str) -> Stream {
        Stream { bytes: Vec::new(), branch: branch.to_owned(), marks: 0 }
    }

    /// Adds a commit that writes these files. No author can have `<`, `>` or a line end here; see [`amend_authors`].
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

    /// A tag on the last commit.
    pub fn tag(&mut self, name: &str) {
        self.line(&format!("reset refs/tags/{name}"));
        self.line(&format!("from :{}\n", self.marks));
    }

    /// Makes the repository, with nothing in its work tree.
    pub fn write(&self, dir: &Path) {
        fs::create_dir_all(dir).unwrap();
        git(dir, &["init", "--quiet", &format!("--initial-branch={}", self.branch)], b"");
        // As it is in the commits: nothing is to be converted or asked about.
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

/// A path as fast-import reads it.
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

/// One more commit per author on the branch's last, each written as it is, which git itself would not do.
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

/// Runs git without anybody's configuration, and gives what it printed.
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

/// A folder's name that most file systems take, as near to the text as it can be.
pub fn folder_name(text: &str) -> String {
    let name: String = text.chars().map(|c| if matches!(c, '/' | '\0') { '_' } else { c }).collect();
    let end = (0..=name.len().min(150)).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    name[..end].to_owned()
}
