//! rmcp's view of the two streams: it keeps account of what is owed an answer, so that the end of the input, as rmcp sees
//! it, comes only when nothing is. rmcp by itself would give calls in flight five seconds at the end of the input and two
//! after a cancellation, and then drop the answer of a write that has happened; a notification before the first request
//! would end its session; and invalid lines it answers without their id, or not at all.

use std::{collections::HashSet, io, sync::Arc};

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

/// The two streams.
pub(super) struct Drain<R, W> {
    lines: Lines<R>,
    output: Arc<Mutex<W>>,
    owed: watch::Sender<Owed>,
    busy: TaskTracker,
    closing: CancellationToken,
    log: Log,
    opened: bool,
}

/// What is still to be written.
#[derive(Default)]
struct Owed {
    /// A set, not a count: rmcp answers only one of two requests with the same id. Subscriptions are among them: they
    /// are answered when the connection ends.
    requests: HashSet<RequestId>,
    /// Error answers to lines that rmcp never sees.
    errors: usize,
}

impl Owed {
    fn nothing(&self) -> bool {
        self.requests.is_empty() && self.errors == 0
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

    /// Keeps account of a message, and says whether rmcp shall see it.
    fn admit(&mut self, message: &ClientJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                self.opened = self.opened || opens(&request.request);
                self.owed.send_modify(|owed| _ = owed.requests.insert(request.id.clone()));
                true
            }
            JsonRpcMessage::Notification(notification) => {
                // rmcp drops the answer to a cancelled request, as the protocol has it.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.owed.send_modify(|owed| _ = owed.requests.remove(id));
                }
                self.opened
            }
            _ => self.opened,
        }
    }

    /// Answers a line that rmcp can't see. Beside the reading, which may be dropped at any time.
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
        let output = self.output.clone();
        let owed = self.owed.clone();
        async move {
            let id = match &message {
                JsonRpcMessage::Response(response) => Some(&response.id),
                JsonRpcMessage::Error(error) => error.id.as_ref(),
                _ => None,
            };
            let sent = write_line(&output, &message).await;
            // Also when it failed: a client that is gone is owed nothing.
            if let Some(id) = id {
                owed.send_modify(|owed| _ = owed.requests.remove(id));
            }
            sent
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
                read = self.lines.read() => read,
            };
            match read {
                Ok(true) => match self.lines.take() {
                    Ok(Some(message)) if self.admit(&message) => return Some(message),
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

async fn write_line<W: AsyncWrite + Unpin>(
    output: &Mutex<W>,
    message: &ServerJsonRpcMessage,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
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
