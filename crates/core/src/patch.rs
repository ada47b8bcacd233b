//! The patches that the editing tools of several agents take: `*** Begin Patch`, and a header for each file.

const HEADERS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// The files that a patch names, in its order.
#[must_use]
pub fn files(patch: &str) -> Vec<String> {
    let file = |line: &str| HEADERS.iter().find_map(|header| line.strip_prefix(header)).map(str::to_owned);
    patch.lines().filter_map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_names_a_file() {
        let patch = "*** Begin Patch\n*** Add File: a b.rs\n+*** Delete File: no\n*** Update File: c\n*** Move to: d\n\
                     @@\n-x\n*** Delete File: e\n*** End Patch\n";
        assert_eq!(files(patch), ["a b.rs", "c", "d", "e"]);
    }
}
