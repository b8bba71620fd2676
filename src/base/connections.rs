//! Limits on HTTP connections, used by `mcp::http` and `report::serve`.
//!
//! 1. [`serve`] accepts connections. Each connection is counted, in total and per [`network`], before anything is read
//!    from it.
//! 2. If there is no room for a new connection, the connection that has been idle longest is closed. Clients that
//!    send nothing, or only half a request, therefore do not block others.
//! 3. A request that must not be interrupted protects its connection with [`Connection::hold`]. Some connections
//!    can't be protected ([`SPARE`]), so short requests, such as health checks, are always answered.
//!
//! Guarantees: The number of connections never exceeds [`Limits`] or the limit on open files. Request heads have at
//! most [`HEAD`] bytes and must arrive within [`Limits::head`]. Clients that do not read are disconnected after
//! [`Limits::write`].
//!
//! Limitation: Clients behind one proxy count as one network.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{ConnectInfo, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tower::Layer;

use crate::base::platform::raise_open_files;

/// Limits on the number of connections and on the time that slow clients may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum total number of connections.
    pub all: usize,
    /// The maximum number of connections from one network.
    pub network: usize,
    /// The maximum time for receiving a request head, and the maximum time that a connection may be idle.
    pub head: Duration,
    /// The maximum time that a client may take to read part of a response.
    pub write: Duration,
}

/// The maximum size of a request head, in bytes.
pub const HEAD: usize = 16 * 1024;

/// The number of connections that can't be held, in total and per network. The number is lower if the maximum is low.
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
    /// A connection was closed or refused for lack of room.
    NoRoom(IpAddr),
}

/// Serves until `stop` completes. The returned value waits for open connections. Each request carries the client's
/// address (as [`ConnectInfo`]) and its [`Connection`] as extensions.
pub async fn serve(
    listener: TcpListener,
    routes: Router,
    mut limits: Limits,
    tell: impl Fn(ConnectionEvent) + Clone + Send + 'static,
    stop: impl Future<Output = ()>,
) -> GracefulShutdown {
    limits.all = allowed_connections(limits.all, &tell);
    let table = Arc::new(Mutex::new(ConnectionTable::new(limits)));
    let routes = routes.layer(from_fn(renewed));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(HEAD);
    let connections = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut stop => return connections,
            accepted = listener.accept() => accepted,
        };
        let (stream, from) = match accepted {
            Ok(accepted) => accepted,
            Err(fault) if is_client_error(&fault) => continue,
            Err(fault) => {
                // Probably no file descriptor is free. Closing a connection frees one.
                lock(&table).make_room(None);
                tell(ConnectionEvent::NotAccepted(fault));
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Some(open) = OpenConnection::new(&table, from.ip()) else {
            tell(ConnectionEvent::NoRoom(from.ip()));
            continue;
        };
        let extension = Extension(open.0.clone());
        let service = extension.layer(Extension(ConnectInfo(from)).layer(routes.clone()));
        let connection = http
            .serve_connection(TokioIo::new(timed(stream, limits.write)), TowerToHyperService::new(service));
        let connection = connections.watch(connection);
        let tell = tell.clone();
        tokio::spawn(async move {
            tokio::select! {
                outcome = connection => if let Err(fault) = outcome {
                    tell(ConnectionEvent::Broke(from.ip(), fault));
                },
                () = open.0.0.end.cancelled() => tell(ConnectionEvent::NoRoom(from.ip())),
            }
        });
    }
}

fn timed(stream: TcpStream, write: Duration) -> std::pin::Pin<Box<TimeoutStream<TcpStream>>> {
    // Responses are written in one piece, so delays serve no purpose.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(write));
    Box::pin(stream)
}

/// Returns true if the error affects only one connection.
fn is_client_error(fault: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(fault.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// Returns the unit by which connections are counted: the address, or the network for an IPv6 address, since a single
/// machine can use any number of IPv6 addresses.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        address => address,
    }
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
struct ConnectionTable {
    limits: Limits,
    all: Count,
    networks: HashMap<IpAddr, Count>,
    /// The connections that are not held, in the order they became idle.
    free: BTreeMap<u64, (IpAddr, CancellationToken)>,
    last_turn: u64,
}

#[derive(Default)]
struct Count {
    open: usize,
    held: usize,
}

impl Count {
    /// Returns true if another connection can be held without using the spare ones.
    fn can_hold(&self, most: usize) -> bool {
        self.held + SPARE.min(most.div_ceil(8)) < most
    }
}

impl ConnectionTable {
    fn new(limits: Limits) -> ConnectionTable {
        ConnectionTable {
            limits,
            all: Count::default(),
            networks: HashMap::new(),
            free: BTreeMap::new(),
            last_turn: 0,
        }
    }

    /// Counts a new connection, and closes an idle connection if necessary. Returns false if there is no room.
    fn enter(&mut self, network: IpAddr) -> bool {
        let here = self.networks.get(&network).map_or(0, |count| count.open);
        let fits = if here >= self.limits.network {
            self.make_room(Some(network))
        } else {
            self.all.open < self.limits.all || self.make_room(None)
        };
        if fits {
            self.all.open += 1;
            self.networks.entry(network).or_default().open += 1;
        }
        fits
    }

    /// Closes the connection that has been idle longest, in one network or overall. The connection counts as open
    /// until it ends.
    fn make_room(&mut self, of: Option<IpAddr>) -> bool {
        let mut free = self.free.iter();
        let oldest = free.find(|(_, (network, _))| of.is_none_or(|of| of == *network));
        let Some((_, end)) = oldest.map(|(turn, _)| *turn).and_then(|turn| self.free.remove(&turn)) else {
            return false;
        };
        end.cancel();
        true
    }

    /// Appends a connection to the queue of idle connections.
    fn line_up(&mut self, state: &ConnectionState) {
        self.last_turn += 1;
        self.free.insert(self.last_turn, (state.network, state.end.clone()));
        state.turn.store(self.last_turn, Ordering::Relaxed);
    }

    /// Removes a connection from the queue of idle connections. Returns false if it was not queued.
    fn step_out(&mut self, state: &ConnectionState) -> bool {
        self.free.remove(&state.turn.load(Ordering::Relaxed)).is_some()
    }
}

/// A connection, as available to its requests.
#[derive(Clone)]
pub struct Connection(Arc<ConnectionState>);

struct ConnectionState {
    table: Arc<Mutex<ConnectionTable>>,
    network: IpAddr,
    end: CancellationToken,
    /// The position in the queue of idle connections. Accessed only while the table is locked.
    turn: AtomicU64,
}

impl Connection {
    fn renew(&self) {
        let mut table = lock(&self.0.table);
        if table.step_out(&self.0) {
            table.line_up(&self.0);
        }
    }

    /// Protects the connection from being closed until the returned value is dropped. Returns `None` if too many
    /// connections are already protected.
    pub fn hold(&self) -> Option<HeldConnection> {
        let state = &self.0;
        let mut table = lock(&state.table);
        let limits = table.limits;
        let here = table.networks.get(&state.network)?.can_hold(limits.network);
        if !here || !table.all.can_hold(limits.all) || !table.step_out(state) {
            return None;
        }
        table.all.held += 1;
        table.networks.entry(state.network).or_default().held += 1;
        Some(HeldConnection(self.clone()))
    }
}

/// A connection that stays protected until this value is dropped.
pub struct HeldConnection(Connection);

impl Drop for HeldConnection {
    fn drop(&mut self) {
        let state = &self.0.0;
        let mut table = lock(&state.table);
        table.all.held -= 1;
        if let Some(count) = table.networks.get_mut(&state.network) {
            count.held -= 1;
        }
        if !state.end.is_cancelled() {
            table.line_up(state);
        }
    }
}

/// A connection that counts as open until this value is dropped.
struct OpenConnection(Connection);

impl OpenConnection {
    fn new(table: &Arc<Mutex<ConnectionTable>>, from: IpAddr) -> Option<OpenConnection> {
        let network = network(from);
        let mut locked = lock(table);
        if !locked.enter(network) {
            return None;
        }
        let (end, turn) = (CancellationToken::new(), AtomicU64::new(0));
        let state = ConnectionState { table: Arc::clone(table), network, end, turn };
        locked.line_up(&state);
        Some(OpenConnection(Connection(Arc::new(state))))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let state = &self.0.0;
        let mut table = lock(&state.table);
        table.step_out(state);
        state.end.cancel();
        table.all.open -= 1;
        if let Some(count) = table.networks.get_mut(&state.network) {
            count.open -= 1;
            if count.open == 0 {
                table.networks.remove(&state.network);
            }
        }
    }
}

/// Moves a request's connection to the end of the queue of idle connections.
async fn renewed(Extension(connection): Extension<Connection>, request: Request, next: Next) -> Response {
    connection.renew();
    next.run(request).await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(all: usize, network: usize) -> Arc<Mutex<ConnectionTable>> {
        let second = Duration::from_secs(1);
        Arc::new(Mutex::new(ConnectionTable::new(Limits { all, network, head: second, write: second })))
    }

    fn enter(table: &Arc<Mutex<ConnectionTable>>, from: &str) -> Option<OpenConnection> {
        OpenConnection::new(table, from.parse().unwrap())
    }

    fn is_closed(open: &OpenConnection) -> bool {
        open.0.0.end.is_cancelled()
    }

    #[test]
    fn the_one_without_a_request_for_longest_makes_room_and_no_request_does() {
        let table = table(3, 3);
        let [first, second, third] =
            ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|of| enter(&table, of).unwrap());
        let held = first.0.hold().unwrap();
        let fourth = enter(&table, "192.0.2.4").unwrap();
        assert_eq!([&first, &second, &third, &fourth].map(is_closed), [false, true, false, false]);
        drop(second);
        drop(held);
        let fifth = enter(&table, "192.0.2.5").unwrap();
        assert_eq!([&first, &third, &fourth, &fifth].map(is_closed), [false, true, false, false]);
    }

    #[test]
    fn a_crowd_of_one_network_makes_room_for_itself_only() {
        let table = table(100, 2);
        let other = enter(&table, "192.0.2.1").unwrap();
        let crowd: Vec<_> = (0..9).map(|last| enter(&table, &format!("2001:db8::{last}")).unwrap()).collect();
        assert!(!is_closed(&other));
        assert_eq!(crowd.iter().filter(|open| !is_closed(open)).count(), 2);
        drop(crowd);
        let table = lock(&table);
        assert_eq!((table.all.open, table.networks.len()), (1, 1));
    }

    #[test]
    fn some_room_is_never_held() {
        let table = table(16, 8);
        let here: Vec<_> = (0..8).map(|_| enter(&table, "192.0.2.1").unwrap()).collect();
        let held: Vec<_> = here.iter().filter_map(|open| open.0.hold()).collect();
        assert_eq!(held.len(), 7);
        assert!(enter(&table, "192.0.2.1").is_some(), "the eighth makes room");
        drop(held);
        drop(here);
        let table = lock(&table);
        assert_eq!((table.all.open, table.all.held, table.free.len()), (0, 0, 0));
    }

    #[test]
    fn a_network_of_version_6_is_counted_as_one() {
        let of = |address: &str| network(address.parse().unwrap());
        assert_eq!(of("2001:db8:1:2:3::4"), of("2001:db8:1:2:ffff::5"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.2"), of("192.0.2.1"));
        assert_ne!(of("::1"), of("127.0.0.1"));
    }
}
