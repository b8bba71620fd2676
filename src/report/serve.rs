//! Serves a site over HTTP, from memory, to people on this machine. Only this module and `mcp::http` use axum.
//!
//! # Guarantees
//!
//! - Requests are answered only from the map in [`Served`]. No path from a request reaches the file system.
//! - Only GET and HEAD are accepted, and no request changes anything.
//! - A request must name its host as an IP address or `localhost`. This defeats DNS rebinding, in which another site's name
//!   resolves to this machine.
//! - The number of connections is limited, and slow connections are closed.
//! - Headers prevent other sites from reading, embedding or framing a response.
//!
//! # How a page learns of a new state
//!
//! The page requests `/-/shown?not=STATE`. The response is 200 once that state is outdated, or 204 after a timeout.
//! Each page knows its investigation's state, and the index knows a digest of all states.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use tokio::sync::watch;
use url::Url;

use super::attachments::media_type;
use super::parts::{FileMark, FileMarks, Manifest, SitePart};
use super::site::NOT_FOUND;
use super::{Published, ReportError, SiteTarget};
use crate::base::connections::{self, ConnectionEvent, Limits};
use crate::base::platform::Signals;

/// The path that pages request to wait for a new state.
const SHOWN: &str = "/-/shown";
/// The timeout for a request for a new state. Some clients give up on a silent connection after a minute.
const PATIENCE: Duration = Duration::from_secs(25);

/// The connection limits. A browser opens six connections at a time, and keeps idle ones open.
const LIMITS: Limits = Limits { all: 500, head: Duration::from_secs(10), write: Duration::from_secs(30) };

/// A site ready to be served.
#[derive(Debug, Default)]
pub struct Served {
    /// The files by request path.
    files: BTreeMap<String, ServedFile>,
    manifest: Option<Manifest>,
    /// The digests of the displayed states.
    states: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct ServedFile {
    bytes: Bytes,
    kind: &'static str,
    tag: HeaderValue,
}

/// The next site to be served. It reuses unchanged files from the current site.
#[derive(Debug)]
pub struct NextServed<'s> {
    before: &'s Served,
    files: Mutex<BTreeMap<String, ServedFile>>,
}

impl NextServed<'_> {
    /// Returns the site with all published files.
    pub fn finish(self, published: &Published) -> Served {
        let index = published.state();
        let states = published.parts.iter().map(|part| part.shown.clone()).chain([index]).collect();
        let files = self.files.into_inner().unwrap_or_else(PoisonError::into_inner);
        Served { files, states, manifest: published.manifest() }
    }

    fn insert(&self, path: &str, file: ServedFile) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(request_path(path), file);
    }
}

impl SiteTarget for NextServed<'_> {
    fn earlier(&self, maker: Option<&str>) -> &[SitePart] {
        self.before.manifest.as_ref().map_or(&[], |manifest| manifest.made_by(maker))
    }

    fn put(&self, path: &str, bytes: Vec<u8>) -> Result<FileMark, ReportError> {
        let mark = FileMark::of(&bytes);
        // The digest contains only hexadecimal digits, so it is a valid header value.
        let tag = HeaderValue::from_str(&format!("\"{}\"", mark.digest));
        let tag = tag.unwrap_or(HeaderValue::from_static("\"\""));
        self.insert(path, ServedFile { kind: content_type(path), bytes: bytes.into(), tag });
        Ok(mark)
    }

    fn keep(&self, part: &SitePart) -> Result<bool, ReportError> {
        for path in part.files.keys() {
            let Some(file) = self.before.files.get(&request_path(path)) else { return Ok(false) };
            self.insert(path, file.clone());
        }
        Ok(true)
    }

    fn keep_folder(&self, folder: &str) -> Result<FileMarks, ReportError> {
        let parts = self.before.manifest.iter().flat_map(|manifest| &manifest.parts);
        let files = parts.flat_map(|part| &part.files).filter(|(path, _)| path.starts_with(folder));
        let kept = files.inspect(|(path, _)| {
            if let Some(file) = self.before.files.get(&request_path(path)) {
                self.insert(path, file.clone());
            }
        });
        Ok(kept.map(|(path, mark)| (path.clone(), mark.clone())).collect())
    }
}

impl Served {
    /// Returns the builder of the next site.
    pub fn next(&self) -> NextServed<'_> {
        NextServed { before: self, files: Mutex::default() }
    }

    fn answer(&self, path: &str, known: Option<&HeaderValue>) -> Response {
        let index = |folder: &str| format!("{folder}index.html");
        let file = match path.strip_suffix('/') {
            Some(_) => self.files.get(&index(path)),
            None => self.files.get(path),
        };
        let Some(file) = file else {
            let folder = format!("{path}/");
            return match self.files.contains_key(&index(&folder)) {
                true => Redirect::permanent(&folder).into_response(),
                false => {
                    let page = self.files.get(&request_path(NOT_FOUND)).map(|page| page.bytes.clone());
                    (StatusCode::NOT_FOUND, Html(page.unwrap_or_default())).into_response()
                }
            };
        };
        let tag = [(header::ETAG, file.tag.clone())];
        if known.is_some_and(|known| known == file.tag) {
            return (StatusCode::NOT_MODIFIED, tag).into_response();
        }
        (tag, [(header::CONTENT_TYPE, file.kind)], file.bytes.clone()).into_response()
    }
}

/// The site served, which can be replaced while serving. Clones share it.
#[derive(Clone, Debug)]
pub struct Publisher(watch::Sender<Arc<Served>>);

impl Publisher {
    /// Creates a publisher that starts with the given site.
    pub fn new(first: Served) -> Publisher {
        Publisher(watch::Sender::new(Arc::new(first)))
    }

    /// Returns the current site.
    pub fn shown(&self) -> Arc<Served> {
        Arc::clone(&self.0.borrow())
    }

    /// Replaces the site, and notifies waiting pages.
    pub fn publish(&self, next: Served) {
        self.0.send_replace(Arc::new(next));
    }
}

/// Serves until Ctrl-C or SIGTERM.
///
/// # Errors
///
/// Returns an error if the listener can't be used.
pub fn serve(listener: TcpListener, publisher: &Publisher) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let pages = Router::new().fallback(respond).with_state(publisher.0.subscribe());
        let mut outcome = Ok(());
        let signals = Signals::listen(false, |_, fault| outcome = Err(fault));
        outcome?;
        // Nothing needs an answer after the signal.
        drop(connections::serve(listener, pages, LIMITS, tell, signals.arrived(1)).await);
        Ok(())
    })
}

fn tell(event: ConnectionEvent) {
    if let ConnectionEvent::NotAccepted(fault) = event {
        eprintln!("tot-report: cannot accept a connection: {fault}");
    }
}

async fn respond(State(mut shown): State<watch::Receiver<Arc<Served>>>, request: Request) -> Response {
    let mut response = match refusal(&request) {
        Some(response) => response,
        None if request.uri().path() == SHOWN => wait_for_another(&mut shown, request.uri()).await,
        None => {
            let served = Arc::clone(&shown.borrow());
            served.answer(request.uri().path(), request.headers().get(header::IF_NONE_MATCH))
        }
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Returns the response that refuses an invalid request, or `None` if the request is valid.
fn refusal(request: &Request) -> Option<Response> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let allowed = [(header::ALLOW, "GET, HEAD")];
        let refusal = (StatusCode::METHOD_NOT_ALLOWED, allowed, "Only GET and HEAD are allowed.\n");
        return Some(refusal.into_response());
    }
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let in_target = request.uri().authority().map(|authority| authority.as_str());
    if !named.is_some_and(is_this_machine) || !in_target.is_none_or(is_this_machine) {
        let reason =
            "The host must be localhost or an IP address: open the address that tot-report printed.\n";
        return Some((StatusCode::MISDIRECTED_REQUEST, reason).into_response());
    }
    None
}

/// Returns true for a host, with or without a port, that is not resolved by DNS.
fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, "")) => address,
        Some((address, port)) if port.starts_with(':') => address,
        Some(_) => return false,
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

async fn wait_for_another(shown: &mut watch::Receiver<Arc<Served>>, uri: &Uri) -> Response {
    let known = uri.query().and_then(|query| query.strip_prefix("not=")).unwrap_or_default().to_owned();
    let is_another = |served: &Arc<Served>| !served.states.contains(&known);
    match tokio::time::timeout(PATIENCE, shown.wait_for(is_another)).await {
        Ok(Ok(_)) => "Another state is shown.\n".into_response(),
        // There was no change, or the publisher is gone.
        Ok(Err(_)) | Err(_) => StatusCode::NO_CONTENT.into_response(),
    }
}

/// Returns the request path of a file.
fn request_path(path: &str) -> String {
    let Ok(mut url) = Url::parse("http://localhost/") else { return format!("/{path}") };
    if let Ok(mut parts) = url.path_segments_mut() {
        parts.pop_if_empty().extend(path.split('/'));
    }
    url.path().to_owned()
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "xml" => "application/atom+xml",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "dot" | "mmd" | "yaml" | "txt" | "md" => "text/plain; charset=utf-8",
        _ => media_type(path).unwrap_or("application/octet-stream"),
    }
}
