//! rmcp's view of the two streams: it keeps track of the requests that are owed an answer, and shows rmcp the end of the input
//! only when none is left. rmcp by itself would give calls in flight five seconds at the end of the input and two after a
//! cancellation, and then drop the answer of a write that has happened; a notification before the first request would end its
//! session; and invalid lines it answers without their id, or not at all.
//!
//! It also stops reading while much is at work or unread ([`AT_WORK`], [`UNREAD`]): rmcp would accept without limit. The client's
//! writes then wait until it reads.

use std::collections::{HashMap, HashSet};
use std::{io, sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta, JsonRpcMessage, ProtocolVersion,
        RequestId, ServerJsonRpcMessage,
    },
    transport::Transport,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::{Mutex, watch},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    framing::{Lines, Refusal},
    log::Log,
    server::Server,
    stdio::{MAX_LINE, PATIENCE},
};

/// The two streams of a connection.
pub(super) struct Drain<R, W> {
    lines: Lines<R>,
    output: Arc<Mutex<W>>,
    owed: watch::Sender<Owed>,
    busy: TaskTracker,
    closing: CancellationToken,
    log: Log,
    opened: bool,
}

/// How many requests are worked on at once. They end without the client's doing, so those behind them, a cancellation say,
/// wait no longer than a call may take.
pub(super) const AT_WORK: usize = 256;

/// How many bytes of requests at work and of answers that aren't written yet there may be before no more is read. As much
/// as 2,000 long replies: clients may send many requests before they read.
const UNREAD: usize = 32 * 1024 * 1024;

/// The memory of an answer beside its text.
const OVERHEAD: usize = 1024;

/// The interval of checks whether calls without an answer have ended, while too many are at work.
const LOOK: Duration = Duration::from_millis(20);

/// The answers still to be written.
#[derive(Default)]
struct Owed {
    /// A set, not a count: rmcp answers only one of two requests with the same id. Subscriptions are among them: they
    /// are answered when the connection ends.
    requests: HashSet<RequestId>,
    /// The lengths of requests at work.
    working: HashMap<RequestId, usize>,
    /// Error answers to lines that rmcp never sees.
    errors: usize,
    /// The size of requests at work and of unwritten answers, in bytes.
    bytes: usize,
}

impl Owed {
    fn nothing(&self) -> bool {
        self.requests.is_empty() && self.errors == 0
    }

    fn is_full(&self) -> bool {
        self.working.len() >= AT_WORK || self.bytes >= UNREAD
    }

    fn begin(&mut self, id: RequestId, bytes: usize) {
        self.bytes += bytes;
        self.bytes -= self.working.insert(id, bytes).unwrap_or(0);
    }

    fn end(&mut self, id: &RequestId) {
        self.bytes -= self.working.remove(id).unwrap_or(0);
    }
}

/// An unwritten message.
struct Unwritten {
    owed: watch::Sender<Owed>,
    /// The request that it answers.
    id: Option<RequestId>,
    bytes: usize,
}

impl Unwritten {
    fn new(owed: watch::Sender<Owed>, id: Option<RequestId>, length: usize) -> Unwritten {
        let bytes = length + OVERHEAD;
        owed.send_modify(|owed| {
            owed.bytes += bytes;
            id.iter().for_each(|id| owed.end(id));
        });
        Unwritten { owed, id, bytes }
    }
}

/// Also when it failed: a client that is gone is owed nothing.
impl Drop for Unwritten {
    fn drop(&mut self) {
        self.owed.send_modify(|owed| {
            owed.bytes -= self.bytes;
            self.id.iter().for_each(|id| _ = owed.requests.remove(id));
        });
    }
}

impl<R, W> Drain<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(input: R, output: W, server: &Server) -> Self {
        Drain {
            lines: Lines::new(input, MAX_LINE),
            output: Arc::new(Mutex::new(output)),
            owed: watch::Sender::new(Owed::default()),
            busy: server.busy.clone(),
            closing: server.closing.clone(),
            log: server.log.clone(),
            opened: false,
        }
    }

    /// Counts a message of that length, and returns whether rmcp may see it.
    fn admit(&mut self, message: &ClientJsonRpcMessage, length: usize) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                self.opened = self.opened || opens(&request.request);
                let listens = matches!(request.request, ClientRequest::SubscriptionsListenRequest(_));
                self.owed.send_modify(|owed| {
                    owed.requests.insert(request.id.clone());
                    if !listens {
                        owed.begin(request.id.clone(), length);
                    }
                });
                true
            }
            JsonRpcMessage::Notification(notification) => {
                // rmcp drops the answer to a cancelled request, as the protocol has it.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.owed.send_modify(|owed| {
                        owed.requests.remove(id);
                        owed.end(id);
                    });
                }
                self.opened
            }
            _ => self.opened,
        }
    }

    /// Answers a line that rmcp can't see. It runs in a task of its own, since reading may be dropped at any time.
    fn refuse(&mut self, refusal: Refusal) {
        let send = self.send(refusal.into_message());
        let (owed, log) = (self.owed.clone(), self.log.clone());
        owed.send_modify(|owed| owed.errors += 1);
        tokio::spawn(async move {
            if let Err(fault) = send.await {
                log.warn(format_args!("cannot answer: {fault}"));
            }
            owed.send_modify(|owed| owed.errors -= 1);
        });
    }
}

/// Waits until no answer is owed any more, or nothing works on one.
async fn settled(owed: &watch::Sender<Owed>, busy: &TaskTracker) {
    let mut owed = owed.subscribe();
    while tokio::time::timeout(PATIENCE, owed.wait_for(Owed::nothing)).await.is_err() && !busy.is_empty() {}
}

impl<R, W> Transport<RoleServer> for Drain<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        // Serialised at once: the text is much smaller than the message.
        let line = serde_json::to_vec(&message);
        let length = line.as_ref().map_or(0, Vec::len);
        let unwritten = Unwritten::new(self.owed.clone(), id.cloned(), length);
        let output = self.output.clone();
        async move {
            let _unwritten = unwritten;
            write_line(&output, line?).await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        // rmcp drops this future whenever something else happens, and calls again: nothing may be lost at an await.
        loop {
            let read = tokio::select! {
                biased;
                () = self.closing.cancelled() => {
                    settled(&self.owed, &self.busy).await;
                    return None;
                }
                read = read(&mut self.lines, &self.owed, &self.busy) => read,
            };
            let length = self.lines.length();
            match read {
                Ok(true) => match self.lines.take() {
                    Ok(Some(message)) if self.admit(&message, length) => return Some(message),
                    Ok(_) => {}
                    Err(refusal) if refusal.silent => self.log.warn(refusal.message),
                    Err(refusal) => self.refuse(refusal),
                },
                Ok(false) => self.closing.cancel(),
                Err(fault) => {
                    self.log.warn(format_args!("cannot read from the client: {fault}"));
                    self.closing.cancel();
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }
}

/// Reads a line when there is room for one more request. May be dropped at any time.
async fn read<R: AsyncRead + Unpin>(
    lines: &mut Lines<R>,
    owed: &watch::Sender<Owed>,
    busy: &TaskTracker,
) -> io::Result<bool> {
    // Lets earlier messages start their work, where they are counted.
    tokio::task::yield_now().await;
    let mut owed = owed.subscribe();
    // Cancelled calls may be at work, which are owed no answer.
    while owed.borrow_and_update().is_full() || busy.len() >= AT_WORK {
        let _ = tokio::time::timeout(LOOK, owed.changed()).await;
    }
    lines.read().await
}

async fn write_line<W: AsyncWrite + Unpin>(output: &Mutex<W>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

/// Whether a request begins a session, as rmcp decides it. Before that, rmcp takes a notification for a breakdown.
fn opens(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let version = meta.protocol_version();
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && version.is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
        }
    }
}
