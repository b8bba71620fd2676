//! The transport between rmcp and the two streams. It tracks unanswered requests and reports the end of input to rmcp
//! only when all of them have been answered. Without it, rmcp has these problems:
//!
//! - After the end of input, rmcp waits five seconds for calls in progress (two seconds after a cancellation). Then
//!   it drops their answers, even if the calls have written data.
//! - A notification before the first request ends the session.
//! - Invalid lines are answered without their id, or not at all.
//!
//! The transport also stops reading while too much is in progress or unread ([`AT_WORK`], [`UNREAD`]), since rmcp
//! accepts an unlimited number of requests. Meanwhile, the client's writes block.

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
    framing::{BoundedLines, InvalidMessage},
    log::Log,
    server::Server,
    stdio::{MAX_LINE, PATIENCE},
};

/// A transport over the two streams of a connection.
pub(super) struct Drain<R, W> {
    lines: BoundedLines<R>,
    output: Arc<Mutex<W>>,
    pending: watch::Sender<PendingAnswers>,
    busy: TaskTracker,
    closing: CancellationToken,
    log: Log,
    is_open: bool,
}

/// The maximum number of requests in progress. Every request eventually finishes on its own, so later requests, such as a
/// cancellation, wait no longer than the time limit for calls.
pub(super) const AT_WORK: usize = 256;

/// The total size of requests in progress and unwritten answers at which reading stops, in bytes. The limit leaves room
/// for 2,000 long replies, since clients may send many requests before reading any answers.
const UNREAD: usize = 32 * 1024 * 1024;

/// The memory that an answer takes in addition to its text, in bytes.
const OVERHEAD: usize = 1024;

/// How often to check whether cancelled calls have ended while too many calls are in progress.
const LOOK: Duration = Duration::from_millis(20);

/// The answers that have not been written yet.
#[derive(Default)]
struct PendingAnswers {
    /// The unanswered requests. This is a set because rmcp answers only one of two requests with the same id. It
    /// includes subscriptions, which are answered when the connection ends.
    requests: HashSet<RequestId>,
    /// The sizes of the requests in progress, in bytes.
    working: HashMap<RequestId, usize>,
    /// The number of unwritten error answers to lines that rmcp never receives.
    errors: usize,
    /// The total size of requests in progress and unwritten answers, in bytes.
    bytes: usize,
}

impl PendingAnswers {
    fn is_empty(&self) -> bool {
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

/// An unwritten message. When this value is dropped, the message counts as written.
struct UnwrittenMessage {
    pending: watch::Sender<PendingAnswers>,
    /// The request that the message answers, if any.
    id: Option<RequestId>,
    bytes: usize,
}

impl UnwrittenMessage {
    fn new(pending: watch::Sender<PendingAnswers>, id: Option<RequestId>, length: usize) -> UnwrittenMessage {
        let bytes = length + OVERHEAD;
        pending.send_modify(|pending| {
            pending.bytes += bytes;
            id.iter().for_each(|id| pending.end(id));
        });
        UnwrittenMessage { pending, id, bytes }
    }
}

/// Failed writes also count, since a disconnected client needs no answer.
impl Drop for UnwrittenMessage {
    fn drop(&mut self) {
        self.pending.send_modify(|pending| {
            pending.bytes -= self.bytes;
            self.id.iter().for_each(|id| _ = pending.requests.remove(id));
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
            lines: BoundedLines::new(input, MAX_LINE),
            output: Arc::new(Mutex::new(output)),
            pending: watch::Sender::new(PendingAnswers::default()),
            busy: server.busy.clone(),
            closing: server.closing.clone(),
            log: server.log.clone(),
            is_open: false,
        }
    }

    /// Counts a message and returns whether to pass it on to rmcp.
    fn admit(&mut self, message: &ClientJsonRpcMessage, length: usize) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                self.is_open = self.is_open || opens_session(&request.request);
                let listens = matches!(request.request, ClientRequest::SubscriptionsListenRequest(_));
                self.pending.send_modify(|pending| {
                    pending.requests.insert(request.id.clone());
                    if !listens {
                        pending.begin(request.id.clone(), length);
                    }
                });
                true
            }
            JsonRpcMessage::Notification(notification) => {
                // rmcp drops the answer to a cancelled request, as the protocol requires.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.pending.send_modify(|pending| {
                        pending.requests.remove(id);
                        pending.end(id);
                    });
                }
                self.is_open
            }
            _ => self.is_open,
        }
    }

    /// Answers a line that is not passed on to rmcp, in a separate task because the read may be dropped at any time.
    fn refuse(&mut self, refusal: InvalidMessage) {
        let send = self.send(refusal.into_message());
        let (pending, log) = (self.pending.clone(), self.log.clone());
        pending.send_modify(|pending| pending.errors += 1);
        tokio::spawn(async move {
            if let Err(fault) = send.await {
                log.warn(format_args!("cannot answer: {fault}"));
            }
            pending.send_modify(|pending| pending.errors -= 1);
        });
    }
}

/// Waits until all answers are written, or until no call is running that could produce one.
async fn settled(pending: &watch::Sender<PendingAnswers>, busy: &TaskTracker) {
    let mut pending = pending.subscribe();
    while tokio::time::timeout(PATIENCE, pending.wait_for(PendingAnswers::is_empty)).await.is_err()
        && !busy.is_empty()
    {}
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
        // The message is serialized immediately, since its text is much smaller.
        let line = serde_json::to_vec(&message);
        let length = line.as_ref().map_or(0, Vec::len);
        let unwritten = UnwrittenMessage::new(self.pending.clone(), id.cloned(), length);
        let output = self.output.clone();
        async move {
            let _unwritten = unwritten;
            write_line(&output, line?).await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        // rmcp may drop this future at any time and call again, so no state may be lost at an await.
        loop {
            let read = tokio::select! {
                biased;
                () = self.closing.cancelled() => {
                    settled(&self.pending, &self.busy).await;
                    return None;
                }
                read = read(&mut self.lines, &self.pending, &self.busy) => read,
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

/// Reads a line when there is room for another request. Cancel safe.
async fn read<R: AsyncRead + Unpin>(
    lines: &mut BoundedLines<R>,
    pending: &watch::Sender<PendingAnswers>,
    busy: &TaskTracker,
) -> io::Result<bool> {
    // Lets earlier messages start their work, so that they are counted.
    tokio::task::yield_now().await;
    let mut pending = pending.subscribe();
    // Cancelled calls may still be running even though they get no answer.
    while pending.borrow_and_update().is_full() || busy.len() >= AT_WORK {
        let _ = tokio::time::timeout(LOOK, pending.changed()).await;
    }
    lines.read().await
}

async fn write_line<W: AsyncWrite + Unpin>(output: &Mutex<W>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}

/// Returns whether a request starts a session in rmcp. Until a session starts, rmcp treats notifications as errors.
fn opens_session(request: &ClientRequest) -> bool {
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
