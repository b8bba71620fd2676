//! The template set and its data types. No other module uses minijinja.
//!
//! - The built-in set is part of the binary. Files in the user's folder are added to it, or replace files with the same path.
//! - All templates are compiled when the set is loaded, so errors are reported before anything is written.
//! - Printing a missing or absent value is an error, and never leaves a gap on a page.
//! - All output is escaped except [`SafeHtml`]. No template needs the filter `safe`.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use include_dir::{Dir, include_dir};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};
use serde::{Serialize, Serializer};

use super::{ReportError, SiteOptions, parts};
use crate::markdown;
use crate::text::escape;

/// The maximum number of instructions for a page, which stops endless loops. A page with 10,000 nodes needs a tenth of
/// this limit. The limit is lower in unit tests, where pages are small and some tests exceed it on purpose.
const FUEL: u64 = if cfg!(test) { 10_000_000 } else { 100_000_000 };
/// The maximum size of a page. A page with 10,000 nodes needs a tenth of this size.
const LARGEST_PAGE: usize = 256 << 20;
/// The maximum size of a file in a user's template.
const LARGEST: u64 = 16 << 20;
/// The maximum total size of a user's template.
const LARGEST_SET: u64 = 64 << 20;
/// The maximum number of files and folders in a user's template.
const MOST_ENTRIES: usize = 10_000;
/// The maximum folder depth in a user's template.
const DEEPEST: usize = 8;
/// The guide for template authors. It is not part of a site.
const GUIDE: &str = "README.md";

static BUILT_IN: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/site-template");

/// A compiled template set: the built-in set, with some files replaced by the user's.
#[derive(Debug)]
pub struct Templates {
    environment: Environment<'static>,
    assets: BTreeMap<String, Vec<u8>>,
    replaced: Vec<String>,
    options: SiteOptions,
    /// A digest of all files.
    fingerprint: String,
}

/// An error while compiling or rendering a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {reason}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct TemplateError {
    /// The file: a path in the user's folder, or `site-template/NAME` for a built-in one.
    pub file: String,
    /// The line number, starting at 1, if known.
    pub line: Option<usize>,
    /// The problem.
    pub reason: String,
    /// The lines around the error, with a marker and the values in scope. It may contain untrusted text.
    pub excerpt: String,
}

impl Templates {
    /// Reads and compiles the template set.
    ///
    /// # Errors
    ///
    /// Returns an error if a file can't be read, or if a template can't be compiled.
    pub fn load(options: &SiteOptions) -> Result<Templates, ReportError> {
        let mut files: BTreeMap<String, Vec<u8>> =
            Templates::built_in().map(|(path, bytes)| (path, bytes.to_vec())).collect();
        let mut replaced = Vec::new();
        if let Some(folder) = &options.template {
            let own = OwnFiles::read(folder)?;
            replaced.extend(own.keys().cloned());
            files.extend(own);
        }
        let texts = files.iter().flat_map(|(path, bytes)| [path.as_bytes(), bytes.as_slice()]);
        let fingerprint = parts::digest(texts);
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_debug(true);
        environment.set_fuel(Some(FUEL));
        // Building with the default delimiters can't fail. Without these settings, pages would only have more blank lines.
        let syntax =
            SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
        environment.set_syntax(syntax.unwrap_or_default());
        environment.set_formatter(print);
        environment.add_filter("inline", inline);
        environment.add_filter("plain", |text: &str| plain(text));
        let mut templates = Templates {
            environment,
            assets: BTreeMap::new(),
            replaced,
            options: options.clone(),
            fingerprint,
        };
        for (path, bytes) in files {
            if path == GUIDE {
                continue;
            }
            if !path.ends_with(".html") {
                templates.assets.insert(path, bytes);
                continue;
            }
            let not_text =
                |_| templates.error_in(&path, None, "it is not UTF-8 text".to_owned(), String::new());
            let source = String::from_utf8(bytes).map_err(not_text)?;
            if let Err(error) = templates.environment.add_template_owned(path, source) {
                return Err(templates.explain(&error).into());
            }
        }
        Ok(templates)
    }

    /// Returns the paths and contents of the built-in files, as a starting point for custom templates.
    pub fn built_in() -> impl Iterator<Item = (String, &'static [u8])> {
        let mut files = Vec::new();
        collect(&BUILT_IN, &mut files);
        files.sort();
        files.into_iter()
    }

    /// Returns the options with which the set was loaded.
    pub(super) fn options(&self) -> &SiteOptions {
        &self.options
    }

    /// Returns a digest of all files.
    pub(super) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Returns the files that are copied unchanged.
    pub(super) fn assets(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.assets
    }

    /// Renders a page.
    pub(super) fn render(&self, template: &str, data: &impl Serialize) -> Result<Vec<u8>, TemplateError> {
        let mut page = PageBytes(Vec::new());
        self.environment
            .get_template(template)
            .and_then(|template| template.render_captured_to(Value::from(Serde(data)), &mut page))
            .map_err(|error| match error.kind() {
                ErrorKind::WriteFailure => {
                    let reason = "the page is longer than 256 MiB: is there an endless loop?".to_owned();
                    self.error_in(template, None, reason, String::new())
                }
                _ => self.explain(&error),
            })?;
        Ok(page.0)
    }

    fn explain(&self, error: &minijinja::Error) -> TemplateError {
        // Every template that includes another wraps the error once. The innermost error has the location.
        let mut place = error;
        let mut source = std::error::Error::source(error);
        while let Some(inner) = source {
            if let Some(inner) =
                inner.downcast_ref::<minijinja::Error>().filter(|inner| inner.name().is_some())
            {
                place = inner;
            }
            source = inner.source();
        }
        let reason = match (place.kind(), place.detail()) {
            (ErrorKind::OutOfFuel, _) => "it takes too many steps: is there an endless loop?".to_owned(),
            (kind, Some(detail)) => format!("{kind}: {detail}"),
            (kind, None) => kind.to_string(),
        };
        let excerpt = place.display_debug_info().to_string();
        self.error_in(place.name().unwrap_or("(no name)"), place.line(), reason, excerpt)
    }

    fn error_in(&self, name: &str, line: Option<usize>, reason: String, excerpt: String) -> TemplateError {
        let file = match &self.options.template {
            Some(folder) if self.replaced.iter().any(|path| path == name) => {
                folder.join(name).display().to_string()
            }
            _ => format!("site-template/{name}"),
        };
        TemplateError { file, line, reason, excerpt }
    }
}

/// A page being rendered, limited to [`LARGEST_PAGE`] bytes.
struct PageBytes(Vec<u8>);

impl io::Write for PageBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LARGEST_PAGE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// HTML that is printed without escaping. Only its constructors can create it.
#[derive(Clone, Debug)]
pub(super) struct SafeHtml(Value);

impl SafeHtml {
    /// Renders untrusted Markdown. Each passage on a page needs a different prefix.
    pub(super) fn markdown(text: &str, prefix: &str, heading_level: u8) -> SafeHtml {
        SafeHtml::parsed(&markdown::Parsed::new(text), prefix, heading_level)
    }

    /// Renders untrusted Markdown that is already parsed.
    pub(super) fn parsed(text: &markdown::Parsed, prefix: &str, heading_level: u8) -> SafeHtml {
        let options = markdown::HtmlOptions { prefix, heading_level };
        SafeHtml(Value::from_safe_string(text.to_html(&options)))
    }

    /// Renders untrusted Markdown for a heading. `None` if it is no single paragraph.
    pub(super) fn line(text: &str, prefix: &str) -> Option<SafeHtml> {
        markdown::Parsed::new(text).only_paragraph().map(|line| SafeHtml::parsed(&line, prefix, 3))
    }

    /// Renders untrusted Markdown, unless it is absent or blank.
    pub(super) fn some_markdown(text: Option<&str>, prefix: &str, heading_level: u8) -> Option<SafeHtml> {
        let text = text.filter(|text| !text.trim().is_empty())?;
        Some(SafeHtml::markdown(text, prefix, heading_level))
    }

    /// Renders the lead of text that begins with sentences.
    pub(super) fn lead(text: &str, most: usize, prefix: &str) -> Option<SafeHtml> {
        let (lead, _) = markdown::Parsed::new(text).lead(most);
        lead.map(|lead| SafeHtml::parsed(&lead, prefix, 3))
    }

    /// Renders the items of a list, skipping blank ones.
    pub(super) fn list(texts: &[String], prefix: &str) -> Vec<SafeHtml> {
        let texts = texts.iter().filter(|text| !text.trim().is_empty()).enumerate();
        texts.map(|(at, text)| SafeHtml::markdown(text, &format!("{prefix}-{at}"), 4)).collect()
    }

    /// Returns the markup of a drawing.
    pub(super) fn drawing(svg: &crate::graph::Svg) -> SafeHtml {
        SafeHtml(Value::from_safe_string(svg.markup.clone()))
    }
}

impl Serialize for SafeHtml {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Data used in several places, converted for templates only once.
#[derive(Debug)]
pub(super) struct SharedValue<T> {
    data: Arc<T>,
    value: Value,
}

impl<T: Serialize> SharedValue<T> {
    /// Converts the data.
    pub(super) fn of(data: T) -> SharedValue<T> {
        SharedValue { value: Value::from(Serde(&data)), data: Arc::new(data) }
    }
}

impl<T> Clone for SharedValue<T> {
    fn clone(&self) -> Self {
        SharedValue { data: Arc::clone(&self.data), value: self.value.clone() }
    }
}

impl<T> Deref for SharedValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

impl<T> Serialize for SharedValue<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

/// Escapes a value. Printing an absent value is an error, since `none` on a page is always a mistake.
fn print(
    out: &mut minijinja::Output<'_>,
    state: &mut minijinja::State<'_, '_>,
    value: &Value,
) -> Result<(), minijinja::Error> {
    if value.is_none() {
        let reason = "the value is absent here: put `{% if … %}` around it";
        return Err(minijinja::Error::new(ErrorKind::InvalidOperation, reason));
    }
    match value.as_str().filter(|_| !value.is_safe() && *state.auto_escape() == AutoEscape::Html) {
        None => minijinja::escape_formatter(out, state, value),
        Some(text) => out.write_str(&escape(text)).map_err(minijinja::Error::from),
    }
}

/// The filter `inline`: escapes a title, and renders backticks as code.
fn inline(text: &str) -> Result<Value, minijinja::Error> {
    let mut html = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some((before, code, after)) = next_code(rest) {
        html.push_str(&escape(before));
        html.push_str("<code>");
        html.push_str(&escape(code));
        html.push_str("</code>");
        rest = after;
    }
    html.push_str(&escape(rest));
    Ok(Value::from_safe_string(html))
}

/// The filter `plain`: removes the backticks from a title, for places without markup.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, code, after)) = next_code(rest) {
        plain.push_str(before);
        plain.push_str(code);
        rest = after;
    }
    plain + rest
}

/// Splits text at the first code span: before, inside and after. As in Markdown, a run of backticks is closed by
/// another run of the same length, and an unclosed run is plain text.
fn next_code(text: &str) -> Option<(&str, &str, &str)> {
    let mut open = next_run(text, 0);
    while let Some((start, inner)) = open {
        let mut close = next_run(text, inner);
        while let Some((end, after)) = close {
            let code = text[inner..end].trim();
            if after - end == inner - start && !code.is_empty() {
                return Some((&text[..start], code, &text[after..]));
            }
            close = next_run(text, after);
        }
        open = next_run(text, inner);
    }
    None
}

/// Returns the start and end of the next run of backticks.
fn next_run(text: &str, from: usize) -> Option<(usize, usize)> {
    let start = from + text.get(from..)?.find('`')?;
    let length = text[start..].bytes().take_while(|byte| *byte == b'`').count();
    Some((start, start + length))
}

/// Collects the files of an embedded folder, each with its path, separated by `/`.
pub(crate) fn collect(folder: &'static Dir<'static>, files: &mut Vec<(String, &'static [u8])>) {
    for file in folder.files() {
        // Paths on the build machine may have backslashes.
        files.push((file.path().to_string_lossy().replace('\\', "/"), file.contents()));
    }
    for inner in folder.dirs() {
        collect(inner, files);
    }
}

/// Collects the files of a user's template. The template may come from a stranger, so only regular files in its folder are
/// read, within limits.
struct OwnFiles {
    /// The resolved folder. No file outside it is read.
    root: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
    bytes: u64,
    entries: usize,
}

impl OwnFiles {
    fn read(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, ReportError> {
        let root = fs::canonicalize(folder).map_err(|source| unreadable(folder, source))?;
        let mut own = OwnFiles { root, files: BTreeMap::new(), bytes: 0, entries: 0 };
        own.folder(folder, "", DEEPEST)?;
        Ok(own.files)
    }

    fn folder(&mut self, folder: &Path, prefix: &str, levels: usize) -> Result<(), ReportError> {
        for entry in fs::read_dir(folder).map_err(|source| unreadable(folder, source))? {
            let entry = entry.map_err(|source| unreadable(folder, source))?;
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else {
                return Err(refused(&path, "its name is not UTF-8"));
            };
            // Hidden entries, such as those of version control and desktops, do not belong to a template.
            if name.starts_with('.') {
                continue;
            }
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Err(refused(&path, "a template has at most 10,000 files and folders"));
            }
            let target = fs::canonicalize(&path).map_err(|source| unreadable(&path, source))?;
            if !target.starts_with(&self.root) {
                return Err(refused(&path, "it is a link that points outside the template's folder"));
            }
            let name = format!("{prefix}{name}");
            let about = fs::metadata(&target).map_err(|source| unreadable(&path, source))?;
            if about.is_dir() {
                let levels = levels
                    .checked_sub(1)
                    .ok_or_else(|| refused(&path, "its folders are nested too deeply"))?;
                self.folder(&path, &format!("{name}/"), levels)?;
            } else if !about.is_file() {
                return Err(refused(&path, "it is neither a file nor a folder"));
            } else if about.len() > LARGEST {
                return Err(refused(&path, "it is larger than 16 MiB"));
            } else {
                self.bytes += about.len();
                if self.bytes > LARGEST_SET {
                    return Err(refused(&path, "with it, the template is larger than 64 MiB"));
                }
                self.files.insert(name, fs::read(&target).map_err(|source| unreadable(&path, source))?);
            }
        }
        Ok(())
    }
}

fn unreadable(path: &Path, source: io::Error) -> ReportError {
    ReportError::Io { action: "read the template", path: path.to_owned(), source }
}

fn refused(path: &Path, reason: &str) -> ReportError {
    unreadable(path, io::Error::other(reason.to_owned()))
}
