//! Ending when a person asks for it, and not when another program is asked.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::platform::HANGUP;
use crate::report::ReportError;

/// What shells say of a program that Ctrl-C has ended.
const STATUS: i32 = 130;

/// Whether somebody has asked the program to end: by Ctrl-C, or by SIGTERM. The first time, work stops at its next step and
/// removes what it has begun; the second time the program ends at once.
#[derive(Debug)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on.
    pub(super) fn watch() -> io::Result<Interrupt> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // In this order: what ends the program looks at what an earlier signal has left.
            flag::register_conditional_shutdown(signal, STATUS, Arc::clone(&asked))?;
            flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Interrupt(asked))
    }

    /// An error if somebody has.
    pub(super) fn check(&self) -> Result<(), ReportError> {
        if self.0.load(Ordering::Relaxed) { Err(ReportError::Interrupted) } else { Ok(()) }
    }
}

/// The signals that ask the program to end, for what passes them on to another program. They end this one no more.
#[derive(Debug)]
pub(super) struct Passed(Vec<(i32, Arc<AtomicBool>)>);

impl Passed {
    /// From now on.
    pub(super) fn watch() -> io::Result<Passed> {
        let signals = [SIGINT, SIGTERM].into_iter().chain(HANGUP);
        let watched = signals.map(|signal| {
            let asked = Arc::new(AtomicBool::new(false));
            flag::register(signal, Arc::clone(&asked)).map(|_| (signal, asked))
        });
        watched.collect::<io::Result<_>>().map(Passed)
    }

    /// One that has arrived since this was last asked.
    pub(super) fn take(&self) -> Option<i32> {
        self.0.iter().find(|(_, asked)| asked.swap(false, Ordering::Relaxed)).map(|(signal, _)| *signal)
    }
}

/// Runs what waits for another program at the terminal, such as a pager: Ctrl-C meanwhile is for that one, and does not end
/// this. As git does.
pub(super) fn left_to_another<T>(wait: impl FnOnce() -> T) -> T {
    let is_over = Arc::new(AtomicBool::new(false));
    // Without it, Ctrl-C ends both.
    let _ = flag::register_conditional_default(SIGINT, Arc::clone(&is_over));
    let outcome = wait();
    is_over.store(true, Ordering::Relaxed);
    outcome
}
