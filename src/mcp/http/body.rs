//! Receives request bodies within a shared memory budget.
//!
//! Bytes are counted as they arrive, regardless of the declared length, and remain counted until the request is
//! answered, since the body stays in memory until then. The first [`SMALL`] bytes of each body come from a separate
//! share, so small requests succeed even when large ones have used up the rest. A body that does not fit is refused,
//! and its memory is released immediately. If bodies waited for memory instead, they could deadlock.
//!
//! Complete bodies wait for their turn to be parsed, with separate queues for small and large bodies, because parsed
//! JSON is larger. For example, a list of numbers takes up more than a hundred times its length.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// The number of bytes of each body that count toward the share for small bodies.
const SMALL: usize = 32 * 1024;

/// The share for small bodies, in bytes. It holds about 2,000 small bodies.
pub const SMALL_BODIES: usize = 64 * 1024 * 1024;

/// The share for larger bodies, in bytes. It is also the largest request size that an operator can allow.
pub const LARGE_BODIES: usize = 64 * 1024 * 1024;

/// The maximum total size of small bodies processed at once, in bytes.
const SMALL_AT_WORK: usize = 2 * 1024 * 1024;

/// The maximum total size of larger bodies processed at once, in bytes. A body above this limit is processed alone.
const LARGE_AT_WORK: usize = 4 * 1024 * 1024;

/// The unused part of the memory budget, each for small bodies and then for larger ones.
pub(super) struct BodyBudget {
    received: [Arc<Semaphore>; 2],
    at_work: [Arc<Semaphore>; 2],
}

/// A body's share of the memory budget.
pub(super) type Share = Vec<OwnedSemaphorePermit>;

/// An error while receiving a body.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("the request exceeds {0} bytes")]
    TooLong(usize),
    #[error("the request took too long to arrive")]
    TooSlow,
    #[error("too many requests are being received: retry later")]
    NoRoom,
    #[error("the request is incomplete")]
    Broken,
}

impl BodyBudget {
    pub(super) fn new() -> BodyBudget {
        let share = |bytes| Arc::new(Semaphore::new(bytes));
        BodyBudget {
            received: [SMALL_BODIES, LARGE_BODIES].map(share),
            at_work: [SMALL_AT_WORK, LARGE_AT_WORK].map(share),
        }
    }

    /// Receives a whole body and waits for its turn to be parsed. The time limit covers the whole body, so slow senders
    /// cannot extend it. The same limit then applies to the wait for parsing.
    pub(super) async fn receive(
        &self,
        body: Body,
        most: usize,
        time: Duration,
    ) -> Result<(Bytes, Share), BodyError> {
        // If the declared length is above the limit, the body is refused immediately.
        if body.size_hint().lower() > most as u64 {
            return Err(BodyError::TooLong(most));
        }
        let collected = tokio::time::timeout(time, self.collect(body, most)).await;
        let (text, mut share) = collected.unwrap_or(Err(BodyError::TooSlow))?;
        let at_work = &self.at_work[usize::from(text.len() > SMALL)];
        let bytes = u32::try_from(text.len().min(LARGE_AT_WORK)).map_err(|_| BodyError::NoRoom)?;
        let turn = tokio::time::timeout(time, Arc::clone(at_work).acquire_many_owned(bytes)).await;
        share.extend(turn.map_err(|_| BodyError::NoRoom)?);
        Ok((text, share))
    }

    async fn collect(&self, mut body: Body, most: usize) -> Result<(Bytes, Share), BodyError> {
        let (mut text, mut share) = (Vec::new(), Share::new());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
            let length = text.len() + data.len();
            if length > most {
                return Err(BodyError::TooLong(most));
            }
            if length > text.capacity() {
                // The budget counts allocated bytes.
                let capacity = length.max(text.capacity() * 2).min(most);
                self.take(text.capacity()..capacity, &mut share).map_err(|_| BodyError::NoRoom)?;
                text.reserve_exact(capacity - text.len());
            }
            text.extend_from_slice(&data);
        }
        Ok((text.into(), share))
    }

    /// Adds a range of bytes to a body's share.
    fn take(&self, bytes: Range<usize>, share: &mut Share) -> Result<(), TryAcquireError> {
        let small = bytes.end.min(SMALL).saturating_sub(bytes.start);
        let large = bytes.len() - small;
        for (budget, bytes) in self.received.iter().zip([small, large]) {
            let bytes = u32::try_from(bytes).map_err(|_| TryAcquireError::NoPermits)?;
            share.push(Arc::clone(budget).try_acquire_many_owned(bytes)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    async fn received(budget: &BodyBudget, length: usize) -> Result<(Bytes, Share), BodyError> {
        budget.receive(Body::from(vec![b'x'; length]), LARGE_BODIES, LONG).await
    }

    #[tokio::test]
    async fn small_bodies_get_through_while_large_ones_use_up_their_share_and_all_is_given_back() {
        let budget = BodyBudget::new();
        let (text, held) = received(&budget, LARGE_BODIES).await.unwrap();
        assert_eq!(text.len(), LARGE_BODIES);
        let (_, also_held) = received(&budget, SMALL).await.unwrap();
        assert!(received(&budget, SMALL).await.is_ok());
        assert!(matches!(received(&budget, 2 * SMALL + 1).await, Err(BodyError::NoRoom)));
        drop((held, also_held));
        let left = budget.received.map(|budget| budget.available_permits());
        assert_eq!(left, [SMALL_BODIES, LARGE_BODIES]);
    }

    #[tokio::test(start_paused = true)]
    async fn large_bodies_are_worked_on_a_few_at_a_time_beside_small_ones() {
        let budget = BodyBudget::new();
        let first = received(&budget, LARGE_AT_WORK - SMALL).await.unwrap();
        let second = received(&budget, 2 * SMALL);
        tokio::pin!(second);
        assert!(tokio::time::timeout(LONG / 2, second.as_mut()).await.is_err());
        assert!(received(&budget, SMALL).await.is_ok());
        drop(first);
        assert!(second.await.is_ok());
        let _held = received(&budget, LARGE_AT_WORK).await.unwrap();
        assert!(matches!(received(&budget, 2 * SMALL).await, Err(BodyError::NoRoom)));
    }
}
