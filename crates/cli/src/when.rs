//! Times that a person types.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// A time that cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is no time: say how long ago (10m, 2h, 3d) or when (2026-11-30T14:00:00Z, 2026-11-30)")]
pub struct NotATime(String);

/// How long ago (`10m`, `2h`, `3d`, `1h30m`), or when: RFC 3339, or a local date with or without a time.
///
/// # Errors
/// When it is none of them.
pub fn since(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, NotATime> {
    let error = || NotATime(text.to_owned());
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    if let Ok(local) = text.parse::<DateTime>() {
        return local.to_zoned_datetime(zone.clone()).map(|zoned| zoned.timestamp()).map_err(|_| error());
    }
    let span: Span = text.parse().map_err(|_| error())?;
    let then = now.to_zoned_datetime(zone.clone()).checked_sub(span.abs()).map_err(|_| error())?;
    Ok(then.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ago_and_when() {
        let now: Timestamp = "2026-11-30T14:00:00Z".parse().expect("a time");
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let since = |text: &str| since(text, now, &zone).map(|time| time.to_string());
        assert_eq!(since("10m"), Ok("2026-11-30T13:50:00Z".into()));
        assert_eq!(since("2h"), Ok("2026-11-30T12:00:00Z".into()));
        assert_eq!(since("3d"), Ok("2026-11-27T14:00:00Z".into()));
        assert_eq!(since("1h30m"), Ok("2026-11-30T12:30:00Z".into()));
        assert_eq!(since("2026-11-29T08:00:00+01:00"), Ok("2026-11-29T07:00:00Z".into()));
        assert_eq!(since("2026-11-30"), Ok("2026-11-29T22:00:00Z".into()));
        assert_eq!(since("2026-11-30T14:00"), Ok("2026-11-30T12:00:00Z".into()));
        assert_eq!(since("yesterday"), Err(NotATime("yesterday".into())));
        assert_eq!(since(""), Err(NotATime(String::new())));
    }
}
