//! A real `tot-mcp` over HTTP, and clients that see every byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Sandbox, stdio};

/// A running server.
pub struct HttpServer {
    child: Child,
    /// The address that it listens on.
    pub url: String,
    /// Its remaining standard error, available after it has ended.
    said: Option<JoinHandle<String>>,
}

/// A response.
pub struct Answer {
    pub status: u16,
    pub headers: ureq::http::HeaderMap,
    pub text: String,
}

impl Answer {
    /// Returns a header's value, or an empty string if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns the message in the body, plain or as an event.
    pub fn message(&self) -> Value {
        let text = match self.header("content-type") {
            "text/event-stream" => {
                self.text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap()
            }
            _ => &self.text,
        };
        serde_json::from_str(text).unwrap_or_else(|_| panic!("{} {}", self.status, self.text))
    }
}

impl HttpServer {
    /// Starts a server on a port chosen by the system.
    pub fn start(sandbox: &Sandbox, arguments: &[&str]) -> HttpServer {
        HttpServer::run(HttpServer::command(sandbox, arguments))
    }

    /// Returns the command that starts a server, which the caller can change.
    pub fn command(sandbox: &Sandbox, arguments: &[&str]) -> Command {
        sandbox.server_command(&sandbox.root(), &[&["--http", "127.0.0.1:0"], arguments].concat())
    }

    pub fn run(mut command: Command) -> HttpServer {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let url = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).unwrap() > 0, "no address: {said}");
            said.push_str(&line);
            if let Some(at) = line.find("http://") {
                break line[at..].split(['"', '\n']).next().unwrap().to_owned();
            }
        };
        // Reads to the end, so that the server never waits for a reader.
        let said = std::thread::spawn(move || {
            let mut said = String::new();
            stderr.read_to_string(&mut said).unwrap();
            said
        });
        HttpServer { child, url, said: Some(said) }
    }

    /// Returns the address without the path.
    pub fn host(&self) -> &str {
        self.url.strip_prefix("http://").unwrap().split('/').next().unwrap()
    }

    /// Opens a connection.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.host()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends any request to any path, on a new connection.
    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.request_on(&agent(), method, path, headers, body).unwrap()
    }

    fn request_on(
        &self,
        agent: &ureq::Agent,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Answer, ureq::Error> {
        let mut request =
            ureq::http::Request::builder().method(method).uri(format!("http://{}{path}", self.host()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut response = agent.run(request.body(body.to_owned())?)?;
        Ok(Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: response.body_mut().read_to_string()?,
        })
    }

    /// Sends a message as a client does, with additional headers.
    pub fn post(&self, headers: &[(&str, &str)], message: &Value) -> Answer {
        self.post_on(&agent(), headers, message).unwrap()
    }

    fn post_on(
        &self,
        agent: &ureq::Agent,
        headers: &[(&str, &str)],
        message: &Value,
    ) -> Result<Answer, ureq::Error> {
        let usual = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        self.request_on(agent, "POST", "/mcp", &[&usual, headers].concat(), &message.to_string())
    }

    /// Connects a client with a session.
    pub fn client<'a>(&'a self, headers: &[(&'a str, &'a str)]) -> Client<'a> {
        let hello = self.post(headers, &initialize());
        assert_eq!(hello.status, 200, "{}", hello.text);
        assert_eq!(hello.message()["result"]["protocolVersion"], "2025-11-25");
        let client = Client {
            server: self,
            agent: agent(),
            session: hello.header("mcp-session-id").to_owned(),
            headers: headers.to_vec(),
        };
        let ready = client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(ready.status, 202);
        client
    }

    /// Returns the process id.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Asks the server to end, as an operator does.
    pub fn terminate(&self) {
        super::terminate(self.process());
    }

    /// Waits until the server ends, and returns its remaining standard error. Standard output must be empty.
    pub fn end(&mut self) -> (ExitStatus, String) {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "it doesn't end");
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(out, "", "nothing goes to stdout");
        (status, self.said.take().unwrap().join().unwrap())
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An agent that keeps its connection open between requests.
fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false).allow_non_standard_methods(true);
    config.build().into()
}

/// A client with a session and a connection.
pub struct Client<'a> {
    server: &'a HttpServer,
    agent: ureq::Agent,
    pub session: String,
    headers: Vec<(&'a str, &'a str)>,
}

impl Client<'_> {
    pub fn send(&self, message: &Value) -> Answer {
        self.try_send(message).unwrap()
    }

    fn try_send(&self, message: &Value) -> Result<Answer, ureq::Error> {
        let own = [("mcp-session-id", self.session.as_str()), ("mcp-protocol-version", "2025-11-25")];
        self.server.post_on(&self.agent, &[&own, self.headers.as_slice()].concat(), message)
    }

    /// Calls a tool and returns its reply.
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        self.try_call(tool, arguments).unwrap()
    }

    /// Calls a tool that may fail. Returns the response if it is not a reply.
    pub fn try_call(&self, tool: &str, arguments: Value) -> Result<Value, String> {
        let answer = self.try_send(&call(tool, arguments)).map_err(|error| error.to_string())?;
        if answer.status != 200 {
            return Err(format!("{}, {}", answer.status, answer.text));
        }
        let reply = stdio::reply(&answer.message());
        super::assert_codes_are_named(tool, &reply);
        Ok(reply)
    }

    /// Starts an investigation.
    pub fn start(&self) -> String {
        let reply = self.call("tot_start", json!({"query": "Why is the sky blue?"}));
        reply["sessionId"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
    }

    /// Sends a request without waiting for the response. Returns the connection.
    pub fn begin(&self, message: &Value) -> TcpStream {
        let mut stream = self.server.connect();
        let body = message.to_string();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMcp-Session-Id: {}\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.server.host(),
            self.session,
            body.len()
        )
        .unwrap();
        stream
    }
}

pub fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
        "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}}})
}

pub fn call(tool: &str, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments}})
}
