//! Limits for connections over HTTP, in use by `mcp::http` and `report::serve`.
//!
//! 1. [`serve`] accepts connections. Each is counted before a byte of it is read, in total and by [`network`].
//! 2. If there is no room for another one, the connection that has been without a request for longest is closed. So
//!    clients that send nothing, or half a request, block nobody else.
//! 3. A request that must not be interrupted so protects its connection: [`Place::hold`]. Some room is never protected
//!    ([`SPARE`]), so that unprotected requests, such as for the server's health, are always answered.
//!
//! Guarantees: no more connections than [`Limits`] allows, nor than the limit of open files; a head of at most
//! [`HEAD`] bytes in at most [`Limits::head`]; a client that doesn't read is disconnected after [`Limits::write`].
//!
//! Limit: clients behind one proxy count as one network.

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

use crate::platform::raise_open_files;

/// Limits of the number and slowness of connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number in total.
    pub all: usize,
    /// The maximum number from one network.
    pub network: usize,
    /// The maximum time for the head of a request, and of a connection without a request.
    pub head: Duration,
    /// The maximum time for a client to read a piece of an answer.
    pub write: Duration,
}

/// The maximum length of a request's head, in bytes.
pub const HEAD: usize = 16 * 1024;

/// The number of connections, in total and of a network, that can't be held; fewer if the maximum is low.
pub const SPARE: usize = 64;

/// Open files that are not for connections.
const SPARE_FILES: usize = 600;

/// An event for the operator.
#[derive(Debug)]
pub enum Event {
    /// The limit of open files allows only so many connections.
    FewFiles {
        /// The limit.
        files: usize,
        /// The connections that it allows.
        room: usize,
    },
    /// No connection can be accepted right now.
    NotAccepted(io::Error),
    /// A connection broke.
    Broke(IpAddr, hyper::Error),
    /// A connection was closed to make room, or refused for lack of room.
    NoRoom(IpAddr),
}

/// Serves until `stop` completes. Open connections can be awaited with the result. Requests have the address of the client
/// as [`ConnectInfo`] and their [`Place`] as extensions.
pub async fn serve(
    listener: TcpListener,
    routes: Router,
    mut limits: Limits,
    tell: impl Fn(Event) + Clone + Send + 'static,
    stop: impl Future<Output = ()>,
) -> GracefulShutdown {
    limits.all = room(limits.all, &tell);
    let table = Arc::new(Mutex::new(Table::new(limits)));
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
            Err(fault) if is_of_the_client(&fault) => continue,
            Err(fault) => {
                // Probably no file is free: closing a connection frees one.
                lock(&table).make_room(None);
                tell(Event::NotAccepted(fault));
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Some(entered) = Entered::new(&table, from.ip()) else {
            tell(Event::NoRoom(from.ip()));
            continue;
        };
        let place = Extension(entered.0.clone());
        let service = place.layer(Extension(ConnectInfo(from)).layer(routes.clone()));
        let connection = http
            .serve_connection(TokioIo::new(timed(stream, limits.write)), TowerToHyperService::new(service));
        let connection = connections.watch(connection);
        let tell = tell.clone();
        tokio::spawn(async move {
            tokio::select! {
                outcome = connection => if let Err(fault) = outcome {
                    tell(Event::Broke(from.ip(), fault));
                },
                () = entered.0.0.end.cancelled() => tell(Event::NoRoom(from.ip())),
            }
        });
    }
}

fn timed(stream: TcpStream, write: Duration) -> std::pin::Pin<Box<TimeoutStream<TcpStream>>> {
    // Answers are written whole: there is no reason to delay them.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(write));
    Box::pin(stream)
}

/// Whether the fault concerns this one connection alone.
fn is_of_the_client(fault: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(fault.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// The unit by which connections are counted: an address, or the network of an IPv6 address, since one machine has as
/// many of these as it likes.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        address => address,
    }
}

/// The number of the wanted connections that the limit of open files allows, once raised as far as possible.
fn room(wanted: usize, tell: &impl Fn(Event)) -> usize {
    let files = raise_open_files(wanted.saturating_add(SPARE_FILES));
    let room = files.saturating_sub(SPARE_FILES).max(files / 2);
    if room < wanted {
        tell(Event::FewFiles { files, room });
    }
    wanted.min(room)
}

/// The open connections.
struct Table {
    limits: Limits,
    all: Count,
    networks: HashMap<IpAddr, Count>,
    /// The connections that are not held, in the order in which they became idle.
    free: BTreeMap<u64, (IpAddr, CancellationToken)>,
    turns: u64,
}

#[derive(Default)]
struct Count {
    open: usize,
    held: usize,
}

impl Count {
    /// Whether another one can be held, so that the spare room remains.
    fn can_hold(&self, most: usize) -> bool {
        self.held + SPARE.min(most.div_ceil(8)) < most
    }
}

impl Table {
    fn new(limits: Limits) -> Table {
        Table { limits, all: Count::default(), networks: HashMap::new(), free: BTreeMap::new(), turns: 0 }
    }

    /// Counts another connection, if there is room or can be made.
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

    /// Closes the connection that has been idle for longest, of a network or of all. It is counted until it has ended.
    fn make_room(&mut self, of: Option<IpAddr>) -> bool {
        let mut free = self.free.iter();
        let oldest = free.find(|(_, (network, _))| of.is_none_or(|of| of == *network));
        let Some((_, end)) = oldest.map(|(turn, _)| *turn).and_then(|turn| self.free.remove(&turn)) else {
            return false;
        };
        end.cancel();
        true
    }

    /// Appends a connection to the queue of idle ones.
    fn line_up(&mut self, seat: &Seat) {
        self.turns += 1;
        self.free.insert(self.turns, (seat.network, seat.end.clone()));
        seat.turn.store(self.turns, Ordering::Relaxed);
    }

    /// Removes it from that queue; false if it isn't in it.
    fn step_out(&mut self, seat: &Seat) -> bool {
        self.free.remove(&seat.turn.load(Ordering::Relaxed)).is_some()
    }
}

/// A connection, as seen by its requests.
#[derive(Clone)]
pub struct Place(Arc<Seat>);

struct Seat {
    table: Arc<Mutex<Table>>,
    network: IpAddr,
    end: CancellationToken,
    /// Read and written only with the table locked.
    turn: AtomicU64,
}

impl Place {
    fn renew(&self) {
        let mut table = lock(&self.0.table);
        if table.step_out(&self.0) {
            table.line_up(&self.0);
        }
    }

    /// Protects the connection from being closed for another one, until the result is dropped. `None` if too many are
    /// protected already.
    pub fn hold(&self) -> Option<Held> {
        let seat = &self.0;
        let mut table = lock(&seat.table);
        let limits = table.limits;
        let here = table.networks.get(&seat.network)?.can_hold(limits.network);
        if !here || !table.all.can_hold(limits.all) || !table.step_out(seat) {
            return None;
        }
        table.all.held += 1;
        table.networks.entry(seat.network).or_default().held += 1;
        Some(Held(self.clone()))
    }
}

/// A protected connection.
pub struct Held(Place);

impl Drop for Held {
    fn drop(&mut self) {
        let seat = &self.0.0;
        let mut table = lock(&seat.table);
        table.all.held -= 1;
        if let Some(count) = table.networks.get_mut(&seat.network) {
            count.held -= 1;
        }
        if !seat.end.is_cancelled() {
            table.line_up(seat);
        }
    }
}

/// A counted connection.
struct Entered(Place);

impl Entered {
    fn new(table: &Arc<Mutex<Table>>, from: IpAddr) -> Option<Entered> {
        let network = network(from);
        let mut entered = lock(table);
        if !entered.enter(network) {
            return None;
        }
        let (end, turn) = (CancellationToken::new(), AtomicU64::new(0));
        let seat = Seat { table: Arc::clone(table), network, end, turn };
        entered.line_up(&seat);
        Some(Entered(Place(Arc::new(seat))))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let seat = &self.0.0;
        let mut table = lock(&seat.table);
        table.step_out(seat);
        seat.end.cancel();
        table.all.open -= 1;
        if let Some(count) = table.networks.get_mut(&seat.network) {
            count.open -= 1;
            if count.open == 0 {
                table.networks.remove(&seat.network);
            }
        }
    }
}

/// Moves the connection of a request to the end of the queue.
async fn renewed(Extension(place): Extension<Place>, request: Request, next: Next) -> Response {
    place.renew();
    next.run(request).await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(all: usize, network: usize) -> Arc<Mutex<Table>> {
        let second = Duration::from_secs(1);
        Arc::new(Mutex::new(Table::new(Limits { all, network, head: second, write: second })))
    }

    fn enter(table: &Arc<Mutex<Table>>, from: &str) -> Option<Entered> {
        Entered::new(table, from.parse().unwrap())
    }

    fn is_closed(entered: &Entered) -> bool {
        entered.0.0.end.is_cancelled()
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
        assert_eq!(crowd.iter().filter(|entered| !is_closed(entered)).count(), 2);
        drop(crowd);
        let table = lock(&table);
        assert_eq!((table.all.open, table.networks.len()), (1, 1));
    }

    #[test]
    fn some_room_is_never_held() {
        let table = table(16, 8);
        let here: Vec<_> = (0..8).map(|_| enter(&table, "192.0.2.1").unwrap()).collect();
        let held: Vec<_> = here.iter().filter_map(|entered| entered.0.hold()).collect();
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
