//! Finds out which paths a command reads, lists, and looks for in vain, with strace. Only Linux has it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, pipe};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::{self, JoinHandle};

use super::capture::program_file;
use super::expect::Expected;
use crate::assess::inputs::{PathUse, covers};
use crate::base::platform;

/// The maximum number of paths in the project that a trace remembers.
const PATHS_MAX: usize = 20_000;
/// The maximum length of a line of a trace, in bytes. A longer one has many arguments, which follow the path.
const LINE_MAX: u64 = 64 << 10;
const UNTOLD: &str = "the trace does not tell all that the command read: name its inputs with --input";

/// What a command did with the paths of the project, which are relative to its root, or why the trace does not tell all, for people.
pub type TracedPaths = Result<BTreeMap<String, PathUse>, String>;

/// The options of strace, but for the file that it writes.
const OPTIONS: [&str; 10] = ["-f", "--seccomp-bpf", "-qq", "-y", "-s", "0", "-e", "signal=none", "-e", CALLS];
/// The calls that name files, and those that make a trace incomplete.
const CALLS: &str = "trace=%file,%process,getdents,getdents64,fchdir,connect,io_uring_setup,chroot,mount,unshare,setns,pivot_root";

/// A trace that is being written.
pub struct Tracer {
    pipe: PipeWriter,
    reader: JoinHandle<TracedPaths>,
}

impl Tracer {
    /// Prepares the trace of a command in a folder of a project. `others` are the project's other work trees: nothing is known of a
    /// command that reads them, too.
    ///
    /// # Errors
    ///
    /// Returns the reason, for people, if the command can't be traced.
    pub fn new(
        (root, others): (&Path, &[PathBuf]),
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
        let failed = |error: std::io::Error| format!("no trace can be read: {error}");
        let (mut trial, tried) = pipe().map_err(failed)?;
        let mut strace = platform::command("strace", folder);
        strace.args(OPTIONS).arg("-o").arg(platform::path_of_pipe(&tried)).args(["--", "true"]);
        let output = strace.stdin(Stdio::null()).output();
        drop(tried);
        let mut traced = String::new();
        let is_read = trial.read_to_string(&mut traced).is_ok() && traced.contains("execve");
        match output {
            Ok(output) if output.status.success() && is_read => {}
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                return Err(format!(
                    "strace does not work here: {}",
                    said.lines().next().unwrap_or("it printed nothing")
                ));
            }
            Err(error) => return Err(format!("strace can't be started; only Linux has it ({error})")),
        }
        let (reader, pipe) = pipe().map_err(failed)?;
        let real = |path: &Path| real(path).to_string_lossy().into_owned();
        let others = others.iter().map(|other| real(other)).collect();
        let mut trace = Trace { root: real(root), others, folder: real(folder), ..Trace::default() };
        // What an inherited file number reads is in no call that names a file.
        let inherited = platform::inherited_files();
        trace.is_incomplete = inherited.iter().any(|file| {
            let file = file.to_string_lossy();
            trace.others.iter().chain([&trace.root]).any(|root| below(root, &file).is_some())
        });
        let reader = thread::Builder::new().spawn(move || trace.read(reader)).map_err(failed)?;
        Ok(Tracer { pipe, reader })
    }

    /// Returns the program and arguments that start the command.
    pub(super) fn starter(&self) -> Vec<OsString> {
        let options = ["strace"].into_iter().chain(OPTIONS).chain(["-o"]).map(OsString::from);
        options.chain([platform::path_of_pipe(&self.pipe).into(), "--".into()]).collect()
    }

    /// Returns what the command used, once it has ended.
    pub(super) fn finish(self) -> TracedPaths {
        drop(self.pipe);
        self.reader.join().unwrap_or_else(|_| Err(UNTOLD.to_owned()))
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns an absolute path relative to a root. `None` if it is not below.
fn below(root: &str, path: &str) -> Option<String> {
    match path.strip_prefix(root)? {
        "" => Some(".".to_owned()),
        rest => rest.strip_prefix('/').map(str::to_owned),
    }
}

/// A trace as far as it was read.
#[derive(Default)]
struct Trace {
    root: String,
    others: Vec<String>,
    /// The working folder in which the command starts.
    folder: String,
    /// The working folder of each process, if it is another one.
    folders: HashMap<String, String>,
    /// The beginnings of calls that another process interrupted.
    unfinished: HashMap<String, String>,
    /// Where folders outside the project lead, because a link may lead into it.
    outside: HashMap<String, String>,
    paths: BTreeMap<String, PathUse>,
    /// The folders of the project that the command created, with all that it put there.
    made: BTreeSet<String>,
    has_started: bool,
    /// True if the trace does not tell all that the command read.
    is_incomplete: bool,
    /// A program that lacked its rights under the trace.
    restricted: Option<String>,
}

impl Trace {
    fn read(mut self, pipe: PipeReader) -> TracedPaths {
        let mut lines = BufReader::new(pipe);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut lines).take(LINE_MAX).read_until(b'\n', &mut line) {
                Ok(0) => break,
                // All is read, so that the command does not wait.
                Ok(_) if self.is_incomplete => {}
                Ok(_) if line.ends_with(b"\n") && self.paths.len() <= PATHS_MAX => {
                    self.is_incomplete |= self.add(&String::from_utf8_lossy(&line)).is_none();
                }
                Ok(_) | Err(_) => self.is_incomplete = true,
            }
        }
        match self.restricted {
            Some(program) => Err(format!(
                "{program} runs with the rights of another user, which a trace takes away: the output may be another without --trace"
            )),
            None if self.has_started && !self.is_incomplete => Ok(self.paths),
            None => Err(UNTOLD.to_owned()),
        }
    }

    /// Adds a line such as `17 openat(AT_FDCWD</home>, "a.py", O_RDONLY) = 3</home/a.py>`. Returns `None` if what the command read
    /// is not known from it.
    fn add(&mut self, line: &str) -> Option<()> {
        let (process, rest) = line.trim_end().split_once(' ')?;
        let rest = rest.trim_start();
        if rest.starts_with("+++") {
            self.folders.remove(process);
        }
        if rest.starts_with("+++") || rest.starts_with("---") {
            return Some(());
        }
        if let Some(begun) = rest.strip_suffix("<unfinished ...>") {
            self.unfinished.insert(process.to_owned(), begun.trim_end().to_owned());
            return Some(());
        }
        let whole = match rest.strip_prefix("<... ") {
            Some(rest) => {
                let (_, rest) = rest.split_once(" resumed>")?;
                // The process was killed, or forked, before its call was seen.
                self.unfinished.remove(process).unwrap_or_default() + rest
            }
            None => rest.to_owned(),
        };
        let (name, rest) = whole.split_once('(')?;
        let is_result = |at: &usize| rest[at + 1..].trim_start().starts_with("= ");
        let (mut is_text, mut is_escaped) = (false, false);
        let outside = rest.char_indices().filter(|(_, c)| {
            is_text ^= *c == '"' && !is_escaped;
            is_escaped = *c == '\\' && !is_escaped;
            !is_text
        });
        let end = outside.filter(|(_, c)| *c == ')').map(|(at, _)| at).find(is_result)?;
        let arguments = &rest[..end];
        let result = rest[end + 1..].trim_start().strip_prefix("= ")?;
        let is_missing = result.starts_with("-1 ENOENT") || result.starts_with("-1 ENOTDIR");
        // What failed otherwise is there. A killed process got no answer.
        let has_failed = result.starts_with('-') || result.starts_with('?');
        let (paths, rest) = self.arguments(process, arguments)?;
        let first = |what| if is_missing { PathUse::Missed } else { what };
        match name {
            "chdir" | "fchdir" => {
                let folder = paths.first()?;
                self.note(folder, first(PathUse::Seen))?;
                if !has_failed {
                    self.folders.insert(process.to_owned(), folder.clone());
                }
            }
            "clone" | "clone3" | "fork" | "vfork" => {
                let is_apart = arguments.contains("CLONE_NEWNS");
                if let Some(folder) = self.folders.get(process).cloned() {
                    // The child may have gone elsewhere before its parent went on.
                    let child = result.trim().to_owned();
                    self.folders.entry(child).or_insert(folder);
                }
                return (!is_apart).then_some(());
            }
            // Another process may read for this one, or elsewhere. The system's own services don't read a project.
            "connect" => {
                let is_service = |path: &String| {
                    let path = path.strip_prefix("/var").unwrap_or(path);
                    ["/run/nscd/", "/run/systemd/", "/run/dbus/"].iter().any(|it| path.starts_with(it))
                };
                let is_here = arguments.contains("\"127.") || arguments.contains("\"::1\"");
                let is_other = match arguments.contains("AF_UNIX") {
                    true => !paths.iter().all(is_service),
                    // A machine may look up names at itself.
                    false => is_here && !arguments.contains("htons(53)"),
                };
                return (!is_other).then_some(());
            }
            "io_uring_setup" | "chroot" | "mount" | "unshare" | "setns" | "pivot_root" => {
                return has_failed.then_some(());
            }
            "getdents" | "getdents64" => self.note(paths.first()?, PathUse::Listed)?,
            "open" | "openat" | "openat2" | "creat" => {
                let is_written = name == "creat" || rest.contains("O_TRUNC") || rest.contains("O_EXCL");
                let what = match (has_failed, is_written) {
                    (true, _) => first(PathUse::Seen),
                    (false, true) => PathUse::Written,
                    (false, false) => PathUse::Read,
                };
                let to = (!has_failed).then(|| decorated(result).map(unescaped)).flatten();
                for path in paths.iter().chain(&to) {
                    self.note(path, what)?;
                }
            }
            "execve" | "execveat" => {
                self.has_started |= !has_failed;
                let program = paths.first()?;
                self.note(program, if has_failed { first(PathUse::Seen) } else { PathUse::Read })?;
                if !has_failed {
                    if platform::runs_as_its_owner(Path::new(program)) {
                        self.restricted = Some(plain(program));
                    }
                    self.note(&real(Path::new(program)).to_string_lossy(), PathUse::Read)?;
                }
            }
            "renameat2" if !has_failed && rest.contains("RENAME_EXCHANGE") => return None,
            "rename" | "renameat" | "renameat2" | "link" | "linkat" if !has_failed => {
                let [from, to] = [paths.first()?, paths.get(1)?];
                self.note(from, PathUse::Read)?;
                self.note(to, PathUse::Written)?;
                let [from, to] = [self.inside(from), self.inside(to)];
                match (from, to) {
                    (Some(from), Some(to)) if self.is_made(&from) => drop(self.made.insert(to)),
                    // What was there before may lie in it now.
                    (_, Some(to)) => self.made.retain(|folder| !covers(folder, &to)),
                    _ => {}
                }
            }
            // The first path is only stored.
            "symlink" | "symlinkat" if !has_failed => {
                self.note(paths.get(1)?, PathUse::Written)?;
                let to = self.inside(paths.get(1)?);
                self.made.retain(|folder| to.as_ref().is_none_or(|to| !covers(folder, to)));
            }
            "mkdir" | "mkdirat" if !has_failed => {
                self.note(paths.first()?, PathUse::Written)?;
                let folder = self.inside(paths.first()?);
                self.made.extend(folder);
            }
            "mknod" | "mknodat" if !has_failed => self.note(paths.first()?, PathUse::Written)?,
            // The second path is the answer.
            "readlink" | "readlinkat" => self.note(paths.first()?, first(PathUse::Seen))?,
            "wait4" | "waitid" | "exit_group" | "exit" | "kill" | "tgkill" | "tkill" => {}
            _ => {
                for path in &paths {
                    self.note(path, first(PathUse::Seen))?;
                }
            }
        }
        Some(())
    }

    /// Returns the absolute paths among the arguments of a call, and what follows the last one. A relative path follows the folder
    /// that it is relative to.
    fn arguments<'l>(&mut self, process: &str, arguments: &'l str) -> Option<(Vec<String>, &'l str)> {
        let mut found = Vec::new();
        let mut folder: Option<String> = None;
        let (mut rest, mut after) = (arguments, arguments);
        while !rest.is_empty() {
            if let Some(text) = rest.strip_prefix('"') {
                let mut is_escaped = false;
                let end = text.char_indices().find(|(_, c)| {
                    let is_end = *c == '"' && !is_escaped;
                    is_escaped = *c == '\\' && !is_escaped;
                    is_end
                });
                let (end, _) = end?;
                let path = unescaped(&text[..end]);
                let from = folder.take();
                found.push(match path.as_str() {
                    path if path.starts_with('/') => path.to_owned(),
                    // The call concerns the open file itself.
                    "" => from.or_else(|| self.folder_of(process))?,
                    path => format!("{}/{path}", from.or_else(|| self.folder_of(process))?),
                });
                (rest, after) = (&text[end + 1..], &text[end + 1..]);
            } else {
                let end = rest.find([',', '"', '<']).unwrap_or(rest.len());
                match &rest[end..] {
                    number if number.starts_with('<') => {
                        // The path of a file number ends before the next argument.
                        let close = number.match_indices('>').map(|(at, _)| at);
                        let mut close = close
                            .filter(|at| number[at + 1..].is_empty() || number[at + 1..].starts_with(','));
                        let close = close.next().unwrap_or(number.len() - 1);
                        folder = Some(unescaped(&number[1..close])).filter(|path| path.starts_with('/'));
                        if let (Some(folder), true) = (&folder, rest.trim_start().starts_with("AT_FDCWD")) {
                            self.folders.insert(process.to_owned(), folder.clone());
                        }
                        rest = &number[close + 1..];
                    }
                    text if text.starts_with('"') => rest = text,
                    other => rest = other.get(1..).unwrap_or_default(),
                }
            }
        }
        if found.is_empty() {
            found.extend(folder);
        }
        Some((found, after))
    }

    /// Returns the working folder of a process. A new one is in that of the process that is about to start it.
    fn folder_of(&self, process: &str) -> Option<String> {
        let of = |process: &str| self.folders.get(process).unwrap_or(&self.folder).clone();
        if !self.has_started || self.folders.contains_key(process) {
            return Some(of(process));
        }
        let starts = |call: &str| ["clone", "fork", "vfork"].iter().any(|it| call.starts_with(it));
        let starting = self.unfinished.iter().filter(|(_, call)| starts(call));
        let folders: BTreeSet<String> = starting.map(|(process, _)| of(process)).collect();
        // No process has left the first folder, or all that may have started this one are in the same.
        let all: BTreeSet<String> = self.folders.values().chain([&self.folder]).cloned().collect();
        [folders, all].into_iter().find(|it| it.len() == 1)?.pop_first()
    }

    /// Notes what the command did with a path. Returns `None` if it may be one of the project that can't be named.
    fn note(&mut self, path: &str, what: PathUse) -> Option<()> {
        let Some(inside) = self.inside(path) else {
            let path = plain(path);
            // A program looks for its files in the folders above, too.
            let is_above = what <= PathUse::Seen && below(&path, &self.root).is_some();
            let is_other = what != PathUse::Missed && !is_above;
            return (!(is_other && self.others.iter().any(|it| below(it, &path).is_some()))).then_some(());
        };
        if inside.contains('\u{fffd}') {
            return None;
        }
        if self.is_made(&inside) {
            return Some(());
        }
        let known = self.paths.entry(inside).or_insert(what);
        match (*known, what) {
            (PathUse::Missed, PathUse::Written) => *known = PathUse::Made,
            // What the command wrote, or missed before, it may read afterwards.
            (PathUse::Written | PathUse::Missed | PathUse::Made, _) | (_, PathUse::Written) => {}
            _ => *known = (*known).max(what),
        }
        Some(())
    }

    /// Returns a path relative to the root. `None` if it is not in the project.
    fn inside(&mut self, path: &str) -> Option<String> {
        let path = plain(path);
        below(&self.root, &path).or_else(|| {
            let (folder, name) = path.rsplit_once('/')?;
            let outside = &mut self.outside;
            let to = outside
                .entry(folder.to_owned())
                .or_insert_with_key(|folder| real(Path::new(folder)).to_string_lossy().into_owned());
            below(&self.root, &format!("{to}/{name}"))
        })
    }

    /// Returns whether the command created a folder of the project, or one above a path.
    fn is_made(&self, path: &str) -> bool {
        let mut above = path.match_indices('/').map(|(at, _)| &path[..at]).chain([path]);
        above.any(|it| self.made.contains(it))
    }
}

/// Returns an absolute path without `.` and `..`.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !["", "."].contains(part)) {
        match part {
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
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

    fn traced(lines: &[&str]) -> TracedPaths {
        let mut trace = Trace { root: "/p".into(), folder: "/p/src".into(), ..Trace::default() };
        trace.others = vec!["/original".into()];
        let all = lines.iter().all(|line| trace.add(line).is_some());
        if all { Ok(trace.paths) } else { Err(String::new()) }
    }

    #[test]
    fn a_trace_names_what_is_read_listed_missed_and_written_of_a_project() {
        let found = traced(&[
            r#"7 execve("./run.sh", ["./run.sh", "\"a"], 0x55 /* 35 vars */) = 0"#,
            r#"7 openat(AT_FDCWD</p/src>, "../data/\303\244 \"b\".csv", O_RDONLY <unfinished ...>"#,
            r#"8 access("missed", F_OK) = -1 ENOENT (No such file or directory)"#,
            r#"7 <... openat resumed>) = 3</p/data/\303\244 "b".csv>"#,
            r#"7 openat(AT_FDCWD</p/src>, "link", O_RDONLY) = 4</p/to>"#,
            r#"7 getdents64(5</p>, 0x55 /* 7 entries */, 32768) = 216"#,
            r#"7 openat(AT_FDCWD</p/src>, "out", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 5</p/src/out>"#,
            r#"7 openat(AT_FDCWD</p/src>, "out", O_RDONLY) = 5</p/src/out>"#,
            r#"7 chdir("gone") = -1 ENOENT (No such file or directory)"#,
            r#"7 chdir("/p/sub") = 0"#,
            r#"7 vfork( <unfinished ...>"#,
            r#"7 <... vfork resumed>) = 9"#,
            r#"9 stat("size", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0"#,
            r#"9 newfstatat(6</p/sub>, "deep", {st_mode=S_IFDIR|0755, ...}, 0) = 0"#,
            r#"9 newfstatat(6</p/sub/own>, "", {st_mode=S_IFREG|0755, ...}, AT_EMPTY_PATH) = 0"#,
            r#"9 rename("new", "../renamed") = 0"#,
            r#"9 openat(AT_FDCWD</p/sub>, "/etc/passwd", O_RDONLY) = 3</etc/passwd>"#,
            r#"9 openat(AT_FDCWD</p/sub>, "secret", O_RDONLY) = -1 EACCES (Permission denied)"#,
            r#"9 openat(AT_FDCWD</p/sub>, "ENOENT O_EXCL) = -1", O_RDONLY) = 3</p/sub/ENOENT O_EXCL) = -1>"#,
            r#"9 unlink("old") = 0"#,
            r#"9 stat("cache", 0x55) = -1 ENOENT (No such file or directory)"#,
            r#"9 mkdir("temporary", 0777) = 0"#,
            r#"9 openat(AT_FDCWD</p/sub>, "temporary/lock", O_RDWR|O_CREAT, 0666) = 3</p/sub/temporary/lock>"#,
            r#"9 rename("temporary", "cache") = 0"#,
            r#"9 openat(AT_FDCWD</p/sub>, "cache/lock", O_RDONLY) = 3</p/sub/cache/lock>"#,
            "7 +++ exited with 0 +++",
        ]);
        let found = found.unwrap();
        let found = found.iter().map(|(path, what)| format!("{path} {what:?}")).collect::<Vec<_>>();
        let expected = [
            ". Listed",
            "data/ä \"b\".csv Read",
            "renamed Written",
            "src/gone Missed",
            "src/link Read",
            "src/missed Missed",
            "src/out Written",
            "src/run.sh Read",
            "sub Seen",
            "sub/ENOENT O_EXCL) = -1 Read",
            "sub/cache Made",
            "sub/deep Seen",
            "sub/new Read",
            "sub/old Seen",
            "sub/own Seen",
            "sub/secret Seen",
            "sub/size Seen",
            "sub/temporary Written",
            "to Read",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_trace_that_does_not_tell_all_is_none() {
        for line in [
            r#"7 connect(3, {sa_family=AF_UNIX, sun_path="/tmp/daemon"}, 110) = 0"#,
            r#"7 connect(3, {sa_family=AF_UNIX, sun_path="/run/docker.sock"}, 110) = 0"#,
            r#"7 connect(3, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")}, 16) = 0"#,
            r#"7 io_uring_setup(8, {flags=0}) = 3"#,
            r#"7 openat(AT_FDCWD</p>, "caf\351", O_RDONLY) = 3</p/caf\351>"#,
            r#"7 openat(AT_FDCWD</p>, "/original/a", O_RDONLY) = 3</original/a>"#,
            r#"7 openat(AT_FDCWD</p>, "a", O_RD"#,
            "strace: something",
            "",
        ] {
            assert!(traced(&[line]).is_err(), "{line}");
        }
        let harmless = r#"7 connect(3, {sa_family=AF_UNIX, sun_path="/run/nscd/socket"}, 110) = -1 ENOENT (No such file)"#;
        assert_eq!(traced(&[harmless]), Ok(BTreeMap::new()));
    }
}
