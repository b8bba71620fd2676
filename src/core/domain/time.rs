//! Points in time: UTC, whole milliseconds, written as RFC 3339 (`2026-11-20T09:15:02.114Z`).

use std::fmt;
use std::str::FromStr;

use super::id::as_text;

/// A point in time in UTC, with milliseconds. It is a value: only `world` reads the clock. The default is the beginning
/// of 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

/// An invalid time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a time like 2026-11-20T09:15:02.114Z")]
pub struct TimeError {
    /// What was read.
    pub text: String,
}

impl Timestamp {
    /// From milliseconds since 1970; `None` outside the years that RFC 3339 can write.
    pub fn from_milliseconds(milliseconds: i64) -> Option<Self> {
        let time = jiff::Timestamp::from_millisecond(milliseconds).ok()?;
        let year = time.to_zoned(jiff::tz::TimeZone::UTC).year();
        (0..=9999).contains(&year).then_some(Timestamp(time))
    }

    /// Milliseconds since 1970.
    pub fn milliseconds(self) -> i64 {
        self.0.as_millisecond()
    }

    /// A millisecond later, or the same at the end of time.
    pub fn next(self) -> Self {
        Timestamp::from_milliseconds(self.milliseconds().saturating_add(1)).unwrap_or(self)
    }

    /// So many minutes later, or the same at the end of time.
    pub fn plus_minutes(self, minutes: u32) -> Self {
        let later = self.milliseconds().saturating_add(i64::from(minutes) * 60_000);
        Timestamp::from_milliseconds(later).unwrap_or(self)
    }

    /// Whole seconds since 1970, as git counts time.
    pub fn seconds(self) -> i64 {
        self.0.as_millisecond().div_euclid(1000)
    }

    /// Seconds from `earlier` to this time; negative when it is before.
    pub fn seconds_since(self, earlier: Timestamp) -> f64 {
        (self.milliseconds() - earlier.milliseconds()) as f64 / 1000.0
    }

    /// Day and minute for people: `2026-11-20 09:15 UTC`.
    pub fn to_minute(self) -> String {
        self.0.strftime("%Y-%m-%d %H:%M UTC").to_string()
    }

    /// The day for people: `20 Nov 2026`.
    pub fn to_day(self) -> String {
        self.0.strftime("%-d %b %Y").to_string()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

as_text!(Timestamp);

impl FromStr for Timestamp {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        let error = || TimeError { text: text.chars().take(60).collect() };
        let time: jiff::Timestamp = text.parse().map_err(|_| error())?;
        Timestamp::from_milliseconds(time.as_millisecond()).ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_with_milliseconds_and_read_back() {
        for text in ["2026-11-20T09:15:02.114Z", "1999-12-31T23:59:59.000Z"] {
            let time: Timestamp = text.parse().unwrap();
            assert_eq!(time.to_string(), text);
        }
        let offset: Timestamp = "2026-11-20T10:15:02.1149+01:00".parse().unwrap();
        assert_eq!(offset.to_string(), "2026-11-20T09:15:02.114Z");
    }

    #[test]
    fn what_is_no_time_is_named() {
        let error = "yesterday".parse::<Timestamp>().unwrap_err();
        assert_eq!(error.to_string(), "`yesterday` is not a time like 2026-11-20T09:15:02.114Z");
    }
}
