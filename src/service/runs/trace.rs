//! Finds out which paths a command reads, lists, and looks for in vain, with strace. Only Linux has it.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, pipe};
use std::path::Path;
use std::process::Stdio;
use std::thread::{self, JoinHandle};

use super::capture::program_file;
use super::expect::Expected;
use crate::assess::inputs::PathUse;
use crate::base::platform;

/// The maximum number of paths in the project that a trace remembers.
const PATHS_MAX: usize = 20_000;
/// The maximum length of a line of a trace, in bytes. A longer one has many arguments, which follow the path.
const LINE_MAX: u64 = 64 << 10;

/// What a command did with the paths of the project, which are relative to its root. `None` if there are too many.
pub type TracedPaths = Option<BTreeMap<String, PathUse>>;

/// A trace that is being written.
pub struct Tracer {
    pipe: PipeWriter,
    reader: JoinHandle<TracedPaths>,
}

impl Tracer {
    /// Prepares the trace of a command in a folder of a project.
    ///
    /// # Errors
    ///
    /// Returns the reason, for people, if commands can't be traced here.
    pub fn new(
        root: &Path,
        folder: &Path,
        command: &[String],
        expected: &[Expected],
    ) -> Result<Tracer, String> {
        if let Some(timed) = expected.iter().find_map(Expected::timed) {
            return Err(format!("`{timed}` measures time, and a traced command is slower"));
        }
        let program = command.first().and_then(|program| program_file(folder, program));
        if let Some(program) = program.filter(|program| platform::runs_as_its_owner(program)) {
            return Err(format!(
                "{} runs with the rights of another user, which a trace takes away",
                program.display()
            ));
        }
        let program = platform::command("strace", folder)
            .args(["-f", "--seccomp-bpf", "-o", "/dev/null", "true"])
            .stdin(Stdio::null())
            .output();
        match program {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(format!(
                    "strace does not work here: {}",
                    said.lines().next().unwrap_or("it printed nothing")
                ));
            }
            Err(_) => return Err("the program strace is missing, which only Linux has".to_owned()),
        }
        let failed = |error: std::io::Error| format!("no trace can be read: {error}");
        let (reader, pipe) = pipe().map_err(failed)?;
        let real = |path: &Path| {
            path.canonicalize().unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
        };
        let trace = Trace { root: real(root), folder: real(folder), ..Trace::default() };
        let reader = thread::Builder::new().spawn(move || trace.read(reader)).map_err(failed)?;
        Ok(Tracer { pipe, reader })
    }

    /// Returns the program and arguments that start the command.
    pub(super) fn starter(&self) -> Vec<OsString> {
        let calls = "trace=%file,%process,getdents,getdents64,fchdir";
        let options =
            ["strace", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "0", "-e", "signal=none", "-e", calls, "-o"];
        let options = options.into_iter().map(OsString::from);
        options.chain([platform::path_of_pipe(&self.pipe).into(), "--".into()]).collect()
    }

    /// Returns what the command used, once it has ended.
    pub(super) fn finish(self) -> TracedPaths {
        drop(self.pipe);
        self.reader.join().unwrap_or_default()
    }
}

/// A trace as far as it was read.
#[derive(Default)]
struct Trace {
    root: String,
    /// The working folder in which the command starts.
    folder: String,
    /// The working folder of each process, if it is another one.
    folders: HashMap<String, String>,
    /// The beginnings of calls that another process interrupted.
    unfinished: HashMap<String, String>,
    paths: BTreeMap<String, PathUse>,
}

impl Trace {
    fn read(mut self, pipe: PipeReader) -> TracedPaths {
        let mut lines = BufReader::new(pipe);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut lines).take(LINE_MAX).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                // What follows the limit is read as a line that says nothing. Later lines are read, so that the command does not wait.
                Ok(_) if self.paths.len() <= PATHS_MAX => self.add(&String::from_utf8_lossy(&line)),
                Ok(_) => {}
            }
        }
        (self.paths.len() <= PATHS_MAX).then_some(self.paths)
    }

    /// Adds a line such as `17 openat(AT_FDCWD</home>, "a.py", O_RDONLY) = 3</home/a.py>`.
    fn add(&mut self, line: &str) {
        let Some((process, rest)) = line.trim_end().split_once(' ') else { return };
        let rest = rest.trim_start();
        if let Some(begun) = rest.strip_suffix("<unfinished ...>") {
            self.unfinished.insert(process.to_owned(), begun.trim_end().to_owned());
            return;
        }
        let resumed = rest.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>"));
        let whole = match resumed {
            Some((_, rest)) => self.unfinished.remove(process).unwrap_or_default() + rest,
            None => rest.to_owned(),
        };
        let call = whole.split_once('(').and_then(|(name, rest)| Some((name, rest.rsplit_once(" = ")?)));
        let Some((name, (arguments, result))) = call else { return };
        let is_missing = result.contains("ENOENT") || result.contains("ENOTDIR");
        if !is_missing && result.starts_with('-') {
            return;
        }
        let mut paths = self.arguments(process, arguments);
        match name {
            "chdir" | "fchdir" => drop(paths.pop().map(|path| self.folders.insert(process.to_owned(), path))),
            "clone" | "clone3" | "fork" | "vfork" => {
                if let Some(folder) = self.folders.get(process).cloned() {
                    self.folders.insert(result.trim().to_owned(), folder);
                }
            }
            "getdents" | "getdents64" => paths.iter().for_each(|path| self.note(path, PathUse::Listed)),
            _ if is_missing => paths.iter().for_each(|path| self.note(path, PathUse::Missed)),
            "open" | "openat" | "openat2" | "creat" => {
                let is_written =
                    name == "creat" || ["O_TRUNC", "O_EXCL"].iter().any(|flag| arguments.contains(flag));
                let to = decorated(result).map(unescaped);
                let what = if is_written { PathUse::Written } else { PathUse::Read };
                paths.iter().chain(&to).for_each(|path| self.note(path, what));
            }
            "execve" | "execveat" => paths.iter().take(1).for_each(|path| self.note(path, PathUse::Read)),
            _ if ["rename", "link", "symlink", "mkdir", "mknod"].iter().any(|it| name.starts_with(it)) => {
                paths.iter().skip(1).for_each(|path| self.note(path, PathUse::Written));
            }
            "unlink" | "unlinkat" | "rmdir" | "exit_group" | "wait4" => {}
            _ => paths.iter().for_each(|path| self.note(path, PathUse::Seen)),
        }
    }

    /// Returns the absolute paths among the arguments of a call. A relative one follows the folder that it is relative to.
    fn arguments(&mut self, process: &str, arguments: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut folder: Option<String> = None;
        let mut rest = arguments;
        loop {
            rest = rest.trim_start_matches([',', ' ']);
            if let Some(text) = rest.strip_prefix('"') {
                let end = text.char_indices().scan(false, |is_escaped, (at, c)| {
                    let is_end = c == '"' && !*is_escaped;
                    *is_escaped = c == '\\' && !*is_escaped;
                    Some((at, is_end))
                });
                let Some((end, _)) = end.into_iter().find(|(_, is_end)| *is_end) else { break };
                let path = unescaped(&text[..end]);
                let from = folder.take();
                let from = from
                    .or_else(|| self.folders.get(process).cloned())
                    .unwrap_or_else(|| self.folder.clone());
                found.push(if path.starts_with('/') { path } else { format!("{from}/{path}") });
                rest = &text[end + 1..];
            } else {
                let end = rest.find(", ").unwrap_or(rest.len());
                folder = decorated(&rest[..end]).map(unescaped);
                if let (Some(folder), true) = (&folder, rest.starts_with("AT_FDCWD")) {
                    self.folders.insert(process.to_owned(), folder.clone());
                }
                rest = &rest[end..];
            }
            if rest.is_empty() {
                break;
            }
        }
        // Without a path, the call concerns the open file itself.
        if found.is_empty() {
            folder.or_else(|| decorated(arguments).map(unescaped)).into_iter().collect()
        } else {
            found
        }
    }

    fn note(&mut self, path: &str, what: PathUse) {
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/').filter(|part| !["", "."].contains(part)) {
            match part {
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        let path = format!("/{}", parts.join("/"));
        let inside = match path.strip_prefix(&self.root) {
            Some("") => ".",
            Some(rest) => match rest.strip_prefix('/') {
                Some(rest) => rest,
                None => return,
            },
            None => return,
        };
        let known = self.paths.entry(inside.to_owned()).or_insert(what);
        // What the command wrote, or missed before, it may read afterwards.
        if ![PathUse::Written, PathUse::Missed].contains(known) && what != PathUse::Written {
            *known = (*known).max(what);
        }
    }
}

/// Returns the path that strace shows for a file number, such as `3</home/a.py>`.
fn decorated(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('<')?;
    let (path, _) = rest.rsplit_once('>')?;
    path.starts_with('/').then_some(path)
}

/// Reads the escapes of a path as strace writes them.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let mut number = None;
        for _ in 0..3 {
            let Some(digit) = rest.next_if(|it| (b'0'..b'8').contains(it)) else { break };
            number = Some(number.unwrap_or(0_u32) * 8 + u32::from(digit - b'0'));
        }
        match number {
            Some(number) => bytes.push(u8::try_from(number).unwrap_or(b'?')),
            None => match rest.next() {
                Some(b'n') => bytes.push(b'\n'),
                Some(b't') => bytes.push(b'\t'),
                Some(b'r') => bytes.push(b'\r'),
                Some(b'v') => bytes.push(0x0b),
                Some(b'f') => bytes.push(0x0c),
                Some(other) => bytes.push(other),
                None => {}
            },
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_names_what_is_read_listed_missed_and_written_of_a_project() {
        let mut trace = Trace { root: "/p".into(), folder: "/p/src".into(), ..Trace::default() };
        for line in [
            r#"7 execve("./run.sh", ["./run.sh", "\"a"], 0x55 /* 35 vars */) = 0"#,
            r#"7 openat(AT_FDCWD</p/src>, "../data/\303\244 \"b\".csv", O_RDONLY <unfinished ...>"#,
            r#"8 access("missed", F_OK) = -1 ENOENT (No such file or directory)"#,
            r#"7 <... openat resumed>) = 3</p/data/\303\244 "b".csv>"#,
            r#"7 openat(AT_FDCWD</p/src>, "link", O_RDONLY) = 4</p/to>"#,
            r#"7 getdents64(5</p>, 0x55 /* 7 entries */, 32768) = 216"#,
            r#"7 openat(AT_FDCWD</p/src>, "out", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 5</p/src/out>"#,
            r#"7 openat(AT_FDCWD</p/src>, "out", O_RDONLY) = 5</p/src/out>"#,
            r#"7 chdir("/p/sub") = 0"#,
            r#"7 vfork( <unfinished ...>"#,
            r#"7 <... vfork resumed>) = 9"#,
            r#"9 stat("size", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0"#,
            r#"9 newfstatat(6</p/sub>, "deep", {st_mode=S_IFDIR|0755, ...}, 0) = 0"#,
            r#"9 newfstatat(6</p/sub/own>, "", {st_mode=S_IFREG|0755, ...}, AT_EMPTY_PATH) = 0"#,
            r#"9 rename("new", "../renamed") = 0"#,
            r#"9 openat(AT_FDCWD</p/sub>, "/etc/passwd", O_RDONLY) = 3</etc/passwd>"#,
            r#"9 openat(AT_FDCWD</p/sub>, "secret", O_RDONLY) = -1 EACCES (Permission denied)"#,
            "+++ exited with 0 +++",
            "",
        ] {
            trace.add(line);
        }
        let found = trace.paths.iter().map(|(path, what)| format!("{path} {what:?}")).collect::<Vec<_>>();
        let expected = [
            ". Listed",
            "data/ä \"b\".csv Read",
            "renamed Written",
            "src/link Read",
            "src/missed Missed",
            "src/out Written",
            "src/run.sh Read",
            "sub/deep Seen",
            "sub/own Seen",
            "sub/size Seen",
            "to Read",
        ];
        assert_eq!(found, expected);
    }
}
