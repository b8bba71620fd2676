//! Turns node ids, file references and sources in text into links, sources with their state. Rendered text contains a mark for each link, because the page
//! and the nodes are not yet known at that point. When a page is complete, its marks become links or plain text.

use std::collections::{HashMap, HashSet};

use super::ReportInput;
use super::model::{Card, Report, RunViews, of_run};
use crate::assess::{Assessment, SourceAt};
use crate::domain::{Lines, Pin};
use crate::markdown::{Source, SourceTarget};
use crate::numbers::says_about;
use crate::service::project::{Drift, Forge, ProjectEvidence};
use crate::text::escape;

/// The markup that [`crate::markdown`] writes before the target of a node mark. The target is followed by `">` and the text.
const NODE: &str = "<a class=\"node-ref\" href=\"#node:";
/// The markup before the target of a file mark.
const FILE: &str = "<a class=\"file-ref\" href=\"#file:";
/// The markup before the target of a source.
const SOURCE: &str = "<a class=\"source\" href=\"#source:";
/// The markup after the text of a mark.
const CLOSE: &str = "</a>";
/// The length of a commit id in a tooltip.
const SHORT: usize = 10;

/// The targets of links in text.
pub(super) struct TextLinks<'r> {
    /// The cards by id, as shown and whole.
    nodes: HashMap<&'r str, &'r Card>,
    /// The forge that shows the project's files.
    forge: Option<&'r Forge>,
    /// The cited files by file name (without folders), each with the citing node.
    pins: HashMap<&'r str, Vec<(Option<&'r str>, &'r Pin)>>,
    /// The states of sources.
    sources: Option<SourceLinks<'r>>,
}

/// What is needed for the states of sources.
pub(super) struct SourceLinks<'r> {
    pub assessment: &'r Assessment<'r>,
    pub evidence: &'r ProjectEvidence,
    pub runs: &'r RunViews,
}

/// The page that contains the links.
#[derive(Clone, Copy)]
pub(super) enum From<'p> {
    /// A page other than the print page. `root` is the path from the page to the investigation's folder. The page of
    /// the node `own` has no links to itself.
    Page { root: &'p str, own: Option<&'p str> },
    /// The print page, which contains all nodes.
    Print,
}

impl<'r> TextLinks<'r> {
    pub fn of(report: &'r Report, input: &'r ReportInput, assessment: &'r Assessment<'r>) -> Self {
        let forge = input.evidence.forge.as_ref();
        let mut pins: HashMap<&str, Vec<_>> = HashMap::new();
        for (node, pin) in forge.iter().flat_map(|_| input.snapshot.investigation.pins()) {
            pins.entry(name(&pin.path)).or_default().push((node.map(|node| node.id.as_str()), pin));
        }
        TextLinks {
            sources: Some(SourceLinks { assessment, evidence: &input.evidence, runs: &report.runs }),
            nodes: report
                .nodes
                .iter()
                .flat_map(|node| node.card.id.names().map(|name| (name, &*node.card)))
                .collect(),
            forge,
            pins,
        }
    }

    /// Replaces the marks on a page with links.
    pub fn put_into(&self, page: Vec<u8>, from: From<'_>) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(&page) else { return page };
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let printed: HashSet<&str> = match from {
            From::Print => text.split("id=\"run-").skip(1).filter_map(|it| it.split('"').next()).collect(),
            From::Page { .. } => HashSet::new(),
        };
        while let Some((before, mark, target, shown, after)) = next_mark(rest) {
            out.push_str(before);
            let link = match mark {
                NODE => self.node(target, shown, from),
                SOURCE => self.source(&unescaped(target), (before, shown), from, &printed),
                _ => self.file(target, shown, from),
            };
            out.push_str(link.as_deref().unwrap_or(shown));
            rest = after;
        }
        if out.is_empty() {
            return page;
        }
        out.push_str(rest);
        out.into_bytes()
    }

    fn node(&self, id: &str, shown: &str, from: From<'_>) -> Option<String> {
        let is_own = matches!(from, From::Page { own: Some(own), .. } if own == id);
        let card = self.nodes.get(id).filter(|_| !is_own)?;
        let title = escape(&card.title);
        let (href, about) = match from {
            From::Page { root, .. } => (format!("{root}{}", card.href), about(card)),
            From::Print => (format!("#n-{id}"), String::new()),
        };
        Some(format!("<a class=\"node-ref\" href=\"{href}\" title=\"{title}\"{about}>{shown}</a>"))
    }

    /// Returns the passage, linked to its source, and the sign of how it is known.
    fn source(
        &self,
        written: &str,
        (before, shown): (&str, &str),
        from: From<'_>,
        printed: &HashSet<&str>,
    ) -> Option<String> {
        let SourceLinks { assessment, evidence, runs } = self.sources.as_ref()?;
        let own = match from {
            From::Page { own, .. } => own.and_then(|own| assessment.investigation.find(own).ok()),
            From::Print => None,
        };
        let target = SourceTarget::parse(written)?;
        let text = shown.split('<').map(|piece| piece.rsplit('>').next().unwrap_or_default());
        let text = unescaped(&text.collect::<String>());
        let source = Source { text, is_about: says_about(before), written: written.to_owned(), target };
        let drift = |pin: &Pin| evidence.drift.get(pin).map(Drift::as_str);
        let state = assessment.source(&source, own.map(|node| &node.id), &drift);
        let href = match (state.at, from) {
            (SourceAt::Run(run), _) => {
                let id = run.of().unwrap_or(run.id);
                match from {
                    From::Page { root, .. } => runs
                        .get(&id)
                        .map(|view| format!("{root}{}", view.href.clone().unwrap_or_else(|| of_run(id)))),
                    From::Print if printed.contains(&*id.to_string()) => Some(format!("#run-{id}")),
                    From::Print => run.node.as_ref().map(|node| format!("#n-{node}")),
                }
            }
            (SourceAt::Node(id), From::Print) => Some(format!("#n-{id}")),
            (SourceAt::Node(id), From::Page { root, .. }) => {
                self.nodes.get(id.as_str()).map(|card| format!("{root}{}", card.href))
            }
            (SourceAt::Place(pin), _) => self.forge.and_then(|forge| forge.permalink(pin)),
            (SourceAt::Nowhere, _) => None,
        };
        let about = [state.name.as_str(), &state.words].into_iter().filter(|it| !it.is_empty());
        let title = escape(&about.collect::<Vec<_>>().join(": "));
        let rel = if matches!(state.at, SourceAt::Place(_)) {
            " rel=\"noopener noreferrer nofollow ugc\""
        } else {
            ""
        };
        let passage = match href {
            Some(href) => {
                format!("<a class=\"source\" href=\"{}\" title=\"{title}\"{rel}>{shown}</a>", escape(&href))
            }
            None => format!("<span class=\"source\" title=\"{title}\">{shown}</span>"),
        };
        let (class, sign, words) = (state.class, state.sign, escape(&state.words));
        Some(format!(
            "{passage}<span class=\"run-mark known {class}\" title=\"{title}\"><span aria-hidden=\"true\">{sign}</span>\
             <span class=\"hidden\"> ({words})</span></span>"
        ))
    }

    /// Returns the link for a reference such as `12-14:src/a.rs`, at the cited commit. Citations by the page's own node
    /// take precedence. A file that was not cited is linked at the newest commit if the reference includes its folder.
    fn file(&self, target: &str, shown: &str, from: From<'_>) -> Option<String> {
        let forge = self.forge?;
        let (lines, path) = target.split_once(':')?;
        let (first, last) = lines.split_once('-')?;
        let lines = Lines { first: first.parse().ok()?, last: last.parse().ok()? };
        let own = match from {
            From::Page { own, .. } => own,
            From::Print => None,
        };
        let pin = self.pin(path, own);
        let commit = pin.and_then(|pin| pin.commit.as_deref().filter(|_| !pin.uncommitted));
        let path = match pin {
            Some(pin) => &pin.path,
            None if path.contains('/') => path,
            None => return None,
        };
        let href = escape(&forge.link(path, Some(lines), commit)?);
        let title = match commit {
            Some(commit) => {
                let short: String = commit.chars().take(SHORT).collect();
                format!("{path} at commit {short}, as it was cited")
            }
            None => format!("{path} in the newest commit: the lines may have moved"),
        };
        let title = escape(&title);
        Some(format!(
            "<a class=\"file-ref\" href=\"{href}\" title=\"{title}\" rel=\"noopener noreferrer nofollow ugc\">{shown}</a>"
        ))
    }

    /// Returns the cited file with this path, or the only cited file whose path ends with it.
    fn pin(&self, path: &str, own: Option<&str>) -> Option<&'r Pin> {
        let alike = self.pins.get(name(path))?;
        let is_end = |pin: &Pin| pin.path.strip_suffix(path).is_some_and(|before| before.ends_with('/'));
        let full = match alike.iter().find(|(_, pin)| pin.path == path) {
            Some((_, pin)) => &pin.path,
            None => {
                let mut found = alike.iter().filter(|(_, pin)| is_end(pin)).map(|(_, pin)| &pin.path);
                let first = found.next()?;
                found.all(|other| other == first).then_some(first)?
            }
        };
        let of_path = || alike.iter().filter(|(_, pin)| pin.path == *full);
        let own = of_path().find(|(node, _)| own == *node);
        own.or_else(|| of_path().next_back()).map(|(_, pin)| *pin)
    }
}

/// Returns the data for the card shown over a link, like the template macro `about`.
fn about(card: &Card) -> String {
    let sure = card.sure.map(|verdict| format!(", {}", verdict.label())).unwrap_or_default();
    let state = escape(&format!("{}{sure}", card.state.word));
    format!(" data-state=\"{state}\" data-first=\"{}\"", escape(&card.first))
}

/// Undoes the escaping of an attribute.
fn unescaped(text: &str) -> String {
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    marks.into_iter().fold(text.to_owned(), |text, (escaped, mark)| text.replace(escaped, mark))
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Returns the first mark: the text before it, its kind, its target, its text, and the text after it.
fn next_mark(text: &str) -> Option<(&str, &'static str, &str, &str, &str)> {
    // Search once for the prefix that all marks share, since most pages are long and have few marks.
    let mut from = 0;
    loop {
        let at = from + text[from..].find("<a class=\"")?;
        let Some(mark) = [NODE, FILE, SOURCE].into_iter().find(|mark| text[at..].starts_with(mark)) else {
            from = at + 1;
            continue;
        };
        let (target, rest) = text[at + mark.len()..].split_once("\">")?;
        let (shown, after) = rest.split_once(CLOSE)?;
        return Some((&text[..at], mark, target, shown, after));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::StateView;

    fn pin(path: &str, commit: &str) -> Pin {
        Pin {
            path: path.into(),
            commit: Some(commit.into()),
            blob: String::new(),
            uncommitted: false,
            lines: None,
            text: None,
        }
    }

    fn link(page: &str, own: Option<&str>) -> String {
        let pins = [
            ("R1.A", pin("src/queue/db.rs", "aaaa")),
            ("R2.A1", pin("src/queue/db.rs", "bbbb")),
            ("R1.A", pin("src/mod.rs", "cccc")),
            ("R1.A", pin("src/queue/mod.rs", "dddd")),
            ("R1.A", Pin { uncommitted: true, ..pin("new.rs", "eeee") }),
        ];
        let forge: Forge = "https://x.example/{commit}/{path}#{line}-{last}".parse().unwrap();
        let card = Card {
            id: "R1.A".parse().unwrap(),
            title: "T\"<".into(),
            href: "n.html".into(),
            round: 1,
            state: StateView {
                name: "FOUND".into(),
                word: "Answer".into(),
                class: "role-solution".into(),
                label: "",
                meaning: String::new(),
                pending: false,
            },
            excerpt: String::new(),
            first: "\"It\" is.".into(),
            sure: None,
            child_count: 0,
        };
        let mut links = TextLinks {
            nodes: [("R1.A", &card)].into(),
            forge: Some(&forge),
            pins: HashMap::new(),
            sources: None,
        };
        for (node, pin) in &pins {
            links.pins.entry(name(&pin.path)).or_default().push((Some(*node), pin));
        }
        String::from_utf8(links.put_into(page.as_bytes().to_vec(), From::Page { root: "../", own })).unwrap()
    }

    #[test]
    fn a_file_is_shown_as_it_was_cited() {
        let href = |path: &str, own| {
            let page = link(&format!("a <a class=\"file-ref\" href=\"#file:3-5:{path}\">x:3</a> b"), own);
            let href =
                page.split_once("href=\"").and_then(|(_, rest)| rest.split('"').next().map(str::to_owned));
            assert!(page.starts_with("a ") && page.ends_with(" b") && page.contains("x:3"), "{page}");
            href
        };
        let at = |rest: &str| Some(format!("https://x.example/{rest}#3-5"));
        assert_eq!(href("src/queue/db.rs", Some("R1.A")), at("aaaa/src/queue/db.rs"));
        assert_eq!(href("src/queue/db.rs", None), at("bbbb/src/queue/db.rs"));
        // A unique name, an ambiguous name, an uncited file, and a file in no commit.
        assert_eq!(href("db.rs", Some("R1.A")), at("aaaa/src/queue/db.rs"));
        assert_eq!(href("mod.rs", None), None);
        assert_eq!(href("queue/mod.rs", None), at("dddd/src/queue/mod.rs"));
        assert_eq!(href("src/other.rs", None), at("HEAD/src/other.rs"));
        assert_eq!(href("other.rs", None), None);
        assert_eq!(href("new.rs", None), at("HEAD/new.rs"));
    }

    #[test]
    fn marks_become_links_or_text_again() {
        let node = |id: &str, shown: &str| format!("<a class=\"node-ref\" href=\"#node:{id}\">{shown}</a>");
        let page =
            format!("<a class=\"x\">{}{}</a>", node("R1.A", "<code>R1.A</code>"), node("R9.Z", "R9.Z"));
        assert_eq!(
            link(&page, None),
            "<a class=\"x\"><a class=\"node-ref\" href=\"../n.html\" title=\"T&quot;&lt;\" data-state=\"Answer\" data-first=\"&quot;It&quot; is.\"><code>R1.A</code></a>R9.Z</a>"
        );
        assert_eq!(link(&node("R1.A", "R1.A"), Some("R1.A")), "R1.A");
        assert_eq!(link("plain", None), "plain");
    }
}
