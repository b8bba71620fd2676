//! Limits on HTTP connections, used by `mcp::http` and `report::serve`.
//!
//! 1. [`serve`] accepts connections, and counts each one before anything is read from it.
//! 2. If there is no room for a new connection, the connection that has been idle longest is closed. Clients that
//!    send nothing, or only half a request, therefore do not block others.
//! 3. A request that must not be interrupted protects its connection with [`Connection::hold`]. Some connections
//!    can't be protected ([`SPARE`]), so short requests, such as health checks, are always answered.
//! 4. After the last answer, the rest of what the client sends is read and discarded, so the client can read the
//!    answer to a request that was refused before its end.
//!
//! Guarantees: The number of connections never exceeds [`Limits`] or the limit on open files. Request heads have at
//! most [`HEAD`] bytes and must arrive within [`Limits::head`]. Clients that do not read are disconnected after
//! [`Limits::write`].
//!
//! Limitation: All clients share these limits. A proxy can limit each client.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::Layer;

use crate::base::platform::raise_open_files;

/// Limits on the number of connections and on the time that slow clients may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of connections.
    pub all: usize,
    /// The maximum time for receiving a request head, and the maximum time that a connection may be idle.
    pub head: Duration,
    /// The maximum time that a client may take to read part of a response, or to send the rest of a refused request.
    pub write: Duration,
}

/// The maximum size of a request head, in bytes.
pub const HEAD: usize = 16 * 1024;

/// The number of connections that can't be held. The number is lower if the maximum is low.
pub const SPARE: usize = 64;

/// The number of open files reserved for other purposes.
const SPARE_FILES: usize = 600;

/// An event to report to the operator.
#[derive(Debug)]
pub enum ConnectionEvent {
    /// The limit on open files allows fewer connections than configured.
    FewFiles {
        /// The limit on open files.
        files: usize,
        /// The maximum number of connections under that limit.
        room: usize,
    },
    /// Accepting a connection failed.
    NotAccepted(io::Error),
    /// A connection failed.
    Broke(IpAddr, hyper::Error),
    /// A connection was closed to make room for another.
    NoRoom(IpAddr),
}

/// Serves until `stop` completes. The returned future then closes the connections, each after its last answer. Each
/// request carries the client's address (as [`ConnectInfo`]) and its [`Connection`] as extensions.
pub async fn serve(
    listener: TcpListener,
    routes: Router,
    limits: Limits,
    tell: impl Fn(ConnectionEvent) + Clone + Send + Sync + 'static,
    stop: impl Future<Output = ()>,
) -> impl Future<Output = ()> {
    let connections = Connections::new(allowed_connections(limits.all, &tell));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(HEAD);
    let (tasks, closing) = (TaskTracker::new(), CancellationToken::new());
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(fault) if is_client_error(&fault) => continue,
            Err(fault) => {
                // Probably no file descriptor is free. Closing a connection frees one.
                connections.close_oldest();
                tell(ConnectionEvent::NotAccepted(fault));
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let open = connections.enter().await;
        let extension = Extension(open.0.clone());
        let service = extension.layer(Extension(ConnectInfo(from)).layer(routes.clone()));
        let (http, tell, closing) = (http.clone(), tell.clone(), closing.clone());
        tasks.spawn(async move {
            let mut stream = timed(stream, limits.write);
            let answering = async {
                let service = TowerToHyperService::new(service);
                let mut connection = pin!(http.serve_connection(TokioIo::new(&mut stream), service));
                let outcome = tokio::select! {
                    outcome = &mut connection => outcome,
                    () = closing.cancelled() => {
                        connection.as_mut().graceful_shutdown();
                        connection.await
                    }
                };
                // A request head that is too long or invalid is answered too.
                let is_answered = outcome.as_ref().map_or_else(hyper::Error::is_parse, |()| true);
                if let Err(fault) = outcome {
                    tell(ConnectionEvent::Broke(from.ip(), fault));
                }
                if is_answered {
                    discard(&mut stream, limits.write, &closing).await;
                }
            };
            tokio::select! {
                () = answering => {}
                () = open.0.end.cancelled() => tell(ConnectionEvent::NoRoom(from.ip())),
            }
        });
    }
    async move {
        closing.cancel();
        tasks.close();
        tasks.wait().await;
    }
}

type TimedStream = Pin<Box<TimeoutStream<TcpStream>>>;

fn timed(stream: TcpStream, write: Duration) -> TimedStream {
    // Responses are written in one piece, so delays serve no purpose.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(write));
    Box::pin(stream)
}

/// Reads until the client closes the connection. If bytes were left unread, the system would reset the connection, and
/// the client might lose the answer.
async fn discard(stream: &mut TimedStream, time: Duration, closing: &CancellationToken) {
    let mut nowhere = tokio::io::sink();
    let rest = tokio::time::timeout(time, tokio::io::copy(stream, &mut nowhere));
    tokio::select! {
        _ = rest => {}
        () = closing.cancelled() => {}
    }
}

/// Returns true if the error affects only one connection.
fn is_client_error(fault: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(fault.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Raises the limit on open files as far as necessary, and returns the number of connections it allows.
fn allowed_connections(wanted: usize, tell: &impl Fn(ConnectionEvent)) -> usize {
    let files = raise_open_files(wanted.saturating_add(SPARE_FILES));
    let room = files.saturating_sub(SPARE_FILES).max(files / 2);
    if room < wanted {
        tell(ConnectionEvent::FewFiles { files, room });
    }
    wanted.min(room)
}

/// The open connections.
struct Connections {
    room: Arc<Semaphore>,
    /// The number of connections that can still be held.
    holds: Arc<Semaphore>,
    idle: Mutex<IdleConnections>,
}

/// The connections that are not held, in the order they became idle.
#[derive(Default)]
struct IdleConnections {
    ends: BTreeMap<u64, CancellationToken>,
    last_turn: u64,
}

impl Connections {
    fn new(most: usize) -> Arc<Connections> {
        let most = most.min(Semaphore::MAX_PERMITS);
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        let holds = most - SPARE.min(most.div_ceil(8));
        Arc::new(Connections { room: semaphore(most), holds: semaphore(holds), idle: Mutex::default() })
    }

    /// Counts a new connection. At the limit, closes the connection that has been idle longest and waits for its end.
    async fn enter(self: &Arc<Self>) -> OpenConnection {
        if self.room.available_permits() == 0 {
            self.close_oldest();
        }
        let room = Arc::clone(&self.room).acquire_owned().await.ok();
        let (end, turn) = (CancellationToken::new(), Arc::default());
        let connection = Connection { connections: Arc::clone(self), end, turn };
        connection.line_up();
        OpenConnection(connection, room)
    }

    fn close_oldest(&self) {
        if let Some((_, end)) = self.idle().ends.pop_first() {
            end.cancel();
        }
    }

    fn idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection, as available to its requests.
#[derive(Clone)]
pub struct Connection {
    connections: Arc<Connections>,
    end: CancellationToken,
    /// The position in the queue of idle connections. Accessed only while the queue is locked.
    turn: Arc<AtomicU64>,
}

impl Connection {
    /// Protects the connection from being closed until the returned value is dropped. Returns `None` if too many
    /// connections are already protected.
    pub fn hold(&self) -> Option<HeldConnection> {
        let permit = Arc::clone(&self.connections.holds).try_acquire_owned().ok()?;
        self.connections.idle().ends.remove(&self.turn.load(Ordering::Relaxed))?;
        Some(HeldConnection(self.clone(), permit))
    }

    /// Appends the connection to the queue of idle connections unless it has ended.
    fn line_up(&self) {
        let mut idle = self.connections.idle();
        if !self.end.is_cancelled() {
            idle.last_turn += 1;
            let turn = idle.last_turn;
            idle.ends.insert(turn, self.end.clone());
            self.turn.store(turn, Ordering::Relaxed);
        }
    }
}

/// A connection that stays protected until this value is dropped.
pub struct HeldConnection(
    Connection,
    #[expect(dead_code, reason = "returned when dropped")] OwnedSemaphorePermit,
);

impl Drop for HeldConnection {
    fn drop(&mut self) {
        self.0.line_up();
    }
}

/// A connection that counts as open until this value is dropped.
struct OpenConnection(
    Connection,
    #[expect(dead_code, reason = "returned when dropped")] Option<OwnedSemaphorePermit>,
);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut idle = self.0.connections.idle();
        idle.ends.remove(&self.0.turn.load(Ordering::Relaxed));
        self.0.end.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits until a connection is told to end, and ends it.
    async fn ended(open: OpenConnection) {
        tokio::time::timeout(Duration::from_secs(1), open.0.end.cancelled()).await.expect("it makes room");
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_without_a_request_for_longest_makes_room_and_no_request_does() {
        let all = Connections::new(3);
        let (first, second, third) = (all.enter().await, all.enter().await, all.enter().await);
        let held = first.0.hold().unwrap();
        let (_fourth, ()) = tokio::join!(all.enter(), ended(second));
        drop(held);
        let (_fifth, ()) = tokio::join!(all.enter(), ended(third));
        assert!(!first.0.end.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn some_room_is_never_held() {
        let all = Connections::new(16);
        let mut open = Vec::new();
        for _ in 0..16 {
            open.push(all.enter().await);
        }
        let held: Vec<_> = open.iter().filter_map(|open| open.0.hold()).collect();
        assert_eq!(held.len(), 14);
        let (more, ()) = tokio::join!(all.enter(), ended(open.remove(14)));
        drop((more, open));
        drop(held);
        let left = (all.room.available_permits(), all.holds.available_permits(), all.idle().ends.len());
        assert_eq!(left, (16, 14, 0));
    }
}
