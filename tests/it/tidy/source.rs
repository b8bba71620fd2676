//! Rust sources as tidy reads them: words and marks, without what only tests compile, and every path that they name,
//! from the root of the crate.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Word,
    Literal,
    Mark,
    Comment,
}

#[derive(Clone)]
struct Token {
    kind: Kind,
    /// The number of lines above it.
    line: usize,
    text: String,
}

/// A source file of the library or a program.
pub struct Source {
    /// The path from the project's root, with `/`.
    pub name: String,
    /// The file's module path, from the crate's root.
    module: Vec<String>,
    tokens: Vec<Token>,
    /// Every path that the file names, with each name of a list on its own. `crate`, `self` and `super` are resolved,
    /// so paths within this crate begin with `crate`.
    pub paths: Vec<Vec<String>>,
}

/// Returns all files below `src` except those compiled only for tests.
pub fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(read);
    &SOURCES
}

fn read() -> Vec<Source> {
    let mut tests = HashSet::new();
    let mut found = Vec::new();
    for (path, text) in super::files("src", &["rs"]) {
        let name = super::name(&path);
        let module = module(&name);
        let (tokens, skipped) = without_tests(tokens(text.parse().unwrap()));
        tests.extend(skipped.into_iter().map(|child| [module.as_slice(), &[child]].concat()));
        let paths = paths(&tokens, &module);
        found.push(Source { name, module, tokens, paths });
    }
    found.retain(|source| !(1..=source.module.len()).any(|length| tests.contains(&source.module[..length])));
    found
}

/// Returns a file's module path. `src/store/git/mod.rs` is `store::git`, and `src/bin/tot.rs` is `bin::tot`. Modules in
/// `src/core` keep their name in the whole library.
fn module(name: &str) -> Vec<String> {
    let name = name.strip_prefix("src/").unwrap();
    let path = Path::new(name.strip_prefix("core/").unwrap_or(name)).with_extension("");
    let mut parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib")) {
        parts.pop();
    }
    parts
}

/// Splits code into words, literals, punctuation and doc comments.
fn tokens(code: TokenStream) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut is_path = false;
    for tree in code {
        let line = tree.span().start().line - 1;
        let token = |kind, text| Token { kind, line, text };
        match tree {
            TokenTree::Ident(word) => found.push(token(Kind::Word, word.to_string())),
            TokenTree::Literal(literal) => found.push(token(Kind::Literal, literal.to_string())),
            TokenTree::Punct(_) if is_path => found.last_mut().unwrap().text.push(':'),
            TokenTree::Punct(mark) => {
                is_path = mark.as_char() == ':' && mark.spacing() == Spacing::Joint;
                found.push(token(Kind::Mark, mark.to_string()));
                continue;
            }
            TokenTree::Group(group) => {
                let inner = tokens(group.stream());
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                match inner.as_slice() {
                    [word, _, text] if word.text == "doc" => {
                        found.push(token(Kind::Comment, text.text.clone()))
                    }
                    _ => {
                        found.push(token(Kind::Mark, open.to_owned()));
                        found.extend(inner);
                        found.push(token(Kind::Mark, close.to_owned()));
                    }
                }
            }
        }
        is_path = false;
    }
    found
}

/// Returns the tokens without items below `#[cfg(test)]`, and the modules removed this way.
fn without_tests(tokens: Vec<Token>) -> (Vec<Token>, Vec<String>) {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at..];
        if rest.len() < TEST.len() || !rest.iter().zip(TEST).all(|(token, text)| token.text == text) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        at += TEST.len();
        if tokens[at].text == "mod" {
            modules.push(tokens[at + 1].text.clone());
        }
        // Up to the end of the item: its closing brace, or the end of a declaration or a field.
        let mut depth = 0;
        loop {
            let text = tokens[at].text.as_str();
            match text {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 && matches!(text, "}" | ";" | ",") {
                break;
            }
        }
    }
    (kept, modules)
}

impl Source {
    /// Returns the top-level module that the file belongs to.
    pub fn part(&self) -> &str {
        self.module.first().map_or("lib", String::as_str)
    }

    /// Returns whether the file belongs to the module with this path, such as `store::git`.
    pub fn is_in(&self, module: &str) -> bool {
        let wanted: Vec<&str> = module.split("::").collect();
        self.module.len() >= wanted.len() && self.module.iter().zip(wanted).all(|(own, wanted)| own == wanted)
    }

    /// Returns whether the code contains this name, even in a string.
    pub fn names(&self, text: &str) -> bool {
        self.tokens.iter().any(|token| match token.kind {
            Kind::Word => token.text == text,
            Kind::Literal => token.text.contains(text),
            Kind::Mark | Kind::Comment => false,
        })
    }

    /// Returns whether this is the module with that name in another file's module.
    pub fn is_child(&self, name: &str, parent: &Source) -> bool {
        self.module.split_last().is_some_and(|(own, above)| own == name && above == parent.module)
    }

    /// Returns whether the file compiles something only on some systems: `#[cfg(unix)]`, `cfg!(target_os = "macos")`.
    pub fn asks_for_the_system(&self) -> bool {
        const SYSTEMS: [&str; 6] =
            ["unix", "windows", "target_os", "target_family", "target_env", "target_vendor"];
        // Elsewhere, these words stand in paths.
        self.tokens.windows(2).any(|pair| {
            let [before, word] = [0, 1].map(|at| pair[at].text.as_str());
            ["(", ","].contains(&before) && SYSTEMS.contains(&word)
        })
    }

    /// Returns whether the file uses a macro with this name.
    pub fn calls(&self, name: &str) -> bool {
        self.tokens.windows(2).any(|pair| pair[0].text == name && pair[1].text == "!")
    }

    /// Returns whether the tokens contain this code, written without spaces.
    pub fn spells(&self, code: &str) -> bool {
        let is_code = |token: &&Token| matches!(token.kind, Kind::Word | Kind::Mark);
        let text: String = self.tokens.iter().filter(is_code).map(|token| token.text.as_str()).collect();
        text.contains(code)
    }

    /// Returns the strings in the file, each with the number of lines above it.
    pub fn literals(&self) -> impl Iterator<Item = (usize, &str)> {
        let literals = self.tokens.iter().filter(|token| token.kind == Kind::Literal);
        literals.map(|token| (token.line, token.text.as_str()))
    }

    /// Returns whether a string or, if comments count, a comment contains this text.
    pub fn says(&self, text: &str, comments_too: bool) -> bool {
        self.tokens.iter().any(|token| {
            let counts = match token.kind {
                Kind::Comment => comments_too,
                Kind::Literal => true,
                Kind::Word | Kind::Mark => false,
            };
            counts && token.text.contains(text)
        })
    }
}

/// Returns the paths that a module's tokens name.
fn paths(tokens: &[Token], module: &[String]) -> Vec<Vec<String>> {
    let tokens: Vec<&Token> = tokens.iter().filter(|token| token.kind != Kind::Comment).collect();
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut found = Vec::new();
    let mut module = module.to_vec();
    let mut depth = 0;
    let mut inner = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_visibility = at >= 2 && text(at - 2) == "pub" && text(at - 1) == "(";
        match text(at) {
            "mod" if text(at + 2) == "{" => {
                module.push(text(at + 1).to_owned());
                inner.push(depth);
                at += 2;
            }
            "{" => {
                depth += 1;
                at += 1;
            }
            "}" => {
                depth -= 1;
                at += 1;
                if inner.last() == Some(&depth) {
                    inner.pop();
                    module.pop();
                }
            }
            // Not `use<>` in a type.
            "use" if tokens[at].kind == Kind::Word && text(at + 1) != "<" => {
                let mut named = Vec::new();
                at = use_tree(&tokens, at + 1, &[], &mut named);
                found.extend(named.into_iter().map(|path| resolved(path, &module)));
            }
            _ if tokens[at].kind == Kind::Word && !is_visibility => {
                let mut path = vec![text(at).to_owned()];
                while text(at + 1) == "::" && tokens.get(at + 2).is_some_and(|next| next.kind == Kind::Word) {
                    path.push(text(at + 2).to_owned());
                    at += 2;
                }
                at += 1;
                found.push(resolved(path, &module));
            }
            _ => at += 1,
        }
    }
    found
}

/// Reads the tree after `use`, with the path before it. Returns where it ends.
fn use_tree(tokens: &[&Token], mut at: usize, before: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens[at].text != "}" {
                    at = use_tree(tokens, at, &path, found);
                    if tokens[at].text == "," {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "as" => at += 2,
            "," | "}" | ";" => break,
            // A name, or `*`.
            name => {
                path.push(name.to_owned());
                at += 1;
            }
        }
    }
    found.push(path);
    at
}

/// Resolves a path, as seen from a module, to one from the crate's root.
fn resolved(path: Vec<String>, module: &[String]) -> Vec<String> {
    let mut from = module.to_vec();
    let mut rest = path.as_slice();
    match rest.first().map(String::as_str) {
        Some("self") if rest.len() > 1 => rest = &rest[1..],
        Some("super") => {
            while rest.first().is_some_and(|part| part == "super") {
                from.pop();
                rest = &rest[1..];
            }
        }
        _ => return path,
    }
    [&["crate".to_owned()], from.as_slice(), rest].concat()
}
