//! Timestamps in UTC with milliseconds, written in RFC 3339 format (`2026-11-20T09:15:02.114Z`).

use std::fmt;
use std::str::FromStr;

use super::id::as_text;

/// A point in time in UTC, with millisecond precision. Only `world` reads the clock. The default is the start of 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

/// An error returned for text that is not a valid time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a time like 2026-11-20T09:15:02.114Z")]
pub struct TimeError {
    /// The invalid text.
    pub text: String,
}

impl Timestamp {
    /// Converts milliseconds since 1970. Returns `None` for years that RFC 3339 can't represent.
    pub fn from_milliseconds(milliseconds: i64) -> Option<Self> {
        let time = jiff::Timestamp::from_millisecond(milliseconds).ok()?;
        let year = time.to_zoned(jiff::tz::TimeZone::UTC).year();
        (0..=9999).contains(&year).then_some(Timestamp(time))
    }

    /// Returns the milliseconds since 1970.
    pub fn milliseconds(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Returns the next millisecond, or the same time if there is none.
    pub fn next(self) -> Self {
        Timestamp::from_milliseconds(self.milliseconds().saturating_add(1)).unwrap_or(self)
    }

    /// Adds the minutes. Returns the same time if the result is out of range.
    pub fn plus_minutes(self, minutes: u32) -> Self {
        let later = self.milliseconds().saturating_add(i64::from(minutes) * 60_000);
        Timestamp::from_milliseconds(later).unwrap_or(self)
    }

    /// Returns the whole seconds since 1970, as used by git.
    pub fn seconds(self) -> i64 {
        self.0.as_millisecond().div_euclid(1000)
    }

    /// Returns the seconds since `earlier`, negative if `earlier` is later.
    pub fn seconds_since(self, earlier: Timestamp) -> f64 {
        (self.milliseconds() - earlier.milliseconds()) as f64 / 1000.0
    }

    /// Formats the date and minute for display: `2026-11-20 09:15 UTC`.
    pub fn to_minute(self) -> String {
        self.0.strftime("%Y-%m-%d %H:%M UTC").to_string()
    }

    /// Formats the date for display: `20 Nov 2026`.
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
