//! splice
