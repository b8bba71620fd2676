//! A page as a browser's parser reads it.

use html5ever::tendril::TendrilSink;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// A page, flat.
pub struct Page {
    /// What the parser calls an error.
    pub errors: Vec<String>,
    pub is_in_quirks_mode: bool,
    /// In the order of the document.
    pub elements: Vec<Element>,
}

/// An element without those within it.
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    /// The text right below it.
    pub text: String,
    /// Whether it is within an `<svg>`.
    pub is_in_drawing: bool,
}

impl Page {
    pub fn parse(text: &str) -> Page {
        let parsed = parse_document(RcDom::default(), ParseOpts::default()).one(text);
        let mut elements = Vec::new();
        collect(&parsed.document, false, &mut elements);
        Page {
            errors: parsed.errors.borrow().iter().map(ToString::to_string).collect(),
            is_in_quirks_mode: parsed.quirks_mode.get() != html5ever::interface::QuirksMode::NoQuirks,
            elements,
        }
    }

    /// The elements of a name.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Element> {
        self.elements.iter().filter(move |element| element.name == name)
    }

    /// The values of an attribute, on whatever element.
    pub fn values<'a>(&'a self, attribute: &'a str) -> impl Iterator<Item = &'a str> {
        self.elements.iter().filter_map(move |element| element.attribute(attribute))
    }
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

fn collect(node: &Handle, is_in_drawing: bool, elements: &mut Vec<Element>) {
    let mut is_drawing = is_in_drawing;
    if let NodeData::Element { name, attrs, template_contents, .. } = &node.data {
        let children = node.children.borrow();
        let text = children.iter().filter_map(|child| match &child.data {
            NodeData::Text { contents } => Some(contents.borrow().to_string()),
            _ => None,
        });
        elements.push(Element {
            name: name.local.to_string(),
            attributes: attrs
                .borrow()
                .iter()
                .map(|it| (it.name.local.to_string(), it.value.to_string()))
                .collect(),
            text: text.collect(),
            is_in_drawing,
        });
        is_drawing |= &*name.local == "svg";
        if let Some(contents) = &*template_contents.borrow() {
            collect(contents, is_drawing, elements);
        }
    }
    node.children.borrow().iter().for_each(|child| collect(child, is_drawing, elements));
}
