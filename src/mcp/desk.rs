//! Where calls are run over stdio: on the thread that reads and writes the protocol, as long as they are short.
//!
//! To wake another thread for a call and to be woken by it costs several times what most calls do. So the protocol's
//! thread leaves the runtime for a call and comes back to it afterwards ([`Desk::run`]). A deputy looks at it now and
//! then, and takes the runtime over when a call lasts.
//!
//! 1. Until the first call all is done by the thread of [`serve`]: nothing is begun that a hello doesn't need.
//! 2. With the first call it becomes the deputy, and another thread sits down at the desk.
//! 3. A call that finds the desk taken has a thread of its own.
//!
//! Guarantees: a call at the desk holds up others by no more than two [`LOOK`]s; a panic ends the call, not the desk;
//! [`serve`] returns when its future is done, whether or not a call is at the desk. A server where nothing is called
//! does not wake up by itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{Notify, mpsc, oneshot};

/// How often the deputy looks whether the call of its last look is still at the desk.
const LOOK: Duration = Duration::from_millis(1);

/// After how many looks at an empty desk it goes to sleep until the next call.
const LOOKS: u32 = 100;

type Job = Box<dyn FnOnce() + Send>;

/// What is brought to the desk: a job, or that there is none any more.
type Brought = Option<Job>;

/// A place for one call.
#[derive(Clone)]
pub(super) struct Desk {
    jobs: mpsc::UnboundedSender<Brought>,
    taken: Arc<AtomicBool>,
}

impl Desk {
    /// A desk, and what is brought there.
    pub(super) fn new() -> (Desk, Jobs) {
        let (jobs, brought) = mpsc::unbounded_channel();
        let desk = Desk { jobs, taken: Arc::default() };
        (desk.clone(), Jobs { desk, brought })
    }

    /// Runs it at the desk if that is free, else on a thread. None if it panics.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        if self.taken.swap(true, Ordering::AcqRel) {
            return tokio::task::spawn_blocking(work).await.ok();
        }
        let (done, outcome) = oneshot::channel();
        // Nobody may be there to be told.
        let job = Box::new(move || drop(done.send(work())));
        self.jobs.send(Some(job)).ok()?;
        outcome.await.ok()
    }
}

/// What is brought to the desk.
pub(super) struct Jobs {
    desk: Desk,
    brought: mpsc::UnboundedReceiver<Brought>,
}

/// Does the future on the runtime, which has no threads of its own, and the calls that are brought to the desk
/// meanwhile. Blocks until the future is done; none if it panics.
pub(super) fn serve<T: Send + 'static>(
    runtime: Runtime,
    mut jobs: Jobs,
    future: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let (over, mut outcome) = oneshot::channel();
    let shift = Arc::new(Shift::default());
    let runtime = Arc::new(runtime);
    let ending = Ending { shift: Arc::clone(&shift), desk: jobs.desk.clone() };
    runtime.spawn(async move {
        let _ending = ending;
        let _ = over.send(future.await);
    });
    let first = runtime.block_on(jobs.brought.recv()).flatten();
    if let Some(first) = first {
        let (shift, runtime) = (Arc::clone(&shift), Arc::clone(&runtime));
        thread::spawn(move || shift.sit(&runtime, first, jobs));
    }
    shift.watch(&runtime);
    // Where a call is still at the desk, the runtime ends with it, or with the process. Not by drop: unless stdin is a
    // pipe, one thread is stuck in reading it, and would be waited for.
    if let Some(runtime) = Arc::into_inner(runtime) {
        runtime.shutdown_background();
    }
    outcome.try_recv().ok()
}

/// What the one at the desk and the deputy know of each other.
#[derive(Default)]
struct Shift {
    state: Mutex<State>,
    changed: Condvar,
    /// That the deputy is to look up from the runtime.
    call_deputy: Notify,
}

#[derive(Default)]
struct State {
    /// How many calls have begun.
    calls: u64,
    at_work: bool,
    deputy_sleeps: bool,
    deputy_drives: bool,
    over: bool,
}

impl Shift {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sit(&self, runtime: &Runtime, first: Job, mut jobs: Jobs) {
        let mut next = Some(first);
        while let Some(job) = next {
            self.begin();
            // It is told of by the one who waits for the outcome, and its place by the hook.
            let _ = catch_unwind(AssertUnwindSafe(job));
            jobs.desk.taken.store(false, Ordering::Release);
            self.finish();
            next = runtime.block_on(jobs.brought.recv()).flatten();
        }
    }

    fn begin(&self) {
        let mut state = self.state();
        state.calls += 1;
        state.at_work = true;
        if state.deputy_sleeps {
            state.deputy_sleeps = false;
            self.changed.notify_one();
        }
    }

    fn finish(&self) {
        let mut state = self.state();
        state.at_work = false;
        if state.deputy_drives {
            self.call_deputy.notify_one();
        }
    }

    /// What the deputy does, until all is over.
    fn watch(&self, runtime: &Runtime) {
        let (mut seen, mut idle) = (0, 0);
        let mut state = self.state();
        while !state.over {
            if state.at_work && state.calls == seen {
                state.deputy_drives = true;
                drop(state);
                runtime.block_on(self.call_deputy.notified());
                state = self.state();
                state.deputy_drives = false;
                continue;
            }
            idle = if state.calls == seen { idle + 1 } else { 0 };
            seen = state.calls;
            state = if idle < LOOKS {
                let looked = self.changed.wait_timeout(state, LOOK);
                looked.unwrap_or_else(PoisonError::into_inner).0
            } else {
                idle = 0;
                state.deputy_sleeps = true;
                self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }
}

/// Tells both that all is over when it is dropped, be it by a panic.
struct Ending {
    shift: Arc<Shift>,
    desk: Desk,
}

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.desk.jobs.send(None);
        self.shift.state().over = true;
        self.shift.changed.notify_one();
        self.shift.call_deputy.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn serve_at_a_desk<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        future: impl FnOnce(Desk) -> F,
    ) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (desk, jobs) = Desk::new();
        serve(runtime, jobs, future(desk)).unwrap()
    }

    /// A call that lasts, after it had the time to sit down at the desk.
    async fn begin_long_call(desk: &Desk) -> tokio::task::JoinHandle<Option<()>> {
        let desk = desk.clone();
        let call = async move { desk.run(|| thread::sleep(Duration::from_millis(1_500))).await };
        let long = tokio::spawn(call);
        tokio::task::yield_now().await;
        long
    }

    #[test]
    fn short_calls_are_run_on_the_thread_of_the_protocol() {
        serve_at_a_desk(|desk| async move {
            let mut others = 0;
            for _ in 0..100 {
                let at_desk = desk.run(|| thread::current().id()).await;
                others += u32::from(at_desk != Some(thread::current().id()));
            }
            // The first is run before the protocol has moved to the thread of the desk, and a busy machine may have had
            // the deputy take over.
            assert!(others < 50, "{others} of 100 on another thread");
        });
    }

    #[test]
    fn a_long_call_holds_up_nobody() {
        serve_at_a_desk(|desk| async move {
            for _ in 0..3 {
                let since = Instant::now();
                let long = begin_long_call(&desk).await;
                // Beside it, others are run, timers fire, and the first is back at the desk afterwards.
                assert_eq!(desk.run(|| 5).await, Some(5));
                tokio::time::sleep(Duration::from_millis(10)).await;
                assert!(since.elapsed() < Duration::from_millis(1_000), "{:?}", since.elapsed());
                assert_eq!(long.await.unwrap(), Some(()));
                assert_eq!(desk.run(|| 6).await, Some(6));
            }
        });
    }

    #[test]
    fn a_panic_ends_the_call_alone() {
        serve_at_a_desk(|desk| async move {
            for _ in 0..3 {
                assert_eq!(desk.run(|| -> u32 { panic!("on purpose, by a test") }).await, None);
                assert_eq!(desk.run(|| 5).await, Some(5));
            }
        });
    }

    #[test]
    fn the_end_does_not_wait_for_a_call() {
        let since = Instant::now();
        serve_at_a_desk(|desk| async move {
            let long = tokio::spawn(async move { desk.run(|| thread::sleep(Duration::from_secs(30))).await });
            tokio::time::sleep(Duration::from_millis(50)).await;
            long.abort();
        });
        assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    }

    #[test]
    fn the_future_is_done_without_a_desk_and_when_nobody_can_call_any_more() {
        assert_eq!(serve_at_a_desk(|_| async { 5 }), 5);
        let waited = serve_at_a_desk(|desk| async move {
            assert_eq!(desk.run(|| 5).await, Some(5));
            drop(desk);
            tokio::time::sleep(Duration::from_millis(20)).await;
            6
        });
        assert_eq!(waited, 6);
    }

    #[test]
    fn a_call_wakes_the_deputy_that_sleeps() {
        serve_at_a_desk(|desk| async move {
            assert_eq!(desk.run(|| 5).await, Some(5));
            tokio::time::sleep(LOOK * (LOOKS + 100)).await;
            let since = Instant::now();
            let long = begin_long_call(&desk).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
            assert!(since.elapsed() < Duration::from_millis(1_000), "{:?}", since.elapsed());
            assert_eq!(long.await.unwrap(), Some(()));
        });
    }
}
