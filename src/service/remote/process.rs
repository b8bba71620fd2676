//! Runs git as a child process, isolated from repositories in the environment, with time and output limits.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::place::without_credentials;
use super::{RemoteError, Result, Settings};
use crate::base::platform;
use crate::text::{shorten, visible};

/// The minimum git version, needed to list only the files in commits (2.32) and to fetch without writing `FETCH_HEAD`
/// (2.29).
pub const LEAST_VERSION: &str = "2.32";

/// The time limits for a local git call and for one exchange with a remote.
const LOCAL: Duration = Duration::from_secs(120);
const EXCHANGE: Duration = Duration::from_secs(1_800);
/// The time between asking git to exit and killing it.
const TO_END: Duration = Duration::from_secs(2);
/// The maximum wait for remaining output after git has ended. A child of git may keep the pipe open longer.
const REST: Duration = Duration::from_secs(1);
/// The intervals for polling the child: short at first, because most calls take milliseconds.
const PAUSES: [Duration; 3] = [Duration::from_millis(1), Duration::from_millis(5), Duration::from_millis(20)];

/// The maximum number of bytes to read from git's output, and to keep from its standard error.
const MAX_OUTPUT: usize = 256 << 20;
const KEPT_ERRORS: usize = 64 << 10;
/// The maximum number of lines and bytes in an error message.
const SHOWN_LINES: usize = 12;
const SHOWN_BYTES: usize = 2_000;

/// The settings for every call, which override the configuration.
const SETTINGS: [&str; 7] = [
    "protocol.ext.allow=never",
    "transfer.fsckObjects=true",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "fetch.pruneTags=false",
    "fetch.writeCommitGraph=false",
    // Otherwise `git log` starts the program that checks signatures.
    "log.showSignature=false",
];
/// Additional settings for every call except [`GitProgram::maintain`], since nobody waits for it.
const NO_UPKEEP: [&str; 2] = ["gc.auto=0", "maintenance.auto=false"];
/// The setting through which [`GitProgram::maintain`] passes the folders to git.
const FOLDERS: &str = "tot.maintained";

/// The user's git program.
#[derive(Clone, Debug)]
pub struct GitProgram {
    /// True if a person can be asked for a password.
    person: bool,
    exchange: Duration,
    deadline: Deadline,
    /// The cached configuration of each folder.
    settings: Arc<Mutex<BTreeMap<PathBuf, Arc<Settings>>>>,
}

/// The output of `git version`, which is read once per process.
static VERSION: OnceLock<String> = OnceLock::new();

/// The time at which all running calls are ended. No call starts after it. Clones share the deadline.
#[derive(Clone, Debug, Default)]
pub struct Deadline(Arc<Mutex<Option<Instant>>>);

impl Deadline {
    /// Sets the deadline to `from_now` in the future, unless an earlier deadline is set.
    pub fn set(&self, from_now: Duration) {
        let (at, mut set) =
            (Instant::now() + from_now, self.0.lock().unwrap_or_else(PoisonError::into_inner));
        *set = Some(set.map_or(at, |before| before.min(at)));
    }

    fn is_over(&self) -> bool {
        let set = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        set.is_some_and(|at| at <= Instant::now())
    }
}

/// The properties of a git call other than its arguments.
#[derive(Default)]
pub(super) struct GitCall<'a> {
    /// A description for errors, such as `fetch from origin`. If empty, errors name git and the subcommand.
    pub what: &'a str,
    /// The standard input; empty if `None`.
    pub input: Option<Vec<u8>>,
    /// The index file, if it is not the repository's own.
    pub index: Option<&'a Path>,
    /// The folder for temporary files, if not the system's.
    pub temporary: Option<&'a Path>,
    /// Variables for git, each with its value.
    pub variables: Vec<(&'static str, String)>,
    /// True if the call contacts a remote.
    pub exchange: bool,
    /// True if the call may prompt for the passphrase of a key.
    pub asks: bool,
    /// The hook that the call may run, from a folder that the user has chosen.
    pub hook: Option<&'a str>,
    /// True in the user's own project, whose settings are the user's own.
    pub is_project: bool,
    /// True if git must not read a repository.
    pub is_outside: bool,
    /// True if the call may start repository maintenance.
    pub upkeep: bool,
    /// The maximum number of bytes of output, if below the usual limit.
    pub most: Option<usize>,
}

/// The result of a git call.
pub(super) struct GitOutput {
    /// The description of the call.
    pub what: String,
    /// The exit status, or `None` if a signal ended git.
    pub status: Option<i32>,
    pub output: Vec<u8>,
    /// The standard error, cleaned for display.
    pub said: String,
    /// The raw standard error.
    pub errors: String,
}

impl GitOutput {
    /// Returns the output as text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    /// Adds what a hook printed before what git said.
    pub(super) fn after(self, hook: &str) -> GitOutput {
        let both = [hook, &self.said].into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>();
        GitOutput { said: both.join("\n"), ..self }
    }

    /// Returns the output, or an error if git failed.
    pub(super) fn succeeded(self) -> Result<GitOutput> {
        let said = match self.status {
            Some(0) => return Ok(self),
            _ if !self.said.is_empty() => self.said,
            Some(status) => format!("git ended with status {status}"),
            None => "git was stopped".to_owned(),
        };
        Err(RemoteError::Failed { what: self.what, said })
    }

    /// Returns the error for an answer that cannot be read.
    pub(super) fn unreadable(&self, answer: &str) -> RemoteError {
        RemoteError::Unreadable { what: self.what.clone(), answer: shorten(answer, 80) }
    }
}

impl GitProgram {
    /// Finds git on the `PATH`. `person` is true if a person at a terminal can be asked for a password.
    ///
    /// # Errors
    ///
    /// Returns an error if git is missing or too old.
    pub fn find(person: bool) -> Result<GitProgram> {
        let (deadline, settings) = Default::default();
        let git = GitProgram { person, exchange: EXCHANGE, deadline, settings };
        git.version().map(|_| git)
    }

    /// Returns the version that git reports.
    ///
    /// # Errors
    ///
    /// Returns an error if git is missing or too old.
    pub fn version(&self) -> Result<&'static str> {
        if let Some(known) = VERSION.get() {
            return Ok(known);
        }
        let text = self.start(Path::new("."), &["version"], GitCall::default(), &[])?.succeeded()?.text();
        let found = clean(text.trim().trim_start_matches("git version "));
        match version(&found) >= version(LEAST_VERSION) {
            true => Ok(VERSION.get_or_init(|| found)),
            false => Err(RemoteError::TooOld { found }),
        }
    }

    /// Returns a copy that rereads configurations.
    pub fn anew(&self) -> GitProgram {
        GitProgram { settings: Arc::default(), ..self.clone() }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<Settings>>> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the time limit for one exchange with a remote.
    pub fn with_limit(self, exchange: Duration) -> GitProgram {
        GitProgram { exchange, ..self }
    }

    /// Sets the deadline at which every call is ended.
    pub fn until(self, deadline: Deadline) -> GitProgram {
        GitProgram { deadline, ..self }
    }

    /// Starts git maintenance for the given repositories, one after another, if git considers it necessary. Returns at
    /// once. The maintenance continues after this process ends.
    ///
    /// # Errors
    ///
    /// Returns an error if git can't be started.
    pub fn maintain(&self, folders: &[PathBuf]) -> Result<()> {
        // Users can prevent maintenance with the `pre-auto-gc` hook.
        let call = GitCall { hook: Some("pre-auto-gc"), upkeep: true, ..GitCall::default() };
        let allowed = |folder: &PathBuf| Some((folder.clone(), self.restrictions(folder, &call).ok()?));
        let folders: Vec<(PathBuf, _)> = folders.iter().filter_map(allowed).collect();
        let Some((first, settings)) = folders.first() else { return Ok(()) };
        let mut command = self.command(first, &call, settings);
        for (folder, _) in &folders {
            let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
            let mut setting = OsString::from(format!("{FOLDERS}="));
            setting.push(folder);
            command.arg("-c").arg(setting);
        }
        command.arg("for-each-repo").arg(format!("--config={FOLDERS}"));
        command.args(["maintenance", "run", "--auto", "--quiet"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        // In its own process group, maintenance does not receive signals sent to this process's group.
        platform::begin_group(&mut command);
        let mut child = command.spawn().map_err(RemoteError::NoGit)?;
        // A thread must wait for the child. If no thread can be started, the child remains a zombie.
        let _ = thread::Builder::new().spawn(move || child.wait());
        Ok(())
    }

    /// Runs git in the given folder, without input and without contacting a remote.
    pub(super) fn here(&self, folder: &Path, arguments: &[&str]) -> Result<GitOutput> {
        self.run(folder, arguments, GitCall::default())
    }

    /// Runs git in the given folder.
    pub(super) fn run(
        &self,
        folder: &Path,
        arguments: &[impl AsRef<str>],
        call: GitCall<'_>,
    ) -> Result<GitOutput> {
        let settings = if call.is_project { Vec::new() } else { self.restrictions(folder, &call)? };
        self.start(folder, arguments, call, &settings)
    }

    /// Runs git with these settings, which take precedence over those in files.
    pub(super) fn start(
        &self,
        folder: &Path,
        arguments: &[impl AsRef<str>],
        call: GitCall<'_>,
        settings: &[(String, String)],
    ) -> Result<GitOutput> {
        let what = match call.what {
            "" => format!("git {}", subcommand(arguments)),
            what => what.to_owned(),
        };
        let mut command = self.command(folder, &call, settings);
        if call.exchange && !self.person && !self.has_ssh_command(folder) {
            command.env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes");
        }
        command.args(arguments.iter().map(AsRef::as_ref));
        let asks = self.person && (call.exchange || call.asks);
        let limit = match (asks, call.exchange) {
            (true, _) => None,
            (false, true) => Some(self.exchange),
            (false, false) => Some(LOCAL),
        };
        // In a separate process group, git could not prompt for a password.
        let is_group = !asks;
        let most = call.most.unwrap_or(MAX_OUTPUT);
        run(command, what, call.input, limit, &self.deadline, most, is_group)
    }

    /// Returns whether the user has configured an ssh command, which takes precedence.
    fn has_ssh_command(&self, folder: &Path) -> bool {
        ["GIT_SSH_COMMAND", "GIT_SSH"].iter().any(|name| std::env::var_os(name).is_some())
            || self.settings(folder).is_ok_and(|settings| settings.last("core.sshcommand").is_some())
    }

    fn command(&self, folder: &Path, call: &GitCall<'_>, settings: &[(String, String)]) -> Command {
        let mut command = platform::command("git", folder);
        command.env("LC_ALL", "C").env("LANGUAGE", "").env("GIT_ADVICE", "0");
        // gix reads only these formats. Older git versions ignore the variables.
        command.env("GIT_DEFAULT_HASH", "sha1").env("GIT_DEFAULT_REF_FORMAT", "files");
        if let Some(index) = call.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if let Some(folder) = call.temporary {
            command.env("TMPDIR", folder);
        }
        match call.is_outside {
            true => command.env("GIT_DIR", "/dev/null"),
            // Nobody could answer in an editor.
            false => command.env("GIT_EDITOR", ":").env("GIT_SEQUENCE_EDITOR", ":"),
        };
        // An id must refer to the object stored under it, not to a replacement created by `git replace`.
        command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_GRAFT_FILE", "/dev/null");
        let no_upkeep = NO_UPKEEP.iter().filter(|_| !call.upkeep);
        for setting in SETTINGS.iter().chain(no_upkeep) {
            command.args(["-c", setting]);
        }
        // In an investigation, a commit-graph hardly saves time, and a damaged one must not stop anything.
        if !call.is_project {
            command.args(["-c", "core.commitGraph=false"]);
        }
        if call.hook.is_none() {
            command.args(["-c", "core.hooksPath=/dev/null"]);
        }
        // A key may contain `=`, so `-c` does not fit.
        let given = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(0);
        for (number, (key, value)) in (given..).zip(settings) {
            command.env(format!("GIT_CONFIG_KEY_{number}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
            command.env("GIT_CONFIG_COUNT", format!("{}", number + 1));
        }
        if !self.person {
            command.args(["-c", "credential.interactive=false"]);
            command.env("GIT_TERMINAL_PROMPT", "0").env("SSH_ASKPASS_REQUIRE", "never");
        }
        command.envs(call.variables.iter().map(|(name, value)| (name, value)));
        let input = if call.input.is_some() { Stdio::piped() } else { Stdio::null() };
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// Returns the subcommand in git's arguments: the first word that is neither an option nor the value of `-c`.
fn subcommand(arguments: &[impl AsRef<str>]) -> &str {
    let mut before = "";
    let mut words = arguments.iter().map(AsRef::as_ref);
    words.find(|it| std::mem::replace(&mut before, *it) != "-c" && !it.starts_with('-')).unwrap_or_default()
}

/// Parses the major and minor version from text like `git version 2.47.3`.
fn version(text: &str) -> Option<(u32, u32)> {
    let word = text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = word.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Runs a program until it ends, the time limit or the deadline. `most` is the maximum size of its output.
fn run(
    mut command: Command,
    what: String,
    input: Option<Vec<u8>>,
    limit: Option<Duration>,
    deadline: &Deadline,
    most: usize,
    is_group: bool,
) -> Result<GitOutput> {
    if deadline.is_over() {
        return Err(RemoteError::Ending { what });
    }
    let io = |source| RemoteError::Io { action: format!("run {what}"), source };
    if is_group {
        platform::begin_group(&mut command);
    }
    let mut child = command.spawn().map_err(|source| match source.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied => RemoteError::NoGit(source),
        _ => io(source),
    })?;
    let (output, errors) = match threads(&mut child, input, most) {
        Ok(readers) => readers,
        Err(source) => {
            end(&mut child, is_group);
            return Err(io(source));
        }
    };
    let since = Instant::now();
    let mut pauses = PAUSES.iter().flat_map(|pause| std::iter::repeat_n(*pause, 20));
    let status = loop {
        if let Some(status) = child.try_wait().map_err(io)? {
            break status;
        }
        if let Some(limit) = limit.filter(|limit| since.elapsed() >= *limit) {
            end(&mut child, is_group);
            return Err(RemoteError::TimedOut { what, seconds: limit.as_secs() });
        }
        if deadline.is_over() {
            end(&mut child, is_group);
            return Err(RemoteError::Ending { what });
        }
        thread::sleep(pauses.next().unwrap_or(PAUSES[2]));
    };
    let (output, errors) = (output.rest(), errors.rest());
    if output.len() > most {
        return Err(RemoteError::TooMuch { what });
    }
    let errors = String::from_utf8_lossy(&errors).into_owned();
    Ok(GitOutput { what, status: status.code(), output, said: clean(&errors), errors })
}

/// Starts threads that write the child's input and read its output. Fails if no thread can be started.
fn threads(
    child: &mut Child,
    input: Option<Vec<u8>>,
    most: usize,
) -> std::io::Result<(PipeReader, PipeReader)> {
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
        // If the child ends before reading everything, its status shows that.
        thread::Builder::new().spawn(move || pipe.write_all(&input))?;
    }
    let output = PipeReader::begin(child.stdout.take(), move |kept, new| {
        kept.extend_from_slice(new);
        kept.len() <= most
    })?;
    let errors = PipeReader::begin(child.stderr.take(), |kept, new| {
        kept.extend_from_slice(new);
        if kept.len() > 2 * KEPT_ERRORS {
            kept.drain(..kept.len() - KEPT_ERRORS);
        }
        true
    })?;
    Ok((output, errors))
}

/// Ends the child, first gracefully, so that git can remove its locks.
fn end(child: &mut Child, is_group: bool) {
    if is_group {
        platform::signal_group(child, platform::TERMINATE);
        let since = Instant::now();
        while since.elapsed() < TO_END && matches!(child.try_wait(), Ok(None)) {
            thread::sleep(PAUSES[2]);
        }
        platform::signal_group(child, platform::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The data that a thread reads from a pipe.
struct PipeReader {
    kept: Arc<Mutex<Vec<u8>>>,
    done: Receiver<()>,
}

impl PipeReader {
    /// Reads until `keep` returns false.
    fn begin(
        pipe: Option<impl Read + Send + 'static>,
        keep: impl Fn(&mut Vec<u8>, &[u8]) -> bool + Send + 'static,
    ) -> std::io::Result<PipeReader> {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (sender, done) = mpsc::channel();
        let into = Arc::clone(&kept);
        thread::Builder::new().spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            let Some(mut pipe) = pipe else { return };
            loop {
                match pipe.read(&mut buffer) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => break,
                    Ok(read) => {
                        let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                        if !keep(&mut kept, &buffer[..read]) {
                            break;
                        }
                    }
                }
            }
            let _ = sender.send(());
        })?;
        Ok(PipeReader { kept, done })
    }

    fn rest(self) -> Vec<u8> {
        let _ = self.done.recv_timeout(REST);
        std::mem::take(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Cleans messages from git and the remote for display. Removes control characters, credentials in addresses, progress
/// output and git's advice.
pub(super) fn clean(text: &str) -> String {
    let lines = text.lines().map(|line| line.rsplit('\r').next().unwrap_or_default().trim());
    let is_said = |line: &&str| !line.is_empty() && !line.starts_with("hint:") && *line != "remote:";
    let mut lines: Vec<&str> = lines.filter(is_said).collect();
    let left_out = lines.len().saturating_sub(SHOWN_LINES);
    lines.drain(..left_out);
    let text = without_credentials(&lines.join("\n"));
    let text: String = text.chars().map(|c| if c == '\n' { c } else { visible(c) }).collect();
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= SHOWN_BYTES).unwrap_or(text.len());
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_git_and_its_makers_write_them() {
        for (text, is_new) in [
            ("git version 2.47.3\n", true),
            ("git version 2.39.5 (Apple Git-154)", true),
            ("git version 2.45.1.windows.1", true),
            ("git version 3.0.0-rc1", true),
            ("git version 2.32.0", true),
            ("git version 2.31.9", false),
            ("git version 1.9.1", false),
        ] {
            assert_eq!(version(text) >= version(LEAST_VERSION), is_new, "{text}");
        }
        assert_eq!(version("something else"), None);
    }

    #[test]
    fn errors_keep_the_words_of_the_remote_without_progress_advice_and_controls() {
        let text = "Counting objects: 1\rCounting objects: 2, done.\nremote: \nremote: Not\x1b[31m allowed.\nhint: use --force\n";
        assert_eq!(clean(text), "Counting objects: 2, done.\nremote: Not␛[31m allowed.");
        let long = format!("{}\nfatal: the end", "é\n".repeat(9_000));
        assert!(clean(&long).ends_with("fatal: the end") && clean(&long).len() < 100);
        assert!(clean(&"é".repeat(9_000)).len() <= SHOWN_BYTES + 1);
    }

    #[cfg(unix)]
    #[test]
    fn after_its_time_it_ends_with_all_that_it_started() {
        // The pipe ends when the last process closes its other end.
        let (mut mark, held) = std::io::pipe().unwrap();
        let mut command = platform::command("sh", Path::new("."));
        command.args(["-c", "sleep 600 & wait"]).stdin(held).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (limit, deadline) = (Some(Duration::from_millis(300)), Deadline::default());
        let ran = run(command, "a fetch".to_owned(), None, limit, &deadline, MAX_OUTPUT, true);
        assert!(matches!(ran, Err(RemoteError::TimedOut { .. })));
        assert_eq!(mark.read(&mut [0]).unwrap(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn at_a_deadline_what_runs_ends_and_nothing_begins() {
        let deadline = Deadline::default();
        let sleep = || {
            let mut command = platform::command("sleep", Path::new("."));
            command.arg("600").stdout(Stdio::piped()).stderr(Stdio::piped());
            run(command, "a fetch".to_owned(), None, None, &deadline, MAX_OUTPUT, true)
        };
        thread::scope(|scope| {
            let running = scope.spawn(sleep);
            deadline.set(Duration::from_millis(100));
            deadline.set(Duration::from_secs(600));
            assert!(matches!(running.join().unwrap(), Err(RemoteError::Ending { .. })));
        });
        assert!(matches!(sleep(), Err(RemoteError::Ending { .. })));
    }
}
