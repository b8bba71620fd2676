//! Removes metadata from pictures: where, when and with what they were taken, comments, thumbnails and further pictures.
//!
//! # Guarantees
//!
//! - The compressed pixels stay byte-identical. Color profiles, animations and the orientation are kept.
//! - Only known parts of a file are kept. Everything else is removed, including anything after its end.
//! - A damaged picture is refused, and so is a picture with metadata in a format other than JPEG, PNG, WebP, GIF and SVG.
//!
//! # Limitations
//!
//! - Archives and documents that contain pictures are not searched.
//! - A color profile may name the device that it was made for.
//!
//! Picture libraries keep unknown parts and what follows the end, and none of them covers all of these formats.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

/// The beginning of metadata in EXIF format, and the number of its orientation field.
const EXIF: &[u8] = b"Exif\0\0";
const ORIENTATION: usize = 0x112;

/// Returns the content without the metadata of a picture. Other files stay unchanged. Returns `None` for a picture whose
/// metadata can't be removed.
pub fn without_metadata(content: &[u8]) -> Option<Cow<'_, [u8]>> {
    let cleaned = match content {
        [0xff, 0xd8, 0xff, ..] => jpeg(content)?,
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => png(content)?,
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => gif(content)?,
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp(content)?,
        [b'I', b'I', b'*' | b'+', 0, ..] | [b'M', b'M', 0, b'*' | b'+', ..] => {
            return is_plain_tiff(content).then_some(Cow::Borrowed(content));
        }
        _ if is_other_picture(content) => {
            return (!mentions_metadata(content)).then_some(Cow::Borrowed(content));
        }
        _ => match std::str::from_utf8(content).ok().filter(|text| is_svg(text)) {
            Some(text) => svg(text)?.into_bytes(),
            None => return Some(Cow::Borrowed(content)),
        },
    };
    Some(if cleaned == content { Cow::Borrowed(content) } else { Cow::Owned(cleaned) })
}

/// Copies the frame, the tables and the scans.
fn jpeg(content: &[u8]) -> Option<Vec<u8>> {
    let mut out = content.get(..2)?.to_vec();
    let mut at = 2;
    loop {
        let start = content.get(at..)?;
        let fill = start.iter().take_while(|byte| **byte == 0xff).count();
        let marker = *start.get(fill).filter(|_| fill > 0)?;
        at += fill + 1;
        // The end, and markers without content.
        if matches!(marker, 0xd9 | 0x01 | 0xd0..=0xd7) {
            out.extend([0xff, marker]);
            if marker == 0xd9 {
                return Some(out);
            }
            continue;
        }
        let length = number(content, at, 2, true)?;
        let body = content.get(at + 2..at + length)?;
        at += length;
        let kept = match marker {
            // A thumbnail may follow.
            0xe0 if body.starts_with(b"JFIF\0") => Cow::Owned([body.get(..12)?, &[0, 0]].concat()),
            0xe1 if body.starts_with(EXIF) => match orientation(&body[EXIF.len()..]) {
                Some(orientation) => Cow::Owned([EXIF, &exif(orientation)].concat()),
                None => continue,
            },
            0xe2 if body.starts_with(b"ICC_PROFILE\0") => Cow::Borrowed(body),
            0xee if body.starts_with(b"Adobe") => Cow::Borrowed(body.get(..12)?),
            0xe0..=0xef | 0xfe => continue,
            _ => Cow::Borrowed(body),
        };
        out.extend([0xff, marker]);
        out.extend(u16::try_from(kept.len() + 2).ok()?.to_be_bytes());
        out.extend_from_slice(&kept);
        if marker == 0xda {
            let scan = content.get(at..)?;
            let is_marker = |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0 | 0xd0..=0xd7 | 0xff);
            let end = scan.windows(2).position(is_marker).unwrap_or(scan.len());
            out.extend_from_slice(&scan[..end]);
            at += end;
            // Many programs show a picture that lacks its end.
            if at == content.len() {
                return Some(out);
            }
        }
    }
}

/// Copies the chunks that a picture or an animation consists of.
fn png(content: &[u8]) -> Option<Vec<u8>> {
    const KEPT: [&[u8; 4]; 18] = [
        b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"cHRM", b"gAMA", b"iCCP", b"sRGB", b"sBIT", b"bKGD",
        b"pHYs", b"cICP", b"mDCV", b"cLLI", b"acTL", b"fcTL", b"fdAT",
    ];
    let (mut out, mut rest) = (content.get(..8)?.to_vec(), content.get(8..)?);
    while !rest.is_empty() {
        let length = number(rest, 0, 4, true)?;
        let (chunk, after) = rest.split_at_checked(length.checked_add(12)?)?;
        let (name, body) = (&chunk[4..8], &chunk[8..8 + length]);
        rest = after;
        if KEPT.iter().any(|kept| *kept == name) {
            out.extend_from_slice(chunk);
        } else if let Some(orientation) = orientation(body).filter(|_| name == b"eXIf") {
            let chunk = [b"eXIf", &exif(orientation)[..]].concat();
            out.extend(u32::try_from(chunk.len() - 4).ok()?.to_be_bytes());
            out.extend_from_slice(&chunk);
            out.extend(checksum(&chunk).to_be_bytes());
        } else if name[0].is_ascii_uppercase() {
            // The pixels can't be read without this chunk.
            return None;
        }
        if name == b"IEND" {
            break;
        }
    }
    Some(out)
}

/// Copies the images, and the extensions that say how to show them.
fn gif(content: &[u8]) -> Option<Vec<u8>> {
    const SHOWN: [&[u8; 11]; 3] = [b"NETSCAPE2.0", b"ANIMEXTS1.0", b"ICCRGBG1012"];
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let mut at = 13 + table(*content.get(10)?);
    let mut out = content.get(..at)?.to_vec();
    while let Some(kind) = content.get(at) {
        let start = at;
        let is_kept = match (kind, *content.get(at + 1).unwrap_or(&0)) {
            (0x3b, _) => {
                out.push(0x3b);
                break;
            }
            (0x2c, _) => {
                at += 11 + table(*content.get(at + 9)?);
                true
            }
            (0x21, label) => {
                at += 2;
                let name = content.get(at + 1..at + 12);
                label == 0xf9 || label == 0xff && SHOWN.iter().any(|shown| name == Some(*shown))
            }
            _ => return None,
        };
        while *content.get(at)? > 0 {
            at += 1 + usize::from(content[at]);
        }
        at += 1;
        if is_kept {
            out.extend_from_slice(content.get(start..at)?);
        }
    }
    Some(out)
}

/// Copies the chunks that a picture or an animation consists of.
fn webp(content: &[u8]) -> Option<Vec<u8>> {
    const KEPT: [&[u8; 4]; 7] = [b"VP8X", b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF", b"ICCP"];
    /// The place of the flags for metadata, and their bits.
    const FLAGS: usize = 20;
    const HAS_EXIF: u8 = 8;
    const HAS_XMP: u8 = 4;
    let mut rest = content.get(12..number(content, 4, 4, false)?.checked_add(8)?)?;
    let mut out = content.get(..12)?.to_vec();
    let mut is_turned = false;
    while !rest.is_empty() {
        let length = number(rest, 4, 4, false)?;
        let body = rest.get(8..length.checked_add(8)?)?;
        let name = &rest[..4];
        let kept = match orientation(body.strip_prefix(EXIF).unwrap_or(body)).filter(|_| name == b"EXIF") {
            Some(orientation) => Cow::Owned(exif(orientation).to_vec()),
            None => Cow::Borrowed(body),
        };
        is_turned |= name == b"EXIF" && matches!(kept, Cow::Owned(_));
        if matches!(kept, Cow::Owned(_)) || KEPT.iter().any(|kept| *kept == name) {
            out.extend_from_slice(name);
            out.extend(u32::try_from(kept.len()).ok()?.to_le_bytes());
            out.extend_from_slice(&kept);
            out.extend(std::iter::repeat_n(0, kept.len() % 2));
        }
        rest = rest.get(8 + length + length % 2..).unwrap_or_default();
    }
    if out.get(12..16) == Some(b"VP8X") {
        let flags = out.get_mut(FLAGS)?;
        *flags = *flags & !(HAS_EXIF | HAS_XMP) | if is_turned { HAS_EXIF } else { 0 };
    }
    let size = u32::try_from(out.len() - 8).ok()?;
    out[4..8].copy_from_slice(&size.to_le_bytes());
    Some(out)
}

fn is_svg(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<') && text.contains("<svg")
}

/// Cuts the metadata element, and cleans the embedded pictures.
fn svg(text: &str) -> Option<String> {
    const EMBEDDED: &str = ";base64,";
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, metadata)) = rest.split_once("<metadata") {
        kept.push_str(before);
        let (tag, after) = metadata.split_once('>')?;
        rest = if tag.ends_with('/') { after } else { after.split_once("</metadata>")?.1 };
    }
    kept.push_str(rest);
    let mut parts = kept.split(EMBEDDED);
    let mut out = parts.next()?.to_owned();
    for part in parts {
        let end = part.find(['"', '\'', ')', '<', '&']).unwrap_or(part.len());
        let digits: String = part[..end].split_whitespace().collect();
        let content = STANDARD_NO_PAD.decode(digits.trim_end_matches('=')).ok()?;
        let cleaned = match without_metadata(&content)? {
            Cow::Owned(cleaned) => Some(STANDARD.encode(cleaned)),
            Cow::Borrowed(_) => None,
        };
        out.extend([EMBEDDED, cleaned.as_deref().unwrap_or(&part[..end]), &part[end..]]);
    }
    Some(out)
}

/// Returns whether a TIFF picture describes only its pixels.
fn is_plain_tiff(content: &[u8]) -> bool {
    /// The maximum number of pages.
    const PAGES: usize = 1_000;
    let is_big = content.first() == Some(&b'M');
    let mut place = number(content, 4, 4, is_big);
    for _ in 0..PAGES {
        let Some(at) = place else { return false };
        if at == 0 {
            return true;
        }
        let Some(fields) = number(content, at, 2, is_big) else { return false };
        let is_plain = |field: usize| {
            let tag = number(content, at + 2 + 12 * field, 2, is_big);
            tag.is_some_and(|tag| {
                matches!(tag, 254..=268 | 273..=284 | 286..=297 | 301 | 317..=329 | 332..=347 | 512..=532 | 34675)
            })
        };
        if !(0..fields).all(is_plain) {
            return false;
        }
        place = number(content, at + 2 + 12 * fields, 4, is_big);
    }
    false
}

/// Returns whether the file is a picture or a film in a format with metadata that this module can't remove.
fn is_other_picture(content: &[u8]) -> bool {
    let starts: [&[u8]; 5] = [b"\0\0\0\x0cJXL ", b"8BPS", b"FUJIFILM", b"IIU\0", b"IIRO"];
    content.get(4..8) == Some(b"ftyp") || starts.iter().any(|start| content.starts_with(start))
}

fn mentions_metadata(content: &[u8]) -> bool {
    const NAMES: [&[u8]; 7] =
        [b"Exif", b"exif", b"xmpmeta", b"II*\0", b"MM\0*", b"\xa9xyz", b"location.ISO6709"];
    NAMES.iter().any(|name| content.windows(name.len()).any(|part| part == *name))
}

/// Returns the orientation in EXIF metadata, unless the picture is upright.
fn orientation(exif: &[u8]) -> Option<u8> {
    let is_big = exif.first() == Some(&b'M');
    let at = number(exif, 4, 4, is_big)?;
    let mut fields = (0..number(exif, at, 2, is_big)?).map(|field| at + 2 + 12 * field);
    let field = fields.find(|field| number(exif, *field, 2, is_big) == Some(ORIENTATION))?;
    let value = number(exif, field + 8, 2, is_big)?;
    u8::try_from(value).ok().filter(|value| (2..=8).contains(value))
}

/// Returns whether a photo without other metadata is to be turned by a quarter, so that its width becomes its height.
pub fn lies_on_its_side(content: &[u8]) -> bool {
    let is_jpeg = content.starts_with(&[0xff, 0xd8]);
    let at = content.windows(EXIF.len()).take(1 << 20).position(|window| window == EXIF).filter(|_| is_jpeg);
    at.and_then(|at| orientation(&content[at + EXIF.len()..])).is_some_and(|orientation| orientation >= 5)
}

/// Returns EXIF metadata that contains only the orientation.
fn exif(orientation: u8) -> [u8; 26] {
    let mut exif = *b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0";
    exif[19] = orientation;
    exif
}

/// Returns the number at a place, or `None` after the end.
fn number(content: &[u8], at: usize, size: usize, is_big: bool) -> Option<usize> {
    let bytes = content.get(at..at.checked_add(size)?)?;
    let shifted = |number: usize, byte: &u8| number << 8 | usize::from(*byte);
    Some(if is_big { bytes.iter().fold(0, shifted) } else { bytes.iter().rev().fold(0, shifted) })
}

/// Returns the checksum of a PNG chunk.
fn checksum(chunk: &[u8]) -> u32 {
    let crc = chunk.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    });
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stands for a serial number in every kind of metadata.
    const SERIAL: &[u8] = b"SERIAL 777";

    fn parts(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    /// EXIF metadata with the orientation and a serial number.
    fn own_exif(orientation: u8) -> Vec<u8> {
        let mut exif =
            b"II*\0\x08\0\0\0\x02\0\x31\xa4\x02\0\x0a\0\0\0\x26\0\0\0\x12\x01\x03\0\x01\0\0\0".to_vec();
        exif.extend([orientation, 0, 0, 0, 0, 0, 0, 0]);
        parts(&[&exif, SERIAL])
    }

    fn segment(marker: u8, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(body.len() + 2).unwrap().to_be_bytes();
        parts(&[&[0xff, marker], &length, body])
    }

    fn chunk(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let named = parts(&[name, body]);
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        parts(&[&length, &named, &checksum(&named).to_be_bytes()])
    }

    fn riff(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
        let size = |length: usize| u32::try_from(length).unwrap().to_le_bytes();
        let chunk = |(name, body): &(&[u8; 4], &[u8])| {
            parts(&[&name[..], &size(body.len()), body, &[0][..body.len() % 2]])
        };
        let body: Vec<u8> = chunks.iter().flat_map(chunk).collect();
        parts(&[b"RIFF", &size(body.len() + 4), b"WEBP", &body])
    }

    /// Pictures with a serial number in each place that metadata has, and the same without it.
    fn pictures() -> Vec<(Vec<u8>, Vec<u8>)> {
        let (start, frame) = (&[0xff, 0xd8][..], segment(0xc2, b"frame"));
        let scan = parts(&[&segment(0xda, b"scan"), b"pixels\xff\0\xff\xd3more", &segment(0xc4, b"table")]);
        let scans = parts(&[&segment(0xdb, b"table"), &frame, &scan, &segment(0xda, b"scan"), b"rest"]);
        let (jfif, icc) =
            (segment(0xe0, b"JFIF\0\x01\x02\0\0H\0H\0\0"), segment(0xe2, b"ICC_PROFILE\0\x01\x01sRGB"));
        let adobe = segment(0xee, b"Adobe\0d\0\0\0\0\x01");
        let turned = |marker: &[u8], orientation: u8| parts(&[marker, &exif(orientation)]);
        let thumbnail = segment(0xe0, &parts(&[b"JFIF\0\x01\x02\0\0H\0H\x01\x01", SERIAL]));
        let jpeg = parts(&[
            start,
            &thumbnail,
            &segment(0xe0, &parts(&[b"JFXX\0", SERIAL])),
            &segment(0xe1, &parts(&[EXIF, &own_exif(6)])),
            &segment(0xe1, &parts(&[b"http://ns.adobe.com/xap/1.0/\0", SERIAL])),
            &icc,
            &segment(0xe2, &parts(&[b"MPF\0", SERIAL])),
            &segment(0xed, &parts(&[b"Photoshop 3.0\0", SERIAL])),
            &adobe,
            &segment(0xfe, SERIAL),
            b"\xff\xff",
            &scans,
            b"\xff\xd9",
            SERIAL,
        ]);
        let clean = [start, &jfif, &segment(0xe1, &turned(EXIF, 6)), &icc, &adobe, &scans, b"\xff\xd9"];
        let upright = parts(&[start, &segment(0xe1, &parts(&[EXIF, &own_exif(1)])), &scans]);

        let (signature, head) =
            (b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0]));
        let (data, end) = (chunk(b"IDAT", b"pixels"), chunk(b"IEND", b""));
        let texts: Vec<u8> = [b"tEXt", b"zTXt", b"iTXt", b"tIME", b"caBX"]
            .iter()
            .flat_map(|name| chunk(name, SERIAL))
            .collect();
        let png =
            parts(&[signature, &head, &chunk(b"eXIf", &own_exif(3)), &texts, &data, &texts, &end, SERIAL]);
        let plain_png = parts(&[signature, &head, &chunk(b"eXIf", &exif(3)), &data, &end]);

        let gif = |between: &[u8], after: &[u8]| {
            let looped = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0\x21\xf9\x04\0\0\0\0\0";
            let image = b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x4c\x01\0";
            parts(&[b"GIF89a\x01\0\x01\0\x80\0\0rgbRGB", &looped[..], between, image, b"\x3b", after])
        };
        let comment = parts(&[b"\x21\xfe\x0a", SERIAL, b"\0\x21\xff\x0bXMP DataXMP\x0a", SERIAL, b"\0"]);

        let webp = [b"VP8X", b"ICCP", b"VP8 ", b"EXIF", b"XMP "];
        let pixels: [&[u8]; 3] = [b"\x0c\0\0\0\0\0\0\0\0\0", b"sRGB", b"odd"];
        let bodies = [pixels[0], pixels[1], pixels[2], &own_exif(8), SERIAL];
        let whole: Vec<_> = webp.into_iter().zip(bodies).collect();
        let exif = exif(8);
        let clean_webp =
            [(webp[0], &b"\x08\0\0\0\0\0\0\0\0\0"[..]), whole[1], whole[2], (webp[3], &exif[..])];

        let svg = |metadata: &str, png: &[u8]| {
            let picture = STANDARD.encode(png);
            let svg = format!("<?xml?><svg>{metadata}<image href='data:image/png;base64,{picture}'/></svg>");
            svg.into_bytes()
        };
        let rdf = format!("<metadata id='a'><x/>{}</metadata><metadata/>", String::from_utf8_lossy(SERIAL));
        vec![
            (jpeg, parts(&clean)),
            (upright, parts(&[start, &scans])),
            (png.clone(), plain_png.clone()),
            (gif(&comment, SERIAL), gif(b"", b"")),
            (parts(&[&riff(&whole), SERIAL]), riff(&clean_webp)),
            (svg(&rdf, &png), svg("", &plain_png)),
        ]
    }

    #[test]
    fn no_picture_says_where_and_with_what_it_was_taken() {
        for (picture, clean) in pictures() {
            let cleaned = without_metadata(&picture).unwrap().into_owned();
            assert_eq!(cleaned, clean, "{}", String::from_utf8_lossy(&cleaned));
            assert!(matches!(without_metadata(&clean), Some(Cow::Borrowed(same)) if same == clean));
        }
    }

    #[test]
    fn a_damaged_picture_keeps_no_metadata_either() {
        for (picture, _) in pictures() {
            for end in 12..picture.len() {
                let Some(cleaned) = without_metadata(&picture[..end]) else { continue };
                assert!(
                    !cleaned.windows(SERIAL.len()).any(|part| part == SERIAL),
                    "cut at {end}: {picture:?}"
                );
            }
        }
    }

    #[test]
    fn a_picture_in_another_format_is_refused_if_it_has_metadata() {
        let tiff =
            |tag: u8| parts(&[b"II*\0\x08\0\0\0\x01\0", &[tag, 1], b"\x03\0\x01\0\0\0\x01\0\0\0\0\0\0\0"]);
        let heic = |item: &[u8]| parts(&[b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", item]);
        for (file, is_kept) in [
            (tiff(0), true),
            (tiff(0x0f), false),
            (b"MM\0*\0\0\0\x08".to_vec(), false),
            (heic(b"pixels"), true),
            (heic(&parts(&[EXIF, SERIAL])), false),
            (heic(b"<x:xmpmeta"), false),
            (b"\xff\xd8\xff\xe1\0".to_vec(), false),
            (b"a text about <svg and <metadata".to_vec(), true),
            (b"\xff\0other data, Exif\0\0".to_vec(), true),
            (Vec::new(), true),
        ] {
            let cleaned = without_metadata(&file);
            assert!(cleaned.is_some() == is_kept && cleaned.is_none_or(|it| *it == file), "{file:?}");
        }
    }
}
