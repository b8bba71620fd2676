//! Handles signals: stops this program, or passes the signal on to another program.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::base::platform::TERMINAL_SIGNALS;
use crate::report::ReportError;

/// The exit status that shells report for a program ended by Ctrl-C.
const STATUS: i32 = 130;

/// A flag set by Ctrl-C or SIGTERM. After the first signal, work stops at its next step and cleans up. A second signal ends the
/// program immediately.
#[derive(Debug)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Starts watching for signals.
    pub(super) fn watch() -> io::Result<Interrupt> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the handler that ends the program reads the flag set by an earlier signal.
            flag::register_conditional_shutdown(signal, STATUS, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Interrupt(asked))
    }

    /// Returns an error if the flag is set.
    pub(super) fn check(&self) -> Result<(), ReportError> {
        if self.0.load(Ordering::Relaxed) { Err(ReportError::Interrupted) } else { Ok(()) }
    }
}

/// Signals to pass on to another program. While it runs, they do not end this program.
#[derive(Debug)]
pub(super) struct Passed {
    asked: Vec<(i32, Arc<AtomicBool>)>,
    /// True while this program waits for a person, who may close the terminal.
    is_waiting: Arc<AtomicBool>,
}

impl Passed {
    /// Starts watching for signals.
    pub(super) fn watch() -> io::Result<Passed> {
        let is_waiting = Arc::new(AtomicBool::new(false));
        let signals = [SIGINT, SIGTERM].iter().chain(TERMINAL_SIGNALS).copied();
        let watched = signals.map(|signal| {
            let asked = Arc::new(AtomicBool::new(false));
            flag::register_conditional_default(signal, Arc::clone(&is_waiting))?;
            flag::register(signal, Arc::clone(&asked)).map(|_| (signal, asked))
        });
        let asked = watched.collect::<io::Result<_>>()?;
        Ok(Passed { asked, is_waiting })
    }

    /// Waits for a person. Meanwhile, a signal ends this program.
    pub(super) fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.is_waiting.store(true, Ordering::Relaxed);
        let outcome = wait();
        self.is_waiting.store(false, Ordering::Relaxed);
        outcome
    }

    /// Returns a signal that arrived since the last call, if any.
    pub(super) fn take(&self) -> Option<i32> {
        self.asked.iter().find(|(_, asked)| asked.swap(false, Ordering::Relaxed)).map(|(signal, _)| *signal)
    }
}

/// Waits for another program at the terminal, such as a pager. Until it exits, Ctrl-C ends only that program, as with git.
pub(super) fn left_to_another<T>(wait: impl FnOnce() -> T) -> T {
    let is_over = Arc::new(AtomicBool::new(false));
    // By default, Ctrl-C would end both programs.
    let _ = flag::register_conditional_default(SIGINT, Arc::clone(&is_over));
    let outcome = wait();
    is_over.store(true, Ordering::Relaxed);
    outcome
}
