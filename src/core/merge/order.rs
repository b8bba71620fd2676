//! Merges lists to which both sides appended: state changes, amendments, results and conclusions.

use std::collections::{BTreeMap, BTreeSet};

/// Merges two lists without duplicates.
///
/// The order of both lists is preserved unless they contradict each other. If neither list determines the order of two
/// entries, the smaller entry comes first.
///
/// The result is the same from either side, and for three lists in any order, if all lists were created by appending
/// and by this function.
pub(super) fn interleave<K: Ord + Clone>(ours: &[K], theirs: &[K]) -> Vec<K> {
    let all = [ours, theirs].map(|list| list.iter().collect::<BTreeSet<_>>());
    let mut taken = BTreeSet::new();
    let mut merged = Vec::with_capacity(ours.len().max(theirs.len()));
    let mut rest = [ours, theirs];
    loop {
        for list in &mut rest {
            let is_taken = |next: &&K| taken.contains(*next);
            let known = list.iter().take_while(is_taken).count();
            *list = &list[known..];
        }
        let next = match rest.map(<[K]>::first) {
            [None, None] => return merged,
            [Some(only), None] | [None, Some(only)] => only,
            // Entries that occur in only one list come before any shared entry that follows them.
            [Some(our), Some(their)] => match (all[1].contains(our), all[0].contains(their)) {
                (false, true) => our,
                (true, false) => their,
                _ => our.min(their),
            },
        };
        taken.insert(next);
        merged.push(next.clone());
    }
}

/// The identity of an entry: its key, and the number of earlier entries with the same key.
type Numbered<K> = (K, usize);

/// Merges two lists of entries with keys. `join` merges an entry that occurs in both lists, given its version in the
/// base. Returns `None` if `join` fails.
pub(super) fn join_lists<T: Clone, K: Ord + Clone>(
    [base, ours, theirs]: [&[T]; 3],
    key: impl Fn(&T) -> K,
    join: impl Fn(Option<&T>, &T, &T) -> Option<T>,
) -> Option<Vec<T>> {
    let [our_keys, their_keys] = [ours, theirs].map(|list| numbered(list, &key));
    let by_key = |list: &[T], keys: Vec<Numbered<K>>| keys.into_iter().zip(list.iter().cloned()).collect();
    let base: BTreeMap<_, T> = by_key(base, numbered(base, &key));
    let our: BTreeMap<_, T> = by_key(ours, our_keys.clone());
    let their: BTreeMap<_, T> = by_key(theirs, their_keys.clone());
    let joined = |key: &Numbered<K>| match (our.get(key), their.get(key)) {
        (Some(our), Some(their)) => join(base.get(key), our, their),
        (only, other) => only.or(other).cloned(),
    };
    interleave(&our_keys, &their_keys).iter().map(joined).collect()
}

fn numbered<T, K: Ord + Clone>(list: &[T], key: impl Fn(&T) -> K) -> Vec<Numbered<K>> {
    let mut seen: BTreeMap<K, usize> = BTreeMap::new();
    let number = |entry| {
        let key = key(entry);
        let next = seen.entry(key.clone()).or_default();
        *next += 1;
        (key, *next)
    };
    list.iter().map(number).collect()
}
