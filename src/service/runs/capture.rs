//! Runs a command, forwards its output, and captures the part that will be stored.
//!
//! 1. The command starts, with one thread for each of its output streams: at a terminal in this process's group, so that
//!    it can read the terminal, otherwise in a group of its own.
//! 2. Each thread records incoming bytes in the [`Recorder`], then forwards them.
//! 3. The calling thread waits until the command exits, reaches its time limit, or is interrupted.
//! 4. After the command has exited, the threads read its pipes until no more output arrives.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::expect::Expected;
use super::output::Recorder;
use super::trace::{TracedPaths, Tracer};
use crate::base::platform::{self, INTERRUPT, KILL, QUIT, TERMINATE, Terminal};
use crate::domain::run::{Ended, Expectation, Output, RunVariable, Seconds};
use crate::text::one_line;

/// The time between asking a command to exit and killing it, or between a key such as Ctrl-C and asking.
const TO_END: Duration = Duration::from_secs(2);
/// The time to wait for more output after the command has exited. A background process may keep the pipe open.
const GRACE: Duration = Duration::from_secs(1);
/// The maximum number of bytes in a pipe when the command exits. Any further output comes from another process.
const PIPE_MAX: u64 = 1 << 20;
/// The polling interval. Many commands take only milliseconds.
const PAUSE: Duration = Duration::from_millis(5);
const BUFFER: usize = 32 << 10;

/// The variables of captured commands and their repetitions that make output alike everywhere. Those without a value are unset.
const PLAIN: [(&str, Option<&str>); 8] = [
    ("NO_COLOR", Some("1")),
    ("TERM", Some("dumb")),
    ("LC_ALL", Some("C.UTF-8")),
    // What npx would download is not what was there.
    ("npm_config_yes", Some("false")),
    ("FORCE_COLOR", None),
    ("CLICOLOR_FORCE", None),
    ("PY_COLORS", None),
    ("CARGO_TERM_COLOR", None),
];

/// Returns the variables that make a command print the same everywhere, but for those that its author stores or names.
pub fn plain_variables(named: &[RunVariable]) -> impl Iterator<Item = (String, Option<String>)> {
    let plain = PLAIN.into_iter().filter(|(name, _)| !named.iter().any(|it| it.name == *name));
    plain.map(|(name, value)| (name.to_owned(), value.map(str::to_owned)))
}

/// A destination for a command's output.
pub type Sink = Box<dyn Write + Send>;

/// The standard input of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandInput<'a> {
    /// The standard input of this process.
    Own,
    /// No input.
    Nothing,
    /// This text.
    Given(&'static str),
    /// The content of this file.
    File(&'a Path),
}

/// A command to run.
pub struct CaptureRequest<'a> {
    /// The program and its arguments.
    pub command: &'a [String],
    /// The program that starts the command, such as a sandbox, with its arguments. Usually empty.
    pub starter: &'a [OsString],
    /// Traces what the command reads.
    pub tracer: Option<Tracer>,
    /// The working folder.
    pub folder: &'a Path,
    /// The environment variables that differ from those of this process. Those without a value are unset.
    pub variables: Vec<(String, Option<String>)>,
    /// The standard input.
    pub input: CommandInput<'a>,
    /// The destinations of standard output and standard error.
    pub sinks: [Option<Sink>; 2],
    /// The folders whose paths are other ones in each run or clone, each with its name in what is stored.
    pub places: Vec<(PathBuf, String)>,
    /// The expectations to check against the output.
    pub expected: Vec<Expected>,
    /// The time limit.
    pub timeout: Option<Duration>,
    /// True to kill background processes when the command exits.
    pub kills_background: bool,
}

/// The result of a command.
#[derive(Debug)]
pub struct Captured {
    /// The way the command ended.
    pub ended: Ended,
    /// The running time.
    pub seconds: Seconds,
    /// The output.
    pub output: Output,
    /// The result of each expectation. None is met by a command that did not exit by itself, whatever it printed.
    pub expectations: Vec<Expectation>,
    /// The signal that interrupted the command, if any.
    pub interrupted: Option<i32>,
    /// What a traced command did with the project's paths.
    pub traced: Option<TracedPaths>,
}

impl Captured {
    /// Returns the result of a command that did not run, with the reason.
    pub fn not_run(reason: String) -> Captured {
        Captured {
            ended: Ended::NotRun(reason),
            seconds: Seconds::default(),
            output: Output::default(),
            expectations: Vec::new(),
            interrupted: None,
            traced: None,
        }
    }
}

/// Returns the folder for temporary files, with its name on most machines.
pub fn temporary_place() -> Option<(PathBuf, String)> {
    let folder = std::env::temp_dir();
    (folder.is_absolute() && folder.parent().is_some()).then(|| (folder, "/tmp".to_owned()))
}

/// Returns the paths to rename in what is printed.
fn renamings(places: Vec<(PathBuf, String)>) -> Vec<(String, String)> {
    let paths = places.into_iter().flat_map(|(folder, to)| {
        let paths = [fs::canonicalize(&folder).unwrap_or_default(), folder];
        paths.map(|path| (path.to_string_lossy().trim_end_matches('/').to_owned(), to.clone()))
    });
    paths.filter(|(path, to)| !path.is_empty() && path != to).collect()
}

/// Runs a command.
///
/// `asked` returns the signal, if any, that this process has received since the last call as a request to exit. The
/// first such signal is sent to the command, which is killed after a grace period, or at once on the second signal.
pub fn capture(mut request: CaptureRequest<'_>, asked: &mut dyn FnMut() -> Option<i32>) -> Captured {
    let started = Instant::now();
    let mut captured = Captured::not_run(String::new());
    let has_starter = request.tracer.is_some() || !request.starter.is_empty();
    let shared = Arc::new(CaptureState {
        recorder: Mutex::new(Recorder::new(
            std::mem::take(&mut request.expected),
            renamings(std::mem::take(&mut request.places)),
        )),
        passed: AtomicU64::new(0),
        writing: AtomicUsize::new(0),
        reading: AtomicUsize::new(0),
        has_ended: AtomicBool::new(false),
    });
    captured.ended = match start(&request) {
        Err(reason) => Ended::NotRun(reason),
        Ok(mut running) => {
            let pipes = pipes(&mut running.child, request.sinks);
            let readers =
                pipes.into_iter().try_for_each(|(stream, pipe, sink)| shared.read(stream, pipe, sink));
            let late_at = request.timeout.and_then(|timeout| started.checked_add(timeout));
            let ended = match readers {
                Ok(()) => running.wait(late_at, asked, &mut captured.interrupted),
                Err(error) => {
                    running.kill();
                    Ended::NotRun(format!("can't start a thread for its output: {error}"))
                }
            };
            captured.seconds = Seconds { milliseconds: milliseconds(started.elapsed()) };
            if request.kills_background || captured.interrupted.is_some() {
                running.signal(KILL);
            }
            if let (Some(terminal), true) = (&running.terminal, !matches!(ended, Ended::Exit(_))) {
                terminal.restore();
            }
            shared.rest(asked);
            ended
        }
    };
    captured.traced = request.tracer.map(Tracer::finish);
    let recorder = &mut *shared.recorder.lock().unwrap_or_else(PoisonError::into_inner);
    (captured.output, captured.expectations) =
        std::mem::replace(recorder, Recorder::new(Vec::new(), Vec::new())).finish();
    let is_untold = has_starter && captured.traced.as_ref().is_none_or(Result::is_err);
    if let (Ended::Exit(1), true, Some(program)) = (&captured.ended, is_untold, request.command.first())
        && let Some(reason) = not_started(program, &captured.output.text)
    {
        captured = Captured::not_run(reason);
    }
    let has_exited = matches!(captured.ended, Ended::Exit(_));
    captured.expectations.iter_mut().for_each(|it| it.held &= has_exited);
    captured
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Starts the command, or returns the reason why it can't be started.
fn start(request: &CaptureRequest<'_>) -> Result<Running, String> {
    let CaptureRequest { command: words, folder, .. } = *request;
    let tracer = request.tracer.iter().flat_map(Tracer::starter);
    let starter: Vec<OsString> = tracer.chain(request.starter.iter().cloned()).collect();
    let Some(program) = words.first() else { return Err("the command is empty".to_owned()) };
    if !folder.is_dir() {
        return Err(format!("the folder {} does not exist", folder.display()));
    }
    // The starter (for example, a sandbox) would report a missing program in its own words.
    if !starter.is_empty() && program_file(folder, program).is_none() {
        return Err(format!("the program {program} does not exist"));
    }
    let all: Vec<OsString> = starter.into_iter().chain(words.iter().map(OsString::from)).collect();
    let mut command = platform::command(&all[0], folder);
    command.args(&all[1..]);
    for (name, value) in &request.variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(match request.input {
        CommandInput::Given(_) => Stdio::piped(),
        CommandInput::Own => Stdio::inherit(),
        CommandInput::Nothing => Stdio::null(),
        CommandInput::File(path) => {
            Stdio::from(File::open(path).map_err(|error| format!("no input: {error}"))?)
        }
    });
    let terminal = Terminal::of_this_process();
    if terminal.is_none() {
        platform::begin_group(&mut command);
    }
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("the program {program} does not exist"),
        ErrorKind::PermissionDenied => format!("no permission to start the program {program}"),
        _ => format!("can't start the program {program}: {error}"),
    })?;
    if let (CommandInput::Given(text), Some(mut pipe)) = (request.input, child.stdin.take()) {
        // Its status shows whether the command read it. The thread is never joined.
        let _ = thread::Builder::new().spawn(move || pipe.write_all(text.as_bytes()));
    }
    Ok(Running { child, terminal })
}

/// Returns why a starter could not start a program, from what it says of it.
fn not_started(program: &str, said: &str) -> Option<String> {
    let (missing, sandbox) =
        (format!("strace: Can't stat '{program}': "), format!("bwrap: execvp {program}: "));
    let why =
        ["strace: exec: ", &missing, &sandbox].into_iter().find_map(|start| said.strip_prefix(start))?;
    Some(match why.trim_end() {
        "No such file or directory" => format!("the program {program} does not exist"),
        "Permission denied" => format!("no permission to start the program {program}"),
        why => format!("can't start the program {program}: {}", one_line(why)),
    })
}

/// Returns the file of a program on the `PATH`. Assumes that a program specified by a path exists.
pub(super) fn program_file(folder: &Path, program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(folder.join(program));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|file| file.is_file())
}

type Pipe = Box<dyn Read + Send>;

fn pipes(child: &mut Child, [output, errors]: [Option<Sink>; 2]) -> Vec<(usize, Pipe, Option<Sink>)> {
    let first = child.stdout.take().map(|pipe| (0, Box::new(pipe) as Pipe, output));
    let second = child.stderr.take().map(|pipe| (1, Box::new(pipe) as Pipe, errors));
    first.into_iter().chain(second).collect()
}

/// A running command.
struct Running {
    child: Child,
    /// The terminal that the command shares with this process. Without one, the command has a process group of its own.
    terminal: Option<Terminal>,
}

impl Running {
    /// Sends a signal to the command and to everything that it has started.
    fn signal(&self, signal: i32) {
        match &self.terminal {
            Some(terminal) => terminal.signal_started(signal),
            None => platform::signal_group(&self.child, signal),
        }
    }

    fn kill(&mut self) {
        self.signal(KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until the command exits. Kills it at its time limit or after an interrupt.
    fn wait(
        &mut self,
        late_at: Option<Instant>,
        asked: &mut dyn FnMut() -> Option<i32>,
        interrupted: &mut Option<i32>,
    ) -> Ended {
        // The next signal to the command.
        let mut next = None;
        let mut is_late = false;
        loop {
            match self.child.try_wait() {
                Ok(Some(_)) if is_late => {
                    self.signal(KILL);
                    return Ended::TimedOut;
                }
                Ok(Some(status)) => {
                    let signal = platform::signal_of(status).map(Ended::Signal);
                    return signal.unwrap_or_else(|| Ended::Exit(status.code().unwrap_or(-1)));
                }
                Ok(None) => {}
                Err(error) => {
                    self.kill();
                    return Ended::NotRun(format!("can't wait for it: {error}"));
                }
            }
            if let Some(signal) = asked() {
                // The terminal has already sent it to the command, which may need a moment to end.
                let is_sent = self.terminal.is_some() && [INTERRUPT, QUIT].contains(&signal);
                let (signal, wait) = match interrupted.replace(signal) {
                    Some(_) => (KILL, Duration::ZERO),
                    None if is_sent => (signal, TO_END),
                    None => (signal, Duration::ZERO),
                };
                next = Some((Instant::now() + wait, signal));
            }
            if !is_late && late_at.is_some_and(|at| Instant::now() >= at) {
                is_late = true;
                next = Some((Instant::now(), TERMINATE));
            }
            if let Some((_, signal)) = next.filter(|(at, _)| Instant::now() >= *at) {
                self.signal(signal);
                if signal == KILL {
                    let _ = self.child.kill();
                }
                next = Some((Instant::now() + TO_END, KILL));
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The state shared with the threads that read the two streams.
struct CaptureState {
    recorder: Mutex<Recorder>,
    /// The number of bytes read and forwarded.
    passed: AtomicU64,
    /// The number of threads that are forwarding output.
    writing: AtomicUsize,
    /// The number of threads that are still reading their pipes.
    reading: AtomicUsize,
    has_ended: AtomicBool,
}

impl CaptureState {
    /// Starts a thread that reads a pipe to its end.
    fn read(self: &Arc<Self>, stream: usize, mut pipe: Pipe, mut sink: Option<Sink>) -> io::Result<()> {
        self.reading.fetch_add(1, Ordering::SeqCst);
        let shared = Arc::clone(self);
        let read = move || {
            shared.copy(stream, &mut pipe, &mut sink);
            drop(pipe);
            shared.reading.fetch_sub(1, Ordering::SeqCst);
        };
        thread::Builder::new().spawn(read).map(drop)
    }

    fn copy(&self, stream: usize, pipe: &mut Pipe, sink: &mut Option<Sink>) {
        let mut buffer = vec![0; BUFFER];
        let mut rest = PIPE_MAX;
        loop {
            let read = match pipe.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => return,
                Ok(read) => read,
            };
            self.writing.fetch_add(1, Ordering::SeqCst);
            self.recorder.lock().unwrap_or_else(PoisonError::into_inner).record(stream, &buffer[..read]);
            let passed = sink
                .as_mut()
                .map_or(Ok(()), |sink| sink.write_all(&buffer[..read]).and_then(|()| sink.flush()));
            self.passed.fetch_add(read as u64, Ordering::SeqCst);
            self.writing.fetch_sub(1, Ordering::SeqCst);
            // The reader is gone. Closing the pipe notifies the command, as if it were writing to the reader directly.
            if passed.is_err() {
                return;
            }
            if self.has_ended.load(Ordering::SeqCst) {
                rest = rest.saturating_sub(read as u64);
                if rest == 0 {
                    return;
                }
            }
        }
    }

    /// Waits for the remaining output of a command that has exited.
    fn rest(&self, asked: &mut dyn FnMut() -> Option<i32>) {
        self.has_ended.store(true, Ordering::SeqCst);
        let (mut passed, mut since) = (self.passed.load(Ordering::SeqCst), Instant::now());
        while self.reading.load(Ordering::SeqCst) > 0 && asked().is_none() {
            let now = self.passed.load(Ordering::SeqCst);
            // Waits for a slow reader.
            if now != passed || self.writing.load(Ordering::SeqCst) > 0 {
                (passed, since) = (now, Instant::now());
            } else if since.elapsed() >= GRACE {
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request<'a>(command: &'a [String], folder: &'a Path) -> CaptureRequest<'a> {
        CaptureRequest {
            command,
            starter: &[],
            tracer: None,
            folder,
            variables: Vec::new(),
            input: CommandInput::Nothing,
            sinks: [None, None],
            places: Vec::new(),
            expected: Vec::new(),
            timeout: None,
            kills_background: false,
        }
    }

    #[test]
    fn a_missing_program_and_a_missing_folder_are_named() {
        let words = ["no-such-program".to_owned()];
        let reason = |folder: &Path| match capture(request(&words, folder), &mut || None).ended {
            Ended::NotRun(reason) => reason,
            ended => panic!("{ended}"),
        };
        assert_eq!(reason(Path::new(".")), "the program no-such-program does not exist");
        assert_eq!(reason(Path::new("no/such")), "the folder no/such does not exist");
        assert!(matches!(capture(request(&[], Path::new(".")), &mut || None).ended, Ended::NotRun(_)));
        let traced = not_started("x", "strace: exec: Permission denied\n");
        assert_eq!(traced.as_deref(), Some("no permission to start the program x"));
    }

    #[cfg(unix)]
    fn shell(script: &str) -> Vec<String> {
        ["sh", "-c", script].map(str::to_owned).to_vec()
    }

    #[cfg(unix)]
    #[test]
    fn exit_codes_and_signals_are_reported() {
        for (script, ended) in
            [("exit 3", Ended::Exit(3)), ("kill -9 $$", Ended::Signal(9)), ("", Ended::Exit(0))]
        {
            assert_eq!(
                capture(request(&shell(script), Path::new(".")), &mut || None).ended,
                ended,
                "{script}"
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn background_processes_do_not_delay_the_end() {
        // On one stream, because two arrive in any order.
        for script in ["echo done; sleep 600 &", "echo done >&2; yes >&2 &"] {
            let words = shell(script);
            let started = Instant::now();
            let captured = capture(
                CaptureRequest { kills_background: true, ..request(&words, Path::new(".")) },
                &mut || None,
            );
            assert!(captured.output.text.starts_with("done\n"), "{:?}", captured.output);
            assert_eq!(captured.ended, Ended::Exit(0));
            assert!(started.elapsed() < Duration::from_secs(60), "{script}");
        }
        // The background process continues if it is allowed to.
        let words = shell("sleep 600 & echo $!");
        let captured = capture(request(&words, Path::new(".")), &mut || None);
        let process: i32 = captured.output.text.trim().parse().unwrap();
        assert!(platform::is_alive(process));
        platform::command("kill", Path::new(".")).arg(process.to_string()).status().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_slow_reader_gets_all_output() {
        struct Slow(Arc<AtomicU64>);
        impl Write for Slow {
            fn write(&mut self, new: &[u8]) -> io::Result<usize> {
                thread::sleep(GRACE + Duration::from_millis(200));
                self.0.fetch_add(new.len() as u64, Ordering::SeqCst);
                Ok(new.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (words, count) = (shell("head -c 60000 /dev/zero"), Arc::new(AtomicU64::new(0)));
        let sinks: [Option<Sink>; 2] = [Some(Box::new(Slow(Arc::clone(&count)))), None];
        let captured = capture(CaptureRequest { sinks, ..request(&words, Path::new(".")) }, &mut || None);
        assert_eq!((captured.output.bytes, count.load(Ordering::SeqCst)), (60_000, 60_000));
    }
}
