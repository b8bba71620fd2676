//! The one user of minijinja: the template set, and data for it.
//!
//! - The built-in set is inside the binary; files of the user's folder replace those of the same path, or join them.
//! - All templates are compiled when the set is loaded, so that a fault shows before anything is written.
//! - A value that is missing or absent is an error where it is printed, never an empty place on a page.
//! - Everything is escaped where it is printed, but for [`SafeHtml`]. No template needs the filter `safe`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs, io};

use include_dir::{Dir, include_dir};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};
use serde::{Serialize, Serializer};

use super::{ReportError, SiteOptions, parts};
use crate::markdown;
use crate::text::escape;

/// Instructions that one page may take: a page of 10,000 nodes takes a tenth; a loop without end is stopped. The unit tests
/// have small pages, and wait for that end.
const FUEL: u64 = if cfg!(test) { 10_000_000 } else { 100_000_000 };
/// The longest page: that of 10,000 nodes as one document has a tenth.
const LARGEST_PAGE: usize = 256 << 20;
/// The largest file of a user's template.
const LARGEST: u64 = 16 << 20;
/// All files of a user's template together.
const LARGEST_SET: u64 = 64 << 20;
/// The most files and folders in a user's template.
const MOST_ENTRIES: usize = 10_000;
/// Folders inside of each other in a user's template.
const DEEPEST: usize = 8;
/// The guide for people who write templates; it is not part of a site.
const GUIDE: &str = "README.md";

static BUILT_IN: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/site-template");

/// A template set, compiled: the built-in one, with a user's files in place of some.
pub struct Templates {
    environment: Environment<'static>,
    assets: BTreeMap<String, Vec<u8>>,
    replaced: Vec<String>,
    options: SiteOptions,
    /// Stands for all files.
    fingerprint: String,
}

/// A template that can't be compiled or rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {reason}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct TemplateError {
    /// The file: a path for one of the user's, `site-template/NAME` for a built-in one.
    pub file: String,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// The fault.
    pub reason: String,
    /// The lines around it with a mark below, and the values there. It may hold texts of strangers.
    pub excerpt: String,
}

impl Templates {
    /// Reads and compiles the template set.
    ///
    /// # Errors
    ///
    /// A file of the user's that can't be read, or a template that can't be compiled.
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
        // Without a delimiter of our own this can't fail; where it did, pages would only hold more blank lines.
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

    /// The built-in template set, to start one's own from: path and content of each file.
    pub fn built_in() -> impl Iterator<Item = (String, &'static [u8])> {
        let mut files = Vec::new();
        collect(&BUILT_IN, &mut files);
        files.sort();
        files.into_iter()
    }

    /// The options that the set was loaded with.
    pub(super) fn options(&self) -> &SiteOptions {
        &self.options
    }

    /// Stands for all files of the set.
    pub(super) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The files that are copied as they are.
    pub(super) fn assets(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.assets
    }

    /// One page.
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
        // An error in an included template is wrapped once for each that includes it; the innermost is the place.
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

/// A page while it is rendered: no longer than [`LARGEST_PAGE`].
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

impl fmt::Debug for Templates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Templates")
            .field("folder", &self.options.template)
            .field("replaced", &self.replaced)
            .finish()
    }
}

/// HTML that may stand on a page as it is. The constructors are the only ways in.
#[derive(Clone, Debug)]
pub(super) struct SafeHtml(Value);

impl SafeHtml {
    /// A stranger's Markdown, made safe. Two texts on one page need two prefixes.
    pub(super) fn markdown(text: &str, prefix: &str, heading_level: u8) -> SafeHtml {
        SafeHtml::parsed(&markdown::Parsed::new(text), prefix, heading_level)
    }

    /// A stranger's Markdown that is parsed already.
    pub(super) fn parsed(text: &markdown::Parsed, prefix: &str, heading_level: u8) -> SafeHtml {
        let options = markdown::HtmlOptions { prefix, heading_level };
        SafeHtml(Value::from_safe_string(raise_headings(text.to_html(&options), heading_level)))
    }

    /// A stranger's Markdown that may be absent or blank.
    pub(super) fn some_markdown(text: Option<&str>, prefix: &str, heading_level: u8) -> Option<SafeHtml> {
        let text = text.filter(|text| !text.trim().is_empty())?;
        Some(SafeHtml::markdown(text, prefix, heading_level))
    }

    /// What a text comes to, if it begins with sentences, and the rest of it, if there is any.
    pub(super) fn lead(text: &str, most: usize, prefix: &str) -> [Option<SafeHtml>; 2] {
        let parsed = markdown::Parsed::new(text);
        let (lead, rest) = parsed.lead(most);
        let rest = SafeHtml::parsed(&rest, &format!("{prefix}-rest"), 3);
        let lead = lead.map(|lead| SafeHtml::parsed(&lead, prefix, 3));
        [lead, Some(rest).filter(|rest| !rest.as_str().trim().is_empty())]
    }

    /// The texts of a list that are not blank.
    pub(super) fn list(texts: &[Cow<'_, str>], prefix: &str) -> Vec<SafeHtml> {
        let texts = texts.iter().filter(|text| !text.trim().is_empty()).enumerate();
        texts.map(|(at, text)| SafeHtml::markdown(text, &format!("{prefix}-{at}"), 4)).collect()
    }

    /// The markup.
    pub(super) fn as_str(&self) -> &str {
        self.0.as_str().unwrap_or_default()
    }

    /// The markup of a drawing.
    pub(super) fn drawing(svg: &crate::graph::Svg) -> SafeHtml {
        SafeHtml(Value::from_safe_string(svg.markup.clone()))
    }
}

impl Serialize for SafeHtml {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Brings the highest heading of a fragment to `level` and the others along. Many findings begin with `##`, and a
/// page whose outline skips a level reads badly aloud.
fn raise_headings(html: String, level: u8) -> String {
    const OPEN: [&str; 5] = ["<h2", "<h3", "<h4", "<h5", "<h6"];
    let to = usize::from(level.clamp(2, 6)) - 2;
    let Some(from) = OPEN.iter().position(|tag| html.contains(tag)).filter(|from| *from > to) else {
        return html;
    };
    let mut raised = String::with_capacity(html.len());
    let mut rest = html.as_str();
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at + 1);
        raised.push_str(before);
        rest = tag;
        for start in ["h", "/h"] {
            let level = tag.strip_prefix(start).and_then(|tag| tag.chars().next()?.to_digit(10));
            if let Some(level) = level.filter(|level| (from + 2..=6).contains(&(*level as usize))) {
                raised.push_str(start);
                raised.push_str(&(level as usize - (from - to)).to_string());
                rest = &tag[start.len() + 1..];
            }
        }
    }
    raised + rest
}

/// Data used in several places, converted for templates once.
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

/// Escapes a value, and refuses one that is absent: `none` on a page is always a mistake.
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

/// The filter `inline`: a title with what stands in backticks as code, and everything escaped.
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

/// The filter `plain`: a title without its backticks, for places that hold no markup.
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

/// The first code in backticks: what stands before it, in it, and after it. As Markdown has it, a run of backticks
/// ends with one of the same length, and one that does not end is text.
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

/// The first run of backticks from a place on: where it begins, and where it ends.
fn next_run(text: &str, from: usize) -> Option<(usize, usize)> {
    let start = from + text.get(from..)?.find('`')?;
    let length = text[start..].bytes().take_while(|byte| *byte == b'`').count();
    Some((start, start + length))
}

fn collect(folder: &'static Dir<'static>, files: &mut Vec<(String, &'static [u8])>) {
    for file in folder.files() {
        // Paths of the machine that built the program may have backslashes.
        files.push((file.path().to_string_lossy().replace('\\', "/"), file.contents()));
    }
    for inner in folder.dirs() {
        collect(inner, files);
    }
}

/// The files of a user's template, while they are read. It may come from a stranger: only plain files in the folder
/// are taken, and only so many.
struct OwnFiles {
    /// The folder without links: no file is read from outside of it.
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
            // Folders of version control and of the desktop do not belong to a template.
            if name.starts_with('.') {
                continue;
            }
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Err(refused(&path, "a template has at most 10,000 files and folders"));
            }
            let target = fs::canonicalize(&path).map_err(|source| unreadable(&path, source))?;
            if !target.starts_with(&self.root) {
                return Err(refused(&path, "it is a link that leads out of the template's folder"));
            }
            let name = format!("{prefix}{name}");
            let about = fs::metadata(&target).map_err(|source| unreadable(&path, source))?;
            if about.is_dir() {
                let levels =
                    levels.checked_sub(1).ok_or_else(|| refused(&path, "its folders are too deep"))?;
                self.folder(&path, &format!("{name}/"), levels)?;
            } else if !about.is_file() {
                return Err(refused(&path, "it is neither a file nor a folder"));
            } else if about.len() > LARGEST {
                return Err(refused(&path, "it is larger than 16 MiB"));
            } else {
                self.bytes += about.len();
                if self.bytes > LARGEST_SET {
                    return Err(refused(&path, "with it the template is larger than 64 MiB"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_raised_together_and_nothing_else_is() {
        let raised = |html: &str, level| raise_headings(html.to_owned(), level);
        let html = "<h4 id=\"a\">A</h4><hr><p title=\"<h1 <4\">h4 &lt;h4</p><h6>B</h6>";
        assert_eq!(raised(html, 2), "<h2 id=\"a\">A</h2><hr><p title=\"<h1 <4\">h4 &lt;h4</p><h4>B</h4>");
        assert_eq!(raised(html, 4), html);
        assert_eq!(raised("<hr><p></p>", 2), "<hr><p></p>");
    }
}
