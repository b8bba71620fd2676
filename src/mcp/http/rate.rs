//! Limits the request rate of each client with a token bucket that fills at a steady rate.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The client that sends a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum RateClient {
    /// An existing session.
    Session(String),
    /// A network, for requests without a session.
    Network(IpAddr),
}

/// The token buckets of all clients.
#[derive(Debug)]
pub(super) struct Rates {
    per_second: f64,
    buckets: Mutex<HashMap<RateClient, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

/// The burst limit: how many seconds' worth of requests a client may send at once.
const BURST: f64 = 5.0;

impl Rates {
    pub(super) fn new(per_second: NonZeroU32) -> Rates {
        Rates { per_second: f64::from(per_second.get()), buckets: Mutex::default() }
    }

    /// Counts a request. If the rate is exceeded, returns the time to wait.
    pub(super) fn take(&self, client: RateClient, now: Instant) -> Result<(), Duration> {
        let full = self.per_second * BURST;
        let filled = |bucket: &Bucket| {
            let since = now.saturating_duration_since(bucket.at).as_secs_f64();
            (bucket.tokens + since * self.per_second).min(full)
        };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        // A full bucket is equivalent to a missing one. It is enough to remove full buckets whenever the map would
        // grow.
        if buckets.len() == buckets.capacity() {
            buckets.retain(|_, bucket| filled(bucket) < full);
        }
        let bucket = buckets.entry(client).or_insert(Bucket { tokens: full, at: now });
        *bucket = Bucket { tokens: filled(bucket), at: now };
        if bucket.tokens < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - bucket.tokens) / self.per_second));
        }
        bucket.tokens -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_let_in_and_then_the_rate() {
        let rates = Rates::new(NonZeroU32::new(10).unwrap());
        let client = || RateClient::Session("one".to_owned());
        let begin = Instant::now();
        for _ in 0..50 {
            assert_eq!(rates.take(client(), begin), Ok(()));
        }
        let wait = rates.take(client(), begin).unwrap_err();
        assert_eq!(wait, Duration::from_millis(100));
        assert_eq!(rates.take(RateClient::Session("other".to_owned()), begin), Ok(()), "each has its own");
        assert_eq!(rates.take(client(), begin + wait), Ok(()));
        assert!(rates.take(client(), begin + wait).is_err());
        let later = begin + Duration::from_secs(3600);
        assert_eq!((0..60).filter(|_| rates.take(client(), later).is_ok()).count(), 50);
    }

    #[test]
    fn those_who_went_away_take_no_memory() {
        let rates = Rates::new(NonZeroU32::new(10).unwrap());
        let begin = Instant::now();
        for second in 0..10_000 {
            let now = begin + Duration::from_secs(second);
            let _ = rates.take(RateClient::Session(second.to_string()), now);
        }
        assert!(rates.buckets.lock().unwrap().len() < 100);
    }
}
