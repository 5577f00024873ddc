use pin_project_lite::pin_project;
use std::pin::Pin;

pin_project! {
    /// Futures of different types, pinned together.
    #[derive(Debug)]
    pub struct Chain<F, R> {
        #[pin]
        first: F,
        #[pin]
        rest: R,
    }
}

impl<F, R> Chain<F, R> {
    pub fn new(first: F, rest: R) -> Self {
        Self { first, rest }
    }

    #[inline(always)]
    pub fn first(self: Pin<&mut Self>) -> Pin<&mut F> {
        self.project().first
    }

    #[inline(always)]
    pub fn rest(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().rest
    }
}
