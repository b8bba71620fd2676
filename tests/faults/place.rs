//! A folder that vanishes afterwards, with nothing of the user's in reach, and git's judgement of what is in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::server::Server;

const TOT_MCP: &str = env!("CARGO_BIN_EXE_tot-mcp");

pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        Place { folder }
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A server on that root; what it says goes to a log.
    pub fn server(&self, root: &Path) -> Server {
        let log = std::fs::File::options().append(true).create(true).open(self.path("log")).unwrap();
        let mut command = self.command(TOT_MCP);
        command.arg("--root").arg(root).stderr(log);
        Server::start(command)
    }

    /// What the servers said: nothing, if all is well.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(["PATH", "SystemRoot"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Tester")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "tester@localhost")))
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// What git prints, or what it complains of.
    pub fn try_git(&self, repository: &Path, arguments: &[&str]) -> Result<String, String> {
        let output = self.command("git").arg("-C").arg(repository).args(arguments).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(format!("git {arguments:?}: {}{}", text(&output.stdout), text(&output.stderr))),
        }
    }

    /// What git prints.
    pub fn git(&self, repository: &Path, arguments: &[&str]) -> String {
        self.try_git(repository, arguments).unwrap()
    }

    /// What git finds wrong with the repository. A kill may leave objects that nothing refers to; `git gc` collects them.
    pub fn fsck(&self, repository: &Path) -> Result<(), String> {
        let arguments = ["fsck", "--strict", "--no-dangling", "--no-progress"];
        let output = self.command("git").arg("-C").arg(repository).args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        match output.status.success() && said.is_empty() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&said).into_owned()),
        }
    }

    /// Files of an unfinished write: lock files, a journal, a file that was to be renamed.
    pub fn leftovers(&self, repository: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![repository.join(".git")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                if path.is_dir() {
                    if name != "objects" {
                        folders.push(path);
                    }
                } else if name.ends_with(".lock")
                    || name == "tot-file"
                    || name == "tot-journal" && path.metadata().unwrap().len() > 0
                {
                    found.push(path.strip_prefix(repository).unwrap().to_string_lossy().into_owned());
                }
            }
        }
        found
    }
}
