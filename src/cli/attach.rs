//! `tot attach`: attaches files to a node.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::caller::caller;
use super::place::Common;
use super::print::{say_json, stored, warn};
use super::{CommandResult, misused, say};
use crate::base::world::World;
use crate::decide::attach;
use crate::domain::Event;
use crate::format::layout;
use crate::ruleset::ATTACHMENT_MAX;
use crate::service::Service;
use crate::text::{counted, one_line};

/// The maximum value of `--max-bytes`. All readers accept files up to this size.
pub(super) const MOST: u64 = 8 << 20;

/// Attach files to a committed node: a log, a plot, the output of a command. They become part of the investigation, in
/// one commit with your git identity as its author. Existing attachments are never replaced. Metadata in pictures, such as
/// the position and the camera, is not stored.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct AttachArguments {
    /// Node
    node: String,
    /// Files; - for standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// Name for the attachment of a single file; default: the file's own name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Maximum bytes per file
    #[arg(long, value_name = "BYTES", default_value_t = ATTACHMENT_MAX, value_parser = clap::value_parser!(u64).range(1..=MOST))]
    max_bytes: u64,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Examples:
  tot attach R2.A1 timings.csv plot.png
  cargo bench 2>&1 | tot attach R2.A1 - --name bench.log";

pub(super) fn run(arguments: &AttachArguments) -> CommandResult {
    let files = &arguments.files;
    if arguments.name.is_some() && files.len() > 1 {
        return Err(misused("--name is for one file"));
    }
    let files = files.iter().map(|file| read(file, arguments.name.as_deref(), arguments.max_bytes));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let place = arguments.common.place()?;
    let path = place.folder()?;
    let node = place.node_id(&path, &arguments.node)?;
    let session = place.store.id(&path)?.to_string();
    let mut service = Service::new(place.store.root().to_owned(), World::Machine, None);
    service.attachment_max = arguments.max_bytes;
    let written = service.attach(&session, &node, &files, &caller(&place.store, &path)?)?;
    let attached = match &written.decision.event {
        Some(Event::Attached { attachments }) => attachments.as_slice(),
        _ => &[],
    };
    warn("tot attach", &written);
    let is_cleaned = |at: usize, content: &[u8]| files.get(at).is_some_and(|file| file.content != content);
    let attached = attached.iter().enumerate();
    let attached = attached.map(|(at, it)| {
        let path = layout::attachment(&it.node, &it.name);
        (path, &it.name, it.content.len(), is_cleaned(at, &it.content))
    });
    if arguments.common.json {
        let attachments: Vec<Value> = attached
            .map(|(path, name, bytes, _)| json!({"name": name.to_string(), "bytes": bytes, "path": path}))
            .collect();
        let commit = written.loaded.snapshot.head.to_string();
        let node = node.to_string();
        return stored(say_json(&json!({"commit": commit, "nodeId": node, "attachments": attachments})));
    }
    let lines = attached.map(|(path, _, bytes, is_cleaned)| {
        let without = if is_cleaned { ", without its metadata" } else { "" };
        format!("{path} ({}{without})\n", counted(bytes, "byte"))
    });
    stored(say(&lines.collect::<String>()))
}

/// Reads a file and returns its content and its name in the repository.
pub(super) fn read(file: &str, name: Option<&str>, most: u64) -> CommandResult<attach::NewAttachment> {
    let (path, shown) = (Path::new(file), one_line(file));
    let name = match (name, path.file_name()) {
        (Some(name), _) => name.to_owned(),
        (None, _) if file == "-" => {
            return Err(misused("standard input has no name: give it one with --name"));
        }
        (None, Some(name)) => name.to_string_lossy().into_owned(),
        (None, None) => return Err(format!("{shown} is not a file").into()),
    };
    let failed = |error: std::io::Error| format!("cannot read {shown}: {error}");
    let input: Box<dyn Read> = match file {
        "-" => Box::new(std::io::stdin().lock()),
        _ => Box::new(File::open(path).map_err(failed)?),
    };
    let mut content = Vec::new();
    // One byte more than the limit reveals a file that is too large.
    input.take(most + 1).read_to_end(&mut content).map_err(failed)?;
    if content.len() as u64 > most {
        return Err(format!(
            "{shown} has more than {most} bytes: attach the part that matters, or see --max-bytes"
        )
        .into());
    }
    Ok(attach::NewAttachment { name, content })
}
