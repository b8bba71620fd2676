//! Attachments for display. Attachments are untrusted. Their types are derived from their contents, never from their
//! names, and none is written in a form that a browser would execute.

use std::collections::{BTreeMap, HashMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::svg;
use crate::domain::{Attached, AttachmentName, Investigation, NodeId};
use crate::picture;
use crate::text::{first_bytes, made_visible, percent_encoded, without_case};

/// The maximum size of text shown on a page, in bytes. The file contains the full text.
const SHOWN: usize = 8 << 10;

/// The maximum number of pixels in a picture. Even a small file can decode to a picture that exhausts memory.
const PIXELS_MAX: usize = 40_000_000;

/// The maximum total size of pictures in a single-file report, in bytes.
const WITHIN: usize = 8 << 20;

/// An attachment on its node's page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct AttachmentView {
    pub name: String,
    /// The size: `12.5 kB`.
    pub size: String,
    /// The kind: `picture`, `text` or `file`; `absent` if the attachment was omitted to limit the size, or `private` if
    /// its metadata can't be removed.
    pub kind: &'static str,
    /// The address of the file, relative to the investigation's folder.
    pub href: Option<String>,
    /// The width of a picture in pixels. Absent for drawings.
    pub width: Option<usize>,
    /// The height of a picture in pixels. Absent for drawings.
    pub height: Option<usize>,
    /// The beginning of the text.
    pub text: Option<String>,
    /// True if the text was truncated.
    pub is_cut: bool,
}

/// The attachments of an investigation: the page data, and the files for the site.
#[derive(Clone, Debug, Default)]
pub(super) struct AttachmentViews {
    of_nodes: HashMap<NodeId, Vec<AttachmentView>>,
    /// The files, by path relative to the investigation's folder.
    pub files: Vec<(String, Vec<u8>)>,
}

impl AttachmentViews {
    /// Returns the attachments of an investigation, given their contents.
    pub fn of(investigation: &Investigation, contents: &[Attached]) -> AttachmentViews {
        let contents: HashMap<_, _> = contents.iter().map(|file| ((&file.node, &file.name), file)).collect();
        let mut all = AttachmentViews::default();
        for (node, attachments) in investigation.attachments() {
            // `a` and `a.txt` may result in the same path, and so may `a` and `A` on some file systems.
            let mut taken = HashSet::new();
            let views = attachments.iter().map(|(name, bytes)| {
                let Some(file) = contents.get(&(node, name)) else {
                    return AttachmentView { kind: "absent", ..view(name, *bytes) };
                };
                let Some(content) = picture::without_metadata(&file.content) else {
                    return AttachmentView { kind: "private", ..view(name, *bytes) };
                };
                let (view, ending, content) = shown(view(name, content.len() as u64), &content);
                let mut file_name = with_ending(name.as_str(), ending);
                let mut number = 2;
                while !taken.insert(without_case(&file_name)) {
                    file_name = with_ending(&format!("{name}-{number}"), ending);
                    number += 1;
                }
                let path = format!("attachments/{node}/{file_name}");
                let href = Some(encoded(&path));
                all.files.push((path, content));
                AttachmentView { href, ..view }
            });
            let views = views.collect();
            all.of_nodes.insert(node.clone(), views);
        }
        all
    }

    /// Returns the attachments of a node.
    pub fn of_node(&self, node: &NodeId) -> Vec<AttachmentView> {
        self.of_nodes.get(node).cloned().unwrap_or_default()
    }
}

fn view(name: &AttachmentName, bytes: u64) -> AttachmentView {
    AttachmentView { name: name.to_string(), size: size(bytes), kind: "file", ..AttachmentView::default() }
}

/// Returns the page data, and the extension and contents of the file in the site.
fn shown(view: AttachmentView, content: &[u8]) -> (AttachmentView, &'static str, Vec<u8>) {
    let text = std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'));
    if let Some(drawing) = text.and_then(svg::sanitized) {
        return (AttachmentView { kind: "picture", ..view }, ".svg", drawing.into_bytes());
    }
    let ending = match imagesize::image_type(content) {
        Ok(imagesize::ImageType::Png) => Some(".png"),
        Ok(imagesize::ImageType::Jpeg) => Some(".jpg"),
        Ok(imagesize::ImageType::Gif) => Some(".gif"),
        Ok(imagesize::ImageType::Webp) => Some(".webp"),
        _ => None,
    };
    if let Some((ending, size)) = ending.zip(imagesize::blob_size(content).ok())
        && (1..=PIXELS_MAX).contains(&size.width.saturating_mul(size.height))
    {
        let (width, height) = (Some(size.width), Some(size.height));
        // Browsers turn it.
        let (width, height) =
            if picture::lies_on_its_side(content) { (height, width) } else { (width, height) };
        return (AttachmentView { kind: "picture", width, height, ..view }, ending, content.to_vec());
    }
    match text {
        Some(text) => {
            let beginning = first_bytes(text, SHOWN);
            let is_cut = beginning.len() < text.len();
            (
                AttachmentView { kind: "text", text: Some(made_visible(beginning)), is_cut, ..view },
                ".txt",
                content.to_vec(),
            )
        }
        None => (view, ".bin", content.to_vec()),
    }
}

/// Returns pictures as data URLs, keyed by file address. If not all of them fit, only the smallest are included.
pub(super) fn pictures_within(files: &[(String, Vec<u8>)]) -> BTreeMap<String, String> {
    let mut pictures: Vec<_> =
        files.iter().filter_map(|(path, bytes)| Some((path, bytes, media_type(path)?))).collect();
    pictures.sort_by_key(|(path, bytes, _)| (bytes.len(), *path));
    let mut room = WITHIN;
    let mut within = BTreeMap::new();
    for (path, bytes, media_type) in pictures {
        let Some(rest) = room.checked_sub(bytes.len()) else { break };
        room = rest;
        within.insert(encoded(path), data_url(media_type, bytes));
    }
    within
}

/// Returns a URL that contains the file itself.
pub(super) fn data_url(media_type: &str, bytes: &[u8]) -> String {
    format!("data:{media_type};base64,{}", STANDARD.encode(bytes))
}

/// Returns the media type for a picture's file extension. Other files never have these extensions.
pub(super) fn media_type(path: &str) -> Option<&'static str> {
    match path.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}

/// Returns the name with the extension for the file type.
fn with_ending(name: &str, ending: &str) -> String {
    let is_there = name.len() > ending.len()
        && name.get(name.len() - ending.len()..).is_some_and(|end| end.eq_ignore_ascii_case(ending));
    if is_there { name.to_owned() } else { format!("{name}{ending}") }
}

/// Encodes a path as an address. Names contain only letters, digits, spaces and a few other characters.
fn encoded(path: &str) -> String {
    percent_encoded(path, |c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}

/// Formats a size: `812 bytes`, `12.5 kB`, `1.0 MB`.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::meta;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 2, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn what_a_file_is_follows_from_what_it_holds() {
        let kinds = |name: &str, content: &[u8]| {
            let name: AttachmentName = name.parse().unwrap();
            let (view, ending, _) = shown(view(&name, content.len() as u64), content);
            (view.kind, with_ending(name.as_str(), ending))
        };
        let of = |kind, path: &str| (kind, path.to_owned());
        assert_eq!(kinds("plot.PNG", &png(640, 480)), of("picture", "plot.PNG"));
        assert_eq!(kinds("page.html", &png(640, 480)), of("picture", "page.html.png"));
        assert_eq!(kinds("page.html", b"<script>alert(1)</script>"), of("text", "page.html.txt"));
        assert_eq!(kinds("a.gif", b"GIF89a\x02\0\x03\0\0\0\0\x3b"), of("picture", "a.gif"));
        assert_eq!(kinds("plot.png", b"<script>alert(1)</script>"), of("text", "plot.png.txt"));
        assert_eq!(
            kinds("plot.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
            of("picture", "plot.svg")
        );
        assert_eq!(kinds("plot.svg", b"<html><script>alert(1)</script></html>"), of("text", "plot.svg.txt"));
        assert_eq!(kinds("huge.png", &png(100_000, 100_000)), of("file", "huge.png.bin"));
        assert_eq!(kinds("none.png", &png(0, 0)), of("file", "none.png.bin"));
        assert_eq!(kinds("a.log", b"\xff\xfe\0x"), of("file", "a.log.bin"));
        assert_eq!(kinds("a.js", b""), of("text", "a.js.txt"));
    }

    #[test]
    fn two_files_never_have_one_place() {
        let file = |name: &str, content: &[u8]| Attached {
            node: "R1.A".parse().unwrap(),
            name: name.parse().unwrap(),
            content: content.to_vec(),
        };
        // An earlier version stored pictures with their metadata.
        let photo = [&png(1, 1)[..], b"\0\0\0\x04tEXtGPS \0\0\0\0"].concat();
        let files = [
            file("A.TXT", b"A"),
            file("a", b"a"),
            file("a-2", b"2"),
            file("a.txt", b"t"),
            file("photo.png", &photo),
            file("z.heic", b"\0\0\0\x18ftypheic Exif\0\0 GPS"),
        ];
        let changes = files.clone().map(|file| crate::domain::Change::Attached(std::sync::Arc::new(file)));
        let all = AttachmentViews::of(&Investigation::new(meta(1, "x", "x")).with(&changes), &files);
        let paths: Vec<&str> = all.files.iter().map(|(path, _)| path.as_str()).collect();
        let expected = ["A.TXT", "a-2.txt", "a-2-2.txt", "a.txt-2.txt", "photo.png"];
        assert_eq!(paths, expected.map(|name| format!("attachments/R1.A/{name}")));
        assert!(all.files.iter().zip(&files[..4]).all(|((_, bytes), file)| *bytes == file.content));
        assert_eq!(all.files[4].1, png(1, 1));
        assert_eq!(all.of_node(&files[5].node)[5].kind, "private");
    }

    #[test]
    fn one_file_holds_pictures_as_long_as_there_is_room() {
        let file = |path: &str, bytes: usize| (path.to_owned(), vec![0; bytes]);
        let files = [
            file("a/plot 1.PNG", 3),
            file("a/b.svg", WITHIN - 4),
            file("a/c.jpg", 5),
            file("a/d.png.txt", 1),
        ];
        let within = pictures_within(&files);
        assert_eq!(within.keys().collect::<Vec<_>>(), ["a/c.jpg", "a/plot%201.PNG"]);
        assert_eq!(within["a/plot%201.PNG"], "data:image/png;base64,AAAA");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let content = "é".repeat(SHOWN);
        let (view, _, file) = shown(view(&"a.log".parse().unwrap(), 0), content.as_bytes());
        assert!(view.is_cut && view.text.is_some_and(|text| text.len() == SHOWN));
        assert_eq!(file, content.as_bytes());
    }

    #[test]
    fn sizes_and_addresses() {
        let sizes: Vec<String> = [0, 1, 999, 1_000, 12_549, 1_048_576].map(size).to_vec();
        assert_eq!(sizes, ["0 bytes", "1 byte", "999 bytes", "1.0 kB", "12.5 kB", "1.0 MB"]);
        assert_eq!(encoded("attachments/R1.A/a (1)+é.txt"), "attachments/R1.A/a%20%281%29%2B%C3%A9.txt");
    }
}
